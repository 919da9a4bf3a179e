"""What is in a portable corpus file, and whether it is what was written."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

from ir.errors import CorpusCorrupt, FormatMismatch
from ir.store.checks import MAIN_SPACE

__all__ = [
    "CONTENTS",
    "FORMAT",
    "LONGEST_LINE",
    "MANIFEST",
    "Manifest",
    "Member",
    "Transfer",
    "corrupt",
    "read_manifest",
    "vectors_name",
    "verify",
]

#: Increase it when an older version could not read what this one writes.
FORMAT = 2
MANIFEST = "manifest.json"
#: What a file of each format that is read consists of, beside the vectors of each space.
CONTENTS = {
    1: ("config.json", "calibration.json", "records.jsonl", "vectors.npy", "ledger.jsonl", "links.jsonl"),
    2: (
        *("config.json", "calibration.json", "records.jsonl", "ledger.jsonl", "symbols.jsonl"),
        *("nodes.jsonl", "edges.jsonl"),
    ),
}
#: We never write a line anywhere near this long; a file that has one is not ours.
LONGEST_LINE = 256 * 1024 * 1024
_LONGEST_MANIFEST = 1024 * 1024
_BLOCK = 1024 * 1024


class Member(NamedTuple):
    """Size and checksum of one part."""

    size: int
    sha256: str


class Transfer(NamedTuple):
    """What was exported or imported."""

    name: str
    records: int
    artifacts: int
    links: int


class Manifest(NamedTuple):
    """What a file says of itself; ``spaces`` names the spaces of vectors, the default one first."""

    format: int
    counts: Transfer
    members: dict[str, Member]
    spaces: tuple[str, ...]
    content_version: str | None


def vectors_name(place: int) -> str:
    """The member that holds the vectors of a space, by its place among the spaces."""
    return f"vectors-{place}.npy"


def corrupt(path: Path, why: str) -> CorpusCorrupt:
    return CorpusCorrupt(
        f"{path} is not a whole portable corpus: {why}.", remedy="Export it again, or copy the file again."
    )


def read_manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    """The manifest, after checking that the file has the members that it should, and no other."""
    names = archive.namelist()
    if MANIFEST not in names:
        raise corrupt(path, f"it has no {MANIFEST}")
    if archive.getinfo(MANIFEST).file_size > _LONGEST_MANIFEST:
        raise corrupt(path, f"its {MANIFEST} is too large")
    try:
        manifest = json.loads(archive.read(MANIFEST))
        version = manifest["format"]
        members = {
            str(name): Member(int(item["size"]), str(item["sha256"])) for name, item in manifest["members"].items()
        }
        counts = Transfer(
            str(manifest["name"]), *(int(manifest["counts"][key]) for key in ("records", "artifacts", "links"))
        )
        spaces = tuple(str(name) for name in manifest.get("spaces", [MAIN_SPACE]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise corrupt(path, f"its {MANIFEST} cannot be read ({error})") from error
    if version not in CONTENTS:
        raise FormatMismatch(
            f"{path} has the format {version!r}; this version of ir reads {FORMAT}.",
            remedy="Export it again with this version, or import it with the version that wrote it.",
        )
    vectors = [vectors_name(place) for place in range(len(spaces))] if version > 1 else []
    expected = [*CONTENTS[version], *vectors]
    if sorted(names) != sorted([*expected, MANIFEST]) or sorted(members) != sorted(expected):
        strange = sorted({*names, *members} - {*expected, MANIFEST})
        raise corrupt(path, f"its members are not those of a corpus{f': {strange[0]!r}' if strange else ''}")
    return Manifest(version, counts, members, spaces, manifest.get("content_version"))


def verify(archive: zipfile.ZipFile, members: dict[str, Member], path: Path) -> None:
    """Read every member once and compare it with the manifest."""
    for name, expected in members.items():
        if archive.getinfo(name).file_size != expected.size:
            raise corrupt(path, f"{name} does not have the size that its manifest says")
        with archive.open(name) as member:
            if _digest(member) != expected.sha256:
                raise corrupt(path, f"{name} does not match its checksum")


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
