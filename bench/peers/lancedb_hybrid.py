"""LanceDB: full-text and vector index in one table, its own hybrid query (reciprocal rank fusion)."""

from __future__ import annotations

import re
from typing import Any

import lancedb
import pyarrow as pa
from worker import Filter, Peer, serve


class LanceDb(Peer):
    """The documented way. An IVF_PQ index from 50,000 rows on, as its guide advises; below, it scans."""

    modes = ("hybrid", "dense", "lexical")

    def build(self) -> None:
        rows = list(self.rows())
        vectors = self.vectors()
        columns = {
            "id": pa.array([row["id"] for row in rows], pa.int64()),
            "text": pa.array([row["text"] for row in rows]),
            "group": pa.array([row["metadata"]["group"] for row in rows]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
        }
        table = lancedb.connect(str(self.work)).create_table("bench", pa.table(columns), mode="overwrite")
        table.create_fts_index("text")
        if len(rows) >= 50_000:
            table.create_index(metric="cosine", vector_column_name="vector")

    def open(self) -> None:
        self.table = lancedb.connect(str(self.work)).open_table("bench")
        self.setting: dict[str, int] = {}

    def tune(self, setting: Any) -> None:
        self.setting = setting

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        words = " ".join(re.findall(r"\w+", query))
        if mode == "lexical":
            wanted = self.table.search(words, query_type="fts")
        elif mode == "dense":
            wanted = self.table.search(vector).distance_type("cosine")
        else:
            wanted = self.table.search(query_type="hybrid").vector(vector).text(words).distance_type("cosine")
        if mode != "lexical" and self.setting:
            wanted = wanted.nprobes(self.setting["probes"]).refine_factor(self.setting["refine"])
        if where:
            wanted = wanted.where(f"`group` = '{where['group']}'", prefilter=True)
        if mode != "hybrid":
            wanted = wanted.select(["id", "_score" if mode == "lexical" else "_distance"])
        return [row["id"] for row in wanted.limit(k).to_list()]


if __name__ == "__main__":
    serve(LanceDb)
