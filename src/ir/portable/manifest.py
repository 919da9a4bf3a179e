"""What is in a portable corpus file, and whether it is what was written."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

from ir.errors import CorpusCorrupt, FormatMismatch

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
    "verify",
]

#: Raised when a reader of the old form could not read the new one.
FORMAT = 1
MANIFEST = "manifest.json"
CONTENTS = ("config.json", "calibration.json", "records.jsonl", "vectors.npy", "ledger.jsonl", "links.jsonl")
#: No line that is written is near to this; a file that has one was not written by us.
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
    """What a file says of itself."""

    counts: Transfer
    members: dict[str, Member]


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
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise corrupt(path, f"its {MANIFEST} cannot be read ({error})") from error
    if version != FORMAT:
        raise FormatMismatch(
            f"{path} has the format {version!r}; this version of ir reads {FORMAT}.",
            remedy="Export it again with this version, or import it with the version that wrote it.",
        )
    if sorted(names) != sorted([*CONTENTS, MANIFEST]) or sorted(members) != sorted(CONTENTS):
        strange = sorted({*names, *members} - {*CONTENTS, MANIFEST})
        raise corrupt(path, f"its members are not those of a corpus{f': {strange[0]!r}' if strange else ''}")
    return Manifest(counts, members)


def verify(archive: zipfile.ZipFile, members: dict[str, Member], path: Path) -> None:
    """Read every member once and compare it with the manifest."""
    for name in CONTENTS:
        expected = members[name]
        if archive.getinfo(name).file_size != expected.size:
            raise corrupt(path, f"{name} has another size than its manifest says")
        with archive.open(name) as member:
            if _digest(member) != expected.sha256:
                raise corrupt(path, f"{name} does not match its checksum")


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
