"""What the teacher, MiniLM, thinks of a text: one vector each, kept on disk so that a stopped run goes on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TEACHER = "minilm-int8"
_SHARD = 4096

Vectors = NDArray[np.float16]
Keys = NDArray[np.uint64]


class Lessons:
    """The vectors of all texts that the teacher has seen, by a hash of the text."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rows: dict[int, Vectors] = {}
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as shard:
                self._take(shard["keys"], shard["vectors"])

    def of(self, texts: Sequence[str]) -> Vectors:
        """One row for each text; the teacher is asked for those that it has not seen yet."""
        keys = _keys(texts)
        missing = {key: text for key, text in zip(keys.tolist(), texts, strict=True) if key not in self._rows}
        new = sorted(missing.items(), key=lambda item: (len(item[1]), item[1]))
        for start in range(0, len(new), _SHARD):
            shard = new[start : start + _SHARD]
            began = time.perf_counter()
            self._learn([text for _, text in shard])
            rate = len(shard) / (time.perf_counter() - began)
            print(f"taught {start + len(shard):,} of {len(new):,}, {rate:.0f} texts/s", flush=True)
        return np.array([self._rows[key] for key in keys.tolist()])

    def known(self, texts: Iterable[str]) -> list[str]:
        """Those of ``texts`` that the teacher has seen."""
        listed = list(texts)
        return [text for text, key in zip(listed, _keys(listed).tolist(), strict=True) if key in self._rows]

    def _learn(self, texts: Sequence[str]) -> None:
        from ir.embed import make_embedder

        embedder, _ = make_embedder(TEACHER, cache=False)
        keys, vectors = _keys(texts), embedder(texts).astype(np.float16)
        path = self._folder / f"{int(keys[0]):016x}-{len(keys)}.npz"
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as out:
            np.savez(out, keys=keys, vectors=vectors)
        unfinished.replace(path)
        self._take(keys, vectors)

    def _take(self, keys: Keys, vectors: Vectors) -> None:
        self._rows.update(zip(keys.tolist(), vectors, strict=True))


def _keys(texts: Sequence[str]) -> Keys:
    digests = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8] for text in texts)
    return np.frombuffer(b"".join(digests), np.uint64)
