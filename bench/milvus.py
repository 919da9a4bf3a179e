"""``python -m bench.milvus``: a corpus in Milvus. The Milvus core in process (package milvus-lite), not a cluster.

Vectors come ready; a search analyses its words, ranks by both channels, completes scores, fuses, and reads the ten
best. "Bare" is one dense search of the same collection by pymilvus alone: a lower bound, not the same work.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.data import DataSet, passages_set
from bench.lanes import Lane, busyness, latencies, load, ours, recall, timed, usual
from bench.report import Report
from ir.store.milvus import MilvusStore

LABEL = "Milvus core in process, not a cluster"


def bare(store: MilvusStore, data: DataSet, expr: str) -> Lane:
    client, collection = store._connection.client, store._state().spaces["main"]["table"]

    def ask(number: int) -> list[str]:
        query = [data.query_vectors[number].tolist()]
        (hits,) = client.search(
            collection, data=query, anns_field="dense", limit=10, filter=expr, output_fields=["artifact"]
        )
        return [hit["entity"]["artifact"] for hit in hits]

    return ask


def run(folder: Path, count: int, queries: int) -> Report:
    report = Report("milvus", quick=count < 100_000)
    report.note(f"{LABEL}: milvus-lite 2.5.1.")
    report.note(busyness())
    data = passages_set(count)
    queries = min(queries, len(data.queries))
    before = resident()
    store = MilvusStore(f"milvus+lite:{folder}/bench.db?corpus=bench")
    written, whole = load(store, data)
    lanes = {
        **usual(store, data),
        "hybrid, filter on a list": ours(store, data, "hybrid", {"tags": "t03"}),
        "bare dense": bare(store, data, ""),
        "bare dense, 5 % filter": bare(store, data, 'meta["group"] == "g03"'),
    }
    results = timed(lanes, queries)
    report.check("dense recall@10", recall(data, results, "dense"), 0.97, "")
    title = f"{count:,} × 384, {queries} queries ({LABEL})"
    report.table(title, "search", "p50 ms", "p95 ms").rows += latencies(results)
    size = (folder / "bench.db").stat().st_size
    report.table(f"Loading {count:,} records ({LABEL})", "figure", "measured").rows += [
        ["records per second, analysed and written", f"{count / written:,.0f}"],
        ["records per second, words analysed and all indexed", f"{count / whole:,.0f}"],
        ["bytes on disk per record", f"{size / count:,.0f}"],
        ["bytes of memory per record, after the searches", f"{(resident() - before) / count:,.0f}"],
    ]
    store.close()
    return report


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
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
