"""What the benchmarks of single engines share: records with ready vectors, and lanes that are timed in turns."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import Any

import numpy as np

from bench.data import DataSet
from ir.base import Record
from ir.index import Corpus

#: A lane answers the query of that number with ids.
Lane = Callable[[int], list[str]]
Timed = dict[str, tuple[list[float], dict[int, list[str]]]]

BATCH = 5000
ROUNDS = 3
#: One record in twenty passes the first, every other one the second.
FEW: Mapping[str, Any] = {"group": "g03"}
MANY: Mapping[str, Any] = {"group": {"$lt": "g10"}}
CONFIG = {"name": "bench", "embedder_id": "given", "language": "english"}


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


def load(store: Any, data: DataSet) -> tuple[float, float]:
    """Seconds to hand over every record, and to the end of the one transaction, with all indexes."""
    began = time.perf_counter()
    written = 0.0
    with store.transaction():
        for records in records_of(data):
            started = time.perf_counter()
            store.put_records(records)
            written += time.perf_counter() - started
        store.set_config(CONFIG)
    return written, time.perf_counter() - began


def ours(store: Any, data: DataSet, mode: str, where: Mapping[str, Any] | None = None) -> Lane:
    """Searches as users make them."""
    corpus = Corpus("bench", store, Given(data), "given")
    return lambda number: [hit.artifact_id for hit in corpus.search(data.queries[number], mode=mode, filter=where)]


def usual(store: Any, data: DataSet) -> dict[str, Lane]:
    """The searches that every engine is asked for."""
    return {
        "hybrid": ours(store, data, "hybrid"),
        "hybrid, 5 % filter": ours(store, data, "hybrid", FEW),
        "hybrid, 50 % filter": ours(store, data, "hybrid", MANY),
        "dense": ours(store, data, "dense"),
        "lexical": ours(store, data, "lexical"),
    }


def timed(lanes: Mapping[str, Lane], queries: int) -> Timed:
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


def recall(data: DataSet, results: Timed, lane: str) -> float:
    """The share of the ten nearest that a dense lane found."""
    return data.recall({number: list(map(int, ids)) for number, ids in results[lane][1].items()})


def latencies(results: Timed) -> list[list[str]]:
    """A row for each lane: its median and its 95th percentile."""
    return [
        [name, f"{np.percentile(each, 50):.1f}", f"{np.percentile(each, 95):.1f}"]
        for name, (each, _) in results.items()
    ]


def busyness() -> str:
    return f"Load average when it began: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
