"""txtai: its hybrid index (sparse BM25 and faiss) with vectors from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
from txtai import Embeddings
from worker import Filter, Peer, serve


class Txtai(Peer):
    """Defaults: flat vectors to 5,000 rows, an inverted file above; ``tune`` sets how many cells are probed."""

    modes = ("hybrid", "dense")

    def config(self, transform: Any) -> dict[str, Any]:
        return {"method": "external", "transform": transform, "hybrid": True, "content": False}

    def build(self) -> None:
        matrix = self.vectors()
        rows = list(self.rows())
        number_of = {row["text"]: row["id"] for row in rows}
        made = Embeddings(self.config(lambda texts: np.asarray(matrix[[number_of[text] for text in texts]])))
        made.index((row["id"], row["text"], None) for row in rows)
        made.config.pop("transform", None)
        made.save(str(self.work / "index"))

    def open(self) -> None:
        self.embeddings = Embeddings()
        transform = lambda texts: self.given(texts)  # noqa: E731 (it takes functions, not methods)
        self.embeddings.load(str(self.work / "index"), config={"transform": transform})

    def given(self, texts: list[str]) -> Any:
        return np.stack([self.vector_of[text] for text in texts])

    def tune(self, setting: Any) -> None:
        self.embeddings.config["faiss"] = setting
        self.embeddings.ann.config["faiss"] = setting

    def cells(self) -> dict[str, Any]:
        backend = self.embeddings.ann.backend
        inner = getattr(backend, "index", backend)
        return {"index": type(inner).__name__, "nprobe": getattr(inner, "nprobe", None)}

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        weights = 1.0 if mode == "dense" else None
        return [int(item) for item, _ in self.embeddings.search(query, k, weights=weights)]


if __name__ == "__main__":
    serve(Txtai)
