"""What nodes and edges cost in the embedded engine: asking for neighbours, writing them, versions by content."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np

from bench.data import seventy_words_set
from bench.graphs import CodeGraph, neighbour_times
from bench.plan import Plan
from bench.report import Report, number
from ir import CorpusSource, build
from ir.store.local import LocalStore

EDGES, RECORDS = 1_000_000, 10_000
ASKED, LIMIT, QUESTIONS = 50, 100, 200


def run(plan: Plan) -> Report:
    report = Report("graph", plan.quick)
    _ask(report, CodeGraph.of_edges(50_000 if plan.quick else EDGES))
    _write(report, 1_000 if plan.quick else RECORDS, plan.builds)
    return report


def _ask(report: Report, graph: CodeGraph) -> None:
    report.note(graph.told())
    title = f"Neighbours of {ASKED} nodes, both directions, at most {LIMIT} each"
    table = report.table(title, "nodes", "p50 ms", "p95 ms")
    with _folder() as folder, LocalStore(folder / "graph") as store:
        write_graph(store, graph)
        for name, pick in (("any", graph.some_nodes), ("ends of edges: hubs more often", graph.ends_of_edges)):
            times = neighbour_times(store, graph, pick, asked=ASKED, limit=LIMIT, rounds=QUESTIONS)
            p50, p95 = np.percentile(times, [50, 95])
            table.rows.append([name, number(float(p50)), number(float(p95))])
            if name == "any":
                report.check("neighbours of 50 nodes, p95", float(p95), 5, "ms", at_least=False)


def _write(report: Report, records: int, turns: int) -> None:
    """Builds of the same records: plain, with a graph of six edges a record, and without sums of content, in turns."""
    lines = (seventy_words_set(records).folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {str(number): json.loads(line)["text"] for number, line in enumerate(lines)}
    source = CorpusSource.from_mapping(texts, name="bench", embedder="light")
    graph = CodeGraph.of_edges(records * 6)
    nodes, edges = list(graph.nodes()), list(graph.edges())  # to make them is not to write them
    times: dict[str, list[float]] = {"plain": [], "with a graph": [], "without sums of content": []}
    for turn in range(turns + 1):
        for name, each in times.items():
            with _folder() as folder, _without_sums(name == "without sums of content"):
                store = LocalStore(folder / "corpus")
                began = time.process_time()
                with store.transaction():
                    build(source, store=store, floor=False)
                    if name == "with a graph":
                        store.put_nodes(nodes)
                        for some in edges:
                            store.set_edges(some)
                if turn:  # the first turn only loads what is used
                    each.append(time.process_time() - began)
    plain, linked, unsummed = (median(each) for each in times.values())
    table = report.table(f"Builds of {records:,} records, CPU seconds", "build", "median", "fastest")
    for name, each in times.items():
        table.rows.append([name, number(median(each)), number(min(each))])
    report.check(
        f"writing {len(graph.targets):,} edges beside {records:,} records adds",
        (linked / plain - 1) * 100,
        25,
        "%",
        at_least=False,
    )
    report.check("the version by content adds to a build", (plain / unsummed - 1) * 100, 2, "%", at_least=False)


def write_graph(store: LocalStore, graph: CodeGraph) -> None:
    """All nodes and edges in one transaction."""
    with store.transaction():
        store.put_nodes(graph.nodes())
        for edges in graph.edges():
            store.set_edges(edges)


@contextmanager
def _without_sums(off: bool) -> Iterator[None]:
    if not off:
        yield
        return
    sums = {"record_sum": lambda records: 0, "vector_sum": lambda names: 0}
    with patch.multiple("ir.store.local.tables", **sums):
        yield


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
