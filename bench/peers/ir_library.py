"""The library ``ir``: ours, or with another interpreter the package of that name on PyPI. The calls are the same."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from worker import Filter, Peer, serve

NAME = "bench"


class Given:
    """An embedder that looks vectors up: texts by their row in a matrix, queries by their own."""

    def __init__(self, rows: dict[str, int], matrix: Any, queries: dict[str, Any]) -> None:
        self.rows, self.matrix, self.queries = rows, matrix, queries

    def __call__(self, texts: Any, *, input_type: str = "document") -> Any:
        import numpy as np

        if len(texts) == 1 and texts[0] in self.queries:
            return self.queries[texts[0]][None]
        numbers = [self.rows.get(text, -1) for text in texts]
        if -1 not in numbers:
            return np.asarray(self.matrix[numbers], np.float32)
        return np.stack([self._one(text, number) for text, number in zip(texts, numbers, strict=True)])

    def _one(self, text: str, number: int) -> Any:
        """Texts that are not in the data (probes of the library) get a direction that depends on them alone."""
        import zlib

        import numpy as np

        if number >= 0:
            return np.asarray(self.matrix[number], np.float32)
        if text in self.queries:
            return np.asarray(self.queries[text], np.float32)
        vector = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class IrLibrary(Peer):
    """``embedder`` in the job is ``"light"`` (the library embeds) or ``"given"`` (vectors come from outside)."""

    modes = ("hybrid", "dense", "lexical")

    def embedder(self, rows: dict[str, int] | None = None) -> Any:
        if self.job["embedder"] != "given":
            return self.job["embedder"]
        return Given(rows or {}, self.vectors() if rows else None, self.vector_of)

    def build(self) -> None:
        # Imports count: one library makes them at its top, the other when it needs them.
        started = time.perf_counter()
        import ir

        imported = time.perf_counter() - started
        for name in ("IR_DATA_DIR", "IR_CACHE_DIR", "IR_CONFIG_DIR"):
            shutil.rmtree(os.environ[name], ignore_errors=True)
        self._build(ir)
        self.seconds += imported

    def _build(self, ir: Any) -> None:
        if self.job.get("streamed"):
            self._build_streamed(ir)
            return
        rows = list(self.rows())
        texts = {str(row["id"]): row["text"] for row in rows}
        metadata = {str(row["id"]): row["metadata"] for row in rows}
        given = self.embedder({row["text"]: row["id"] for row in rows})
        del rows
        source = ir.CorpusSource.from_mapping(texts, name=NAME, metadata_of=lambda key, raw: metadata[key])
        started = time.perf_counter()
        self.corpus = ir.build(source, embedder=given)
        self.seconds = time.perf_counter() - started

    def _build_streamed(self, ir: Any) -> None:
        from streaming import TextFile, VectorFile

        texts = TextFile(self.folder / "texts.jsonl")
        given = self.embedder()
        if self.job["embedder"] == "given":
            given = VectorFile(self.folder / "vectors.npy", texts.hashes(), given)
        source = ir.CorpusSource.from_mapping(texts, name=NAME, metadata_of=lambda key, raw: texts.row(key)["metadata"])
        started = time.perf_counter()
        self.corpus = ir.build(source, embedder=given)
        self.seconds = time.perf_counter() - started

    def rebuild(self) -> dict[str, Any]:
        """Build again from the same texts: nothing has changed."""
        import ir

        self._build(ir)
        return {"seconds": self.seconds}

    def open(self) -> None:
        import ir

        self.ir = ir
        self.corpus = ir.open_corpus(NAME, embedder=self.embedder() if self.job["embedder"] == "given" else None)

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        hits = self.ir.search(self.corpus, query, k=k, mode=mode, filter=where)
        return [int(hit.artifact_id) for hit in hits]

    def add(self, start: int, count: int = 100) -> dict[str, Any]:
        """Add ``count`` new texts to the corpus and find each of them; the time of both."""
        import numpy as np

        words = ("quarry", "lantern", "meadow", "harbour", "copper", "willow", "ember", "saddle")
        texts = {
            str(start + at): f"zq{start + at}x " + " ".join(words[(at + i) % 8] for i in range(50))
            for at in range(count)
        }
        rng = np.random.default_rng(start)
        matrix = rng.standard_normal((count, 384)).astype(np.float32)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        given = Given({text: at for at, text in enumerate(texts.values())}, matrix, self.vector_of)
        for at, key in enumerate(texts):
            self.vector_of[f"zq{key}x"] = matrix[at]
        source = self.ir.CorpusSource.from_mapping(texts, name=NAME, metadata_of=lambda key, raw: {"group": "new"})
        started = time.perf_counter()
        self.ir.build(source, embedder=given, full=False)
        built = time.perf_counter()
        first = self.search("hybrid", f"zq{start}x", None, 1, None)
        seen = time.perf_counter()
        found = sum(self.search(mode, f"zq{key}x", None, 1, None) == [int(key)] for key in texts for mode in self.modes)
        return {"build": built - started, "visible": seen - started, "found": found, "of": count * 3, "first": first}


if __name__ == "__main__":
    serve(IrLibrary)
