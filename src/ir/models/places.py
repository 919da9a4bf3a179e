"""Where the files of models are kept."""

from __future__ import annotations

from pathlib import Path

from ir import config
from ir.models.catalog import canonical

__all__ = ["FORMS", "base_and_form", "find_folder", "is_complete", "model_dir", "models_dir"]

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
    """The folder of a model by its name, or by its path; ``None`` if there is none."""
    pulled = model_dir(name)
    if is_complete(pulled):
        return pulled
    path = Path(name).expanduser()
    is_path = "/" in name or "\\" in name or name.startswith((".", "~"))
    return path if is_path and path.is_dir() else None


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
    return (folder / "tokenizer.json").is_file() and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)
