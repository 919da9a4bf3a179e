"""Where the files of models are kept."""

from __future__ import annotations

from pathlib import Path

from ir import config
from ir.models.catalog import canonical
from ir.models.soundness import check_sizes

__all__ = ["find_folder", "is_complete", "lasting_name", "model_dir", "models_dir"]

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
    for base, suffix in ((name, ""), (name.removesuffix("-int8"), "-int8")):
        found = find_folder(base)
        if found is not None and found == Path(base).expanduser():
            return f"{found.absolute()}{suffix}"
    return name


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.startswith((".", "~"))


def is_complete(folder: Path) -> bool:
    """Whether a folder holds weights and a tokenizer."""
    try:
        return (folder / "tokenizer.json").is_file() and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)
    except FileNotFoundError:  # replaced by another process just now
        return False
