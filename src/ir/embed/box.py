"""The table in the wheel: a vector for each word or piece of a word, and a text is their sum.

It was distilled from MiniLM (``distil/`` of the repository makes it again), so that what is related is near without a
download or another package. It knows English and the words in identifiers. A text in another script has no vector: a
hybrid search then goes by its words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ir.embed.models import BOX
from ir.embed.pieces import ROW, Speller, words_of
from ir.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoxEmbedder", "folder", "load"]

#: The files of the table: int8 rows, the factor of each row, the piece of each row, and how they were made.
FILES = ("vectors.npy", "scales.npy", "pieces.txt", "record.json")
_VERSION = 1


class BoxEmbedder:
    """Always there, and about meaning as well as words.

    >>> box = BoxEmbedder()
    >>> rows = box(["how to cook a meal", "preparing food in a kitchen", "the orbit of Mars"])
    >>> bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    True
    """

    id = BOX
    cacheable = False  # looking up a vector takes longer than computing it
    #: The weight of these vectors in a hybrid search. Measured: they are weaker than those of a network.
    blend_alpha = 0.3

    def __init__(self) -> None:
        self._table, self._scales, pieces, record = _read(folder())
        self.dim = int(self._table.shape[1])
        self.fingerprint = f"{BOX}-{self.dim}-v{_VERSION}-{record['sha256'][:12]}"
        self._speller = Speller({piece: row for row, piece in enumerate(pieces)})

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        """One row of length one for each text; a text without a known word gives zeros.

        ``input_type`` makes no difference. A text has the same vector in every batch.
        """
        out = np.zeros((len(texts), self.dim), np.float32)
        spelt, table, scales = self._speller.__getitem__, self._table, self._scales
        for text, row in zip(texts, out, strict=True):
            numbers = np.frombuffer(b"".join(map(spelt, words_of(text))), ROW)
            if len(numbers):
                np.dot(scales[numbers], table[numbers].astype(np.float32), out=row)
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        np.divide(out, lengths, out=out, where=lengths > 0)
        return out


def folder() -> Path:
    """Where the files of the table are: in the package, beside those of other models."""
    import ir.models

    return Path(ir.models.__file__).with_name("known") / BOX


def _read(folder: Path) -> tuple[NDArray[np.int8], NDArray[np.float32], list[str], dict[str, str]]:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise EmbedderError(
            f"The table of {BOX!r} is incomplete: {', '.join(missing)} is missing in {folder}.",
            remedy="Install the package again.",
        )
    table, scales = np.load(folder / "vectors.npy"), np.load(folder / "scales.npy").astype(np.float32)
    pieces = (folder / "pieces.txt").read_text(encoding="ascii").split("\n")
    if not len(table) == len(scales) == len(pieces):
        raise EmbedderError(f"The files of the table {folder} do not belong together.", remedy="Install it again.")
    return table, scales, pieces, json.loads((folder / "record.json").read_text(encoding="utf-8"))


def load(name: str) -> BoxEmbedder | None:
    """The table, for its name; ``None`` for any other."""
    return _opened() if name == BOX else None


@lru_cache(maxsize=1)
def _opened() -> BoxEmbedder:
    """One for the whole process, so that it is read once and what it has spelt serves every corpus."""
    return BoxEmbedder()
