"""A vocabulary in a folder: mapped arrays in a folder of their own, and one small file that says which are in force.

Everything is written beside what is there. The file is replaced last, so a reader, or a crash at any moment, meets the
old vocabulary or the new one.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ir.config.files import file_lock, write_atomic
from ir.errors import CorpusCorrupt, FormatMismatch, NotFound, StoreUnwritable
from ir.ground.context import ContextModel
from ir.ground.folding import Folding
from ir.ground.index import Index
from ir.ground.subword import Subwords
from ir.ground.terms import Terms
from ir.ground.usage import UsageModel
from ir.ground.weights import Weights
from ir.system import sync_file

if TYPE_CHECKING:
    from ir.ground.vocabulary import Vocabulary

__all__ = ["FORMAT", "MANIFEST", "load", "read_manifest", "save", "verify"]

FORMAT = 1
MANIFEST = "vocabulary.json"
_BLOCK = 1 << 22


def save(vocabulary: Vocabulary, folder: str | Path) -> Path:
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        parts = root / f"parts-{uuid4().hex[:12]}"
        with file_lock(root / MANIFEST):
            parts.mkdir()
            try:
                manifest = _written(vocabulary, parts)
            except BaseException:
                shutil.rmtree(parts, ignore_errors=True)
                raise
            write_atomic(root / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
            for other in root.glob("parts-*"):
                if other != parts:
                    shutil.rmtree(other, ignore_errors=True)
    except OSError as error:
        if isinstance(error, StoreUnwritable):
            raise
        raise StoreUnwritable(f"The vocabulary cannot be written to {root}: {error.strerror or error}.") from error
    return root


def _written(vocabulary: Vocabulary, parts: Path) -> dict[str, Any]:
    vocabulary.terms.save(parts)
    about = {
        "format": FORMAT,
        "parts": parts.name,
        "terms": len(vocabulary.terms),
        "aliases": len(vocabulary.terms.aliases),
        "folding": vocabulary.folding.to_dict(),
        "embedders": list(vocabulary.embedders),
        "language": vocabulary.language,
        "policy": vocabulary.policy,
        "weights": vocabulary.weights.to_dict(),
        "floor": vocabulary.floor,
        "index": vocabulary.index.save(parts),
        "usage": vocabulary.usage.save(parts) if vocabulary.usage is not None else None,
        "subwords": vocabulary.subwords.save(parts) if vocabulary.subwords is not None else None,
        "context": vocabulary.context.save(parts) if vocabulary.context is not None else None,
    }
    for path in sorted(parts.iterdir()):
        sync_file(path)
    about["files"] = {path.name: [path.stat().st_size, _checksum(path)] for path in sorted(parts.iterdir())}
    return about


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """What the folder says of its vocabulary, checked as far as it can be at once: its format, and that each file is
    there in its full size."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(
            f"There is no vocabulary in {folder}.", remedy="Make one: ir vocab build FILE --name NAME."
        ) from None
    except (OSError, ValueError) as error:
        raise CorpusCorrupt(f"{path} cannot be read.", remedy="Build the vocabulary again.") from error
    if manifest.get("format") != FORMAT:
        raise FormatMismatch(
            f"The vocabulary in {folder} has format {manifest.get('format')!r}; this version reads {FORMAT}.",
            remedy="Build the vocabulary again.",
        )
    for name, (size, _) in manifest["files"].items():
        file = Path(folder) / manifest["parts"] / name
        with suppress(OSError):
            if file.stat().st_size == size:
                continue
        raise CorpusCorrupt(f"{file} is missing or was not written to its end.", remedy="Build the vocabulary again.")
    found: dict[str, Any] = manifest
    return found


def verify(folder: str | Path) -> list[str]:
    """The files whose content is not what was written."""
    manifest = read_manifest(folder)
    parts = Path(folder) / manifest["parts"]
    return [name for name, (_, checksum) in manifest["files"].items() if _checksum(parts / name) != checksum]


def load(folder: str | Path) -> dict[str, Any]:
    """What a vocabulary is made of, by the names of its constructor's arguments; its arrays are mapped, not read."""
    manifest = read_manifest(folder)
    parts = Path(folder) / manifest["parts"]
    terms = Terms.load(parts)
    found: dict[str, Any] = {
        "terms": terms,
        "folding": Folding(**manifest["folding"]),
        "policy": manifest["policy"],
        "embedders": manifest["embedders"],
        "language": manifest["language"],
        "index": Index.load(parts, terms, manifest["index"]),
        "weights": Weights(**manifest["weights"]),
        "floor": manifest["floor"],
    }
    if manifest["usage"] is not None:
        found["usage"] = UsageModel.load(parts, terms, manifest["usage"])
    if manifest["subwords"] is not None:
        found["subwords"] = Subwords.load(parts, manifest["subwords"])
    if manifest["context"] is not None:
        found["context"] = ContextModel.load(parts)
    return found


def _checksum(path: Path) -> str:
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
