"""Models of others, read by numpy: Facebook's ``.bin`` and what gensim saves. Nothing of theirs is run or imported."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SubwordTable", "read_model"]

_MAGIC, _VERSION = 793712314, 12
_ARGUMENTS = [
    "dim",
    "ws",
    "epoch",
    "min_count",
    "neg",
    "word_ngrams",
    "loss",
    "model",
    "bucket",
    "minn",
    "maxn",
    "rate",
]
#: What may stand in gensim's files beside its own classes, which are only looked at.
_ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("collections", "defaultdict"),
    ("collections", "OrderedDict"),
    ("builtins", "int"),
    ("builtins", "set"),
    ("_codecs", "encode"),
}


@dataclass(frozen=True)
class SubwordTable:
    """``words`` have the rows of ``word_rows``; a character n-gram has row ``hash mod bucket`` of ``gram_rows``."""

    words: Sequence[str]
    word_rows: NDArray[np.float32]
    gram_rows: NDArray[np.float32]
    minn: int
    maxn: int


def read_model(path: str | Path) -> SubwordTable:
    """The table of a model, its matrices mapped where the file allows it."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(
            f"There is no subword model at {path}.", remedy="Give the file that gensim or fastText saved."
        )
    with path.open("rb") as file:
        head = file.read(4)
    if len(head) == 4 and struct.unpack("<i", head)[0] == _MAGIC:
        return _facebook(path)
    if head[:1] == b"\x80":
        return _gensim(path)
    raise InvalidInput(
        f"{path.name} is no subword model that can be read.",
        remedy="Facebook's .bin files work, and what gensim's FastText.save() wrote.",
    )


def _facebook(path: Path) -> SubwordTable:
    with path.open("rb") as file:
        try:
            version = struct.unpack("<4xi", file.read(8))[0]
            if version != _VERSION:
                raise InvalidInput(f"{path.name} has version {version} of the format; version {_VERSION} can be read.")
            given = dict(zip(_ARGUMENTS, struct.unpack("<12i", file.read(48)), strict=True))
            file.read(8)
            size, words, _, _, pruned = struct.unpack("<3i2q", file.read(28))
            names = _dictionary(file, size)[:words]
            file.seek(8 * max(pruned, 0), 1)
            if file.read(1) != b"\x00" or pruned > 0:
                raise InvalidInput(
                    f"{path.name} is quantised: its vectors cannot be read as they are.",
                    remedy="Use the .bin file that it was made from (quantised ones often end in .ftz).",
                )
            rows, dim = struct.unpack("<2q", file.read(16))
            start = file.tell()
        except (struct.error, UnicodeError, IndexError) as error:
            raise InvalidInput(f"{path.name} is cut off or damaged.", remedy="Get the file again.") from error
    if dim != given["dim"] or rows < words or path.stat().st_size < start + rows * dim * 4:
        raise InvalidInput(f"{path.name} is cut off or damaged.", remedy="Get the file again.")
    matrix = np.memmap(path, np.float32, "r", start, (rows, dim))
    return SubwordTable(
        names, matrix[:words], matrix[size if rows == size + given["bucket"] else words :], given["minn"], given["maxn"]
    )


def _dictionary(file: Any, size: int) -> list[str]:
    """``size`` words, each ended by a zero and followed by its count and its kind."""
    names: list[str] = []
    start, held = file.tell(), b""
    at = 0
    while len(names) < size:
        end = held.find(b"\x00", at)
        if end < 0 or end + 10 > len(held):
            more = file.read(1 << 22)
            if not more:
                raise IndexError("the dictionary ends too soon")
            start, held, at = start + at, held[at:] + more, 0
            continue
        names.append(held[at:end].decode("utf-8", "replace"))
        at = end + 10
    file.seek(start + at)
    return names


class _Seen:
    """An object of a class that is not loaded: its attributes, and nothing that it could do."""

    def __init__(self, *given: Any, **named: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        # Whatever else is named is neither imported nor called.
        return _Seen


def _gensim(path: Path) -> SubwordTable:
    try:
        with path.open("rb") as file:
            held = _Reader(file).load()
        vectors = getattr(held, "wv", held)
        beside = f"{path}.wv" if vectors is not held else str(path)
        words = list(vectors.index_to_key)
        rows = [_array(vectors, part, beside) for part in ("vectors_vocab", "vectors_ngrams")]
        sizes = int(vectors.min_n), int(vectors.max_n)
    except (AttributeError, pickle.UnpicklingError, EOFError, TypeError, ValueError, ImportError, IndexError) as error:
        raise InvalidInput(
            f"{path.name} is no fastText model of gensim that can be read.",
            remedy="Save it with FastText.save() of gensim 4, and keep the files beside it.",
        ) from error
    if not len(rows[1]):
        raise InvalidInput(f"{path.name} has no character n-grams: it is no subword model.")
    return SubwordTable(words, rows[0], rows[1], *sizes)


def _array(vectors: Any, part: str, beside: str) -> NDArray[np.float32]:
    """A matrix that is in the object, or in a file of its own."""
    held = getattr(vectors, part, None)
    if isinstance(held, np.ndarray):
        return held
    file = Path(f"{beside}.{part}.npy")
    if not file.is_file():
        raise ValueError(f"{file.name} is missing")
    mapped: NDArray[np.float32] = np.load(file, mmap_mode="r")
    return mapped
