"""Texts and vectors that stay in their files, so that a build's memory is its own."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class TextFile(Mapping[str, str]):
    """The texts of a file of JSON lines, by the number of their line."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        lengths = np.fromiter(map(len, self._file), np.int64)
        self._ends = np.concatenate([[0], np.cumsum(lengths)])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[str]:
        return map(str, range(len(self)))

    def __getitem__(self, key: str) -> str:
        return str(self.row(key)["text"])

    def row(self, key: str) -> dict[str, Any]:
        start, end = self._ends[int(key) : int(key) + 2].tolist()
        self._file.seek(start)
        row: dict[str, Any] = json.loads(self._file.read(end - start))
        return row

    def hashes(self) -> Any:
        return np.fromiter((hash_of(self[key]) for key in self), np.uint64, len(self))


class VectorFile:
    """An embedder that reads a text's vector from a file, by the hash of the text; other texts go to ``otherwise``."""

    def __init__(self, path: Path, hashes: Any, otherwise: Callable[..., Any]) -> None:
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        self._otherwise = otherwise
        self._shape = np.load(path, mmap_mode="r").shape
        self._file = path.open("rb")
        self._start = path.stat().st_size - self._shape[0] * self._shape[1] * 4

    def __call__(self, texts: Any, *, input_type: str = "document") -> Any:
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Any:
        wanted = np.uint64(hash_of(text))
        at = int(self._hashes.searchsorted(wanted))
        if at == len(self._hashes) or self._hashes[at] != wanted:
            return self._otherwise([text])[0]
        size = self._shape[1] * 4
        self._file.seek(self._start + int(self._order[at]) * size)
        return np.frombuffer(self._file.read(size), np.float32)


def hash_of(text: str) -> int:
    data = text.encode()
    return zlib.crc32(data) | zlib.crc32(data[::-1]) << 32
