"""``python -m bench.milvus``: a corpus in Milvus. The Milvus core in process (package milvus-lite), not a cluster.

Vectors come ready; a search analyses its words, ranks by both channels, completes scores, fuses, and reads the ten
best. "Bare" is one dense search of the same collection by pymilvus alone: a lower bound, not the same work.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.data import DataSet, passages_set
from bench.report import Report
from bench.texts import collections_folder
from ir.base import Record
from ir.eval import load_beir, retrieval_report
from ir.index import Corpus, build
from ir.sources import CorpusSource
from ir.store import LocalStore
from ir.store.milvus import MilvusStore
from ir.strategy import WholeText
from ir.transfer import copy_store

LABEL = "Milvus core in process, not a cluster"
BATCH = 5000
ROUNDS = 3
GROUP = {"group": "g03"}
JUDGED = ("scifact", "cranfield")

Lane = Callable[[int], list[str]]


class Given:
    """An embedder that was asked before: it looks its vectors up."""

    id = "given"

    def __init__(self, data: DataSet) -> None:
        self._known = dict(zip(data.queries, data.query_vectors, strict=False))

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        return np.stack([self._known[text] for text in texts])


def records_of(data: DataSet) -> Iterator[list[Record]]:
    with (data.folder / "texts.jsonl").open(encoding="utf-8") as lines:
        while part := [json.loads(line) for line in islice(lines, BATCH)]:
            yield [
                Record(str(row["id"]), str(row["id"]), "document", 0, row["text"], vector, row["metadata"])
                for row, vector in ((row, data.vectors[int(row["id"])]) for row in part)
            ]


def load(store: MilvusStore, data: DataSet) -> tuple[float, float]:
    """Seconds to write every record, and to the end of the transaction, which counts the terms."""
    began = time.perf_counter()
    written = 0.0
    with store.transaction():
        for records in records_of(data):
            started = time.perf_counter()
            store.put_records(records)
            written += time.perf_counter() - started
        store.set_config({"name": "bench", "embedder_id": "given", "language": "english"})
    return written, time.perf_counter() - began


def ours(corpus: Corpus, data: DataSet, mode: str, where: Any = None) -> Lane:
    return lambda number: [hit.artifact_id for hit in corpus.search(data.queries[number], mode=mode, filter=where)]


def bare(store: MilvusStore, data: DataSet, expr: str) -> Lane:
    client, collection = store._connection.client, store._collections.records(384)

    def ask(number: int) -> list[str]:
        query = [data.query_vectors[number].tolist()]
        (hits,) = client.search(
            collection, data=query, anns_field="dense", limit=10, filter=expr, output_fields=["id", "body"]
        )
        return [hit["entity"]["id"] for hit in hits]

    return ask


def timed(lanes: dict[str, Lane], queries: int) -> dict[str, tuple[list[float], dict[int, list[str]]]]:
    """Every lane through every query, in turns; the median of the rounds of each query."""
    times: dict[str, dict[int, list[float]]] = {name: {} for name in lanes}
    answers: dict[str, dict[int, list[str]]] = {name: {} for name in lanes}
    for lane in lanes.values():
        for number in range(min(10, queries)):
            lane(number)
    for _ in range(ROUNDS):
        for number in range(queries):
            for name, lane in lanes.items():
                began = time.perf_counter()
                answers[name][number] = lane(number)
                times[name].setdefault(number, []).append((time.perf_counter() - began) * 1e3)
    return {name: ([median(each) for each in times[name].values()], answers[name]) for name in lanes}


def run(folder: Path, count: int, queries: int) -> Report:
    report = Report("milvus", quick=count < 100_000)
    report.note(f"{LABEL}: milvus-lite 2.5.1.")
    report.note(f"Load average when it began: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    data = passages_set(count)
    queries = min(queries, len(data.queries))
    before = resident()
    store = MilvusStore(f"milvus+lite:{folder}/bench.db?corpus=bench")
    written, whole = load(store, data)
    corpus = Corpus("bench", store, Given(data), "given")
    lanes = {
        "hybrid, 5 % filter": ours(corpus, data, "hybrid", GROUP),
        "bare dense, 5 % filter": bare(store, data, 'meta["group"] == "g03"'),
        "hybrid": ours(corpus, data, "hybrid"),
        "dense": ours(corpus, data, "dense"),
        "bare dense": bare(store, data, ""),
        "lexical": ours(corpus, data, "lexical"),
        "hybrid, 50 % filter": ours(corpus, data, "hybrid", {"group": {"$lt": "g10"}}),
        "hybrid, filter on a list": ours(corpus, data, "hybrid", {"tags": "t03"}),
    }
    results = timed(lanes, queries)
    found = {number: list(map(int, ids)) for number, ids in results["dense"][1].items()}
    report.check("dense recall@10", data.recall(found), 0.97, "")
    table = report.table(f"{count:,} × 384, {queries} queries ({LABEL})", "search", "p50 ms", "p95 ms")
    for name, (each, _) in results.items():
        table.rows.append([name, f"{np.percentile(each, 50):.1f}", f"{np.percentile(each, 95):.1f}"])
    size = (folder / "bench.db").stat().st_size
    table = report.table(f"Loading {count:,} records ({LABEL})", "figure", "measured")
    table.rows += [
        ["records per second, analysed and written", f"{count / written:,.0f}"],
        ["records per second, whole transaction with term counts", f"{count / whole:,.0f}"],
        ["bytes on disk per record", f"{size / count:,.0f}"],
        ["bytes of memory per record, after the searches", f"{(resident() - before) / count:,.0f}"],
    ]
    store.close()
    return report


def judge(report: Report, folder: Path) -> None:
    """The same judged questions through the embedded engine and through Milvus."""
    home = collections_folder()
    if home is None:
        report.note("The judged collections were not found.")
        return
    table = report.table(f"nDCG@10, hybrid, embedder light ({LABEL})", "collection", "embedded engine", "Milvus")
    for name in JUDGED:
        data = load_beir(home / name)
        source = CorpusSource.from_mapping(data.corpus, name=name, strategy=WholeText(text_key="text"))
        local = build(source, store=LocalStore(folder / name), embedder="light")
        store = MilvusStore(f"milvus+lite:{folder}/judged.db?corpus={name}")
        copy_store(local.store, store)
        there = Corpus(name, store, local.embedder, local.embedder_id)
        embedded, milvus = (float(retrieval_report(one, data.cases()).primary or 0) for one in (local, there))
        table.rows.append([name, f"{embedded:.4f}", f"{milvus:.4f}"])
        difference = abs(embedded - milvus)
        report.check(f"nDCG@10 of {name}: difference to the embedded engine", difference, 0.01, "", at_least=False)
        store.close()


def resident() -> int:
    """Bytes of memory that this process holds; the core of Milvus is part of it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.milvus", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder), given.count, given.queries)
        judge(report, Path(folder))
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
