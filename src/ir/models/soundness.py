"""Are the files of a pulled model those that were pulled?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ir.errors import EmbedderUnavailable
from ir.models.catalog import CATALOG, FileSum, KnownModel
from ir.models.origin import again, noted

__all__ = ["NETWORKS", "check_sizes", "damage", "sum_of", "write_sums"]

#: The files that are run rather than read, wherever they are found in a model's folder.
NETWORKS = ("onnx/model.onnx", "model.onnx")
_SUMS = "files.json"


def check_sizes(folder: Path) -> None:
    """Raise if a pulled model is damaged, as far as a glance at its files can tell."""
    wrong = damage(folder)
    if wrong:
        raise EmbedderUnavailable(f"The model {noted(folder)[0]!r} is damaged: {wrong}.", remedy=again(folder) + ".")


def damage(folder: Path, *, thorough: bool = False) -> str | None:
    """What is wrong with a pulled model, if anything is. Sizes tell most of it; ``thorough`` takes checksums."""
    known = CATALOG.get(folder.name)
    sums = known.sums if known else _written_sums(folder)
    for file, expected in sums.items():
        wrong = _wrong(folder / file, expected, thorough=thorough)
        if wrong:
            return f"{file} {wrong}"
    return _foreign(folder, known) if known else None


def sum_of(file: Path) -> FileSum:
    import hashlib  # imported here: a search does not need it

    with file.open("rb") as opened:
        return FileSum(file.stat().st_size, hashlib.file_digest(opened, "sha256").hexdigest())


def write_sums(folder: Path) -> None:
    """Note the sizes and checksums of all files of a model, so that damage is noticed later."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != _SUMS)
    sums = {file.relative_to(folder).as_posix(): list(sum_of(file)) for file in files}
    (folder / _SUMS).write_text(json.dumps(sums, indent=1), "utf-8")


def _written_sums(folder: Path) -> Mapping[str, FileSum]:
    """The sums that were noted; a model of an earlier version has none."""
    try:
        found = json.loads((folder / _SUMS).read_text("utf-8"))
        return {str(file): FileSum(int(size), str(sha256)) for file, (size, sha256) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _wrong(file: Path, expected: FileSum, *, thorough: bool) -> str | None:
    if not file.is_file():
        return "is missing"
    size = file.stat().st_size
    if size != expected.bytes:
        return f"has {size:,} bytes instead of {expected.bytes:,}"
    return "has another checksum" if thorough and sum_of(file) != expected else None


def _foreign(folder: Path, known: KnownModel) -> str | None:
    """What would make another model of a known one: a network, or settings, that are not its own."""
    for file in NETWORKS:
        if file not in known.sums and (folder / file).exists():
            return f"{file} is no part of it"
    for file, text in known.settings().items():
        held = folder / file
        if not held.is_file() or held.read_bytes() != text:
            return f"{file} is not as it was published"
    return None
