"""Where the files of models are kept."""

from __future__ import annotations

from pathlib import Path

from ir import config
from ir.models.catalog import CATALOG, canonical
from ir.models.soundness import check_sizes

__all__ = [
    "FORMS",
    "base_and_form",
    "find_folder",
    "how_to_get",
    "is_complete",
    "is_path",
    "lasting_name",
    "model_dir",
    "models_dir",
]

#: The forms of a network beside float32 on onnxruntime; the end of a model's name asks for one.
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
    return path if is_path(name) and path.is_dir() else None


def lasting_name(name: str) -> str:
    """A model's name that is valid in every directory: the path of a folder becomes an absolute one."""
    if not is_path(name):
        return name
    base, form = base_and_form(name)
    found = find_folder(base)
    if found is None or found != Path(base).expanduser():
        return name
    return f"{found.absolute()}-{form}" if form else str(found.absolute())


def is_path(name: str) -> bool:
    """Whether a name may be the path of a folder; one of the form ``org/model`` may also be the hub's."""
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


def how_to_get(name: str) -> str:
    """What to do about a model that is not on this machine."""
    base = base_and_form(name)[0]
    if canonical(base) in CATALOG:
        return f"Get it with: ir models pull {canonical(base)}."
    if not is_path(base):
        return f"Those of a short name are {', '.join(CATALOG)}; one of the hub is written org/model."
    if base.count("/") != 1 or base.startswith((".", "~", "/")):
        return "That is taken for a folder: check its path."
    return f"Get it from the hub with: ir models pull {base}. If it is a folder, check its path."


def is_complete(folder: Path) -> bool:
    """Whether a folder holds weights and a tokenizer."""
    try:
        return (folder / "tokenizer.json").is_file() and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)
    except FileNotFoundError:  # another process has just replaced it
        return False
