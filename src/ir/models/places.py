"""Where the files of models are kept."""

from __future__ import annotations

from pathlib import Path

from ir import config
from ir.models.catalog import canonical
from ir.models.soundness import check_sizes

__all__ = ["FORMS", "base_and_form", "find_folder", "is_complete", "lasting_name", "model_dir", "models_dir"]

#: How else than in float32 on onnxruntime a network can be computed; asked for by the end of a model's name.
FORMS = ("int8", "openvino")
_WEIGHTS = ("*.onnx", "*.safetensors", "onnx/*.onnx")


def models_dir() -> Path:
    """The folder under which every pulled model has its own."""
    return config.cache_dir() / "models"


def model_dir(name: str) -> Path:
    """The folder for the files of a model, by any of its names."""
    return models_dir() / config.safe_name(canonical(name))


def find_folder(name: str) -> Path | None:
    """The folder of a model by its name, or by its path; ``None`` if there is none. A damaged one is an error."""
    pulled = model_dir(name)
    if is_complete(pulled):
        check_sizes(pulled)
        return pulled
    path = Path(name).expanduser()
    return path if _is_path(name) and path.is_dir() else None


def lasting_name(name: str) -> str:
    """A model's name as it holds in every directory: the path of a folder becomes an absolute one."""
    if not _is_path(name):
        return name
    base, form = base_and_form(name)
    found = find_folder(base)
    if found is None or found != Path(base).expanduser():
        return name
    return f"{found.absolute()}-{form}" if form else str(found.absolute())


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.startswith((".", "~"))


def base_and_form(name: str) -> tuple[str, str]:
    """The name without the form that its end asks for, and that form; a model may itself be called so.

    >>> base_and_form("minilm-int8"), base_and_form("minilm")
    (('minilm', 'int8'), ('minilm', ''))
    """
    form = next((form for form in FORMS if name.endswith(f"-{form}")), "")
    base = name.removesuffix(f"-{form}") if form else name
    if canonical(base) != canonical(name) and find_folder(name):
        return name, ""
    return base, form


def is_complete(folder: Path) -> bool:
    """Whether a folder holds weights and a tokenizer."""
    try:
        return (folder / "tokenizer.json").is_file() and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)
    except FileNotFoundError:  # replaced by another process just now
        return False
