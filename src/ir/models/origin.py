"""Where did a pulled model come from, and how do I get it again?"""

from __future__ import annotations

from pathlib import Path

__all__ = ["again", "noted", "write_note"]

_NOTE = "origin.txt"


def write_note(folder: Path, name: str, origin: str) -> None:
    """Note beside a model's files what it is called and where it came from."""
    (folder / _NOTE).write_text(f"{name}\n{origin}\n", "utf-8")


def noted(folder: Path) -> tuple[str, str]:
    """The name of a pulled model and where it came from, as far as that is known."""
    try:
        name, _, origin = (folder / _NOTE).read_text("utf-8").strip().partition("\n")
    except OSError:
        return folder.name, ""
    return name, origin


def again(path: Path) -> str:
    """What to do about a model that is damaged; ``path`` is its folder or a file in it."""
    folder = next((place for place in (path, *path.parents) if (place / _NOTE).is_file()), None)
    if folder is None:
        return "Copy or export the model's folder again."
    import shlex

    name, origin = noted(folder)
    source = f" --from {shlex.quote(origin)}" if origin.startswith(("/", "~", ".")) else ""
    return f"Get it again with: ir models pull {name}{source}"
