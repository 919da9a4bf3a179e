"""Composed queries over CPython's library: fusion, links, the whole way with a reranker in it, and from the cache."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.folders import standard_library
from bench.plan import Plan
from bench.report import Report, Table, number
from ir import CorpusSource, build
from ir.code.strategy import Code
from ir.config import Settings
from ir.endpoint import Endpoint
from ir.errors import IrError, RerankError
from ir.query import HybridQueryOptions, OntologyQuery, Parts, VersionedCache, ontology_query
from ir.query.fusion import ranked_list, reciprocal
from ir.rerank import HttpReranker, resolve_reranker
from ir.store.local import LocalStore

PASSES = 3
QUESTIONS = (
    "how are HTTP requests parsed",
    "read a zip archive entry",
    "parse command line arguments",
    "format a traceback for printing",
    "compile a regular expression",
    "schedule a callback in the event loop",
    "copy a directory tree",
    "encode an object as JSON",
    "open a secure socket",
    "rotate log files",
    "compute the difference of two sequences",
    "create a temporary file",
    "who calls urlparse",
    "what implements MutableMapping",
    "decode quoted printable text",
    "walk an abstract syntax tree",
    "send mail over SMTP",
    "wait for several processes",
    "read an INI file",
    "cache the results of a function",
)


def run(plan: Plan) -> Report:
    report = Report("ontology", plan.quick)
    _fusion(report, plan)
    with TemporaryDirectory() as folder:
        corpus = _library(Path(folder), plan, report)
        _queries(report, corpus, plan)
    return report


def _fusion(report: Report, plan: Plan) -> None:
    rng = np.random.default_rng(3)
    names = [f"document-{one}" for one in range(150)]
    pairs = [[ranked_list(rng.permutation(names)[:100].tolist()) for _ in range(2)] for _ in range(50)]
    times = _times(lambda lists: reciprocal(lists, top_k=15), pairs)
    report.check("fusion of 2 × 100 candidates, p95", float(np.percentile(times, 95)), 1, "ms", at_least=False)


def _library(folder: Path, plan: Plan, report: Report) -> Any:
    """CPython's own library as code, by the model in the box."""
    root = standard_library()
    if plan.quick:
        root = root / "json"
    source = CorpusSource.from_files(root, name="Lib", all_text=True, strategy=Code(), embedder="box")
    corpus = build(source, store=LocalStore(folder / "corpus"), floor=False)
    report.note(f"CPython's library without tests: {len(corpus.store):,} chunks, vectors by `box`, both cores.")
    return corpus


def _queries(report: Report, corpus: Any, plan: Plan) -> None:
    title = f"{len(QUESTIONS)} questions, ten results each"
    table = report.table(
        title, "way", "p50 ms", "p95 ms", "first time p95", "dense p95", "keyword p95", "rerank p95", "links p95"
    )
    asked = [OntologyQuery(question) for question in QUESTIONS]
    linked = [OntologyQuery(question, follow_links=True) for question in QUESTIONS]
    _row(table, "without a reranker", corpus, asked, Parts())
    expansion = _row(table, "without a reranker, with links", corpus, linked, Parts())["graphExpansion"]
    report.check("links of ten results, p95", expansion, 20, "ms", at_least=False)
    with _rerank_server() as reranker:
        spent = _row(table, "HTTP reranker on loopback", corpus, asked, Parts(reranker=reranker))
        report.check("default path with an HTTP reranker on loopback, p95", spent["total"], 400, "ms", at_least=False)
    try:
        maxsim = resolve_reranker("maxsim")
    except IrError as error:
        report.note(f"MaxSim was not measured: {error.message}")
    else:
        spent = _row(table, "MaxSim over MiniLM", corpus, asked, Parts(reranker=maxsim))
        report.check("default path with MaxSim, p95", spent["total"], 400, "ms", at_least=False)
    _row(table, "from the cache", corpus, asked, Parts(cache=VersionedCache()))


def _row(table: Table, name: str, corpus: Any, asked: list[OntologyQuery], parts: Parts) -> dict[str, float]:
    """Each question once to warm up, then some times; of those the median counts."""
    options = HybridQueryOptions()
    first = []
    for one in asked:
        answer = ontology_query(corpus, one, options, parts)
        first.append(answer.meta.timings["total"])
        assert answer.meta.degraded == (), answer.meta.notes
        assert answer.meta.reranked is (parts.reranker is not None)
    steps = ("total", "dense", "keyword", "rerank", "graphExpansion")
    times: dict[str, list[float]] = {step: [] for step in steps}
    for one in asked:
        passes = [ontology_query(corpus, one, options, parts).meta.timings for _ in range(PASSES)]
        for step, each in times.items():
            each.append(float(np.median([spent.get(step, 0.0) for spent in passes])))
    p95 = {step: float(np.percentile(each, 95)) for step, each in times.items()}
    shown = [number(p95[step]) if p95[step] else "–" for step in steps[1:]]
    table.rows.append(
        [
            name,
            number(float(np.median(times["total"]))),
            number(p95["total"]),
            number(float(np.percentile(first, 95))),
            *shown,
        ]
    )
    return p95


def _times(work: Callable[[Any], Any], inputs: list[Any]) -> list[float]:
    """Milliseconds for each input: the median of some passes."""
    found = []
    for one in inputs:
        passes = []
        for _ in range(PASSES + 2):
            began = time.perf_counter()
            work(one)
            passes.append((time.perf_counter() - began) * 1e3)
        found.append(float(np.median(passes)))
    return found


@contextmanager
def _rerank_server() -> Iterator[HttpReranker]:
    """A server in Cohere's format whose model counts words: what is measured is the way there and back."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            words = set(body["query"].lower().split())
            scores = [len(words & set(text.lower().split())) for text in body["documents"]]
            told = [{"index": at, "relevance_score": float(score)} for at, score in enumerate(scores)]
            answer = json.dumps({"results": told}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        endpoint = Endpoint(address, "The rerank server", RerankError, "", "rerank.base_url", None)
        yield HttpReranker(endpoint, "words", deadline_ms=int(Settings.load()["rerank.deadline_ms"]))
        server.shutdown()
