"""``python -m bench.engines [--set NAME]… [--engine NAME]…``: the judged collections through every store.

Each collection is copied from the embedded store that the other benchmarks keep, vectors and all, so that nothing is
embedded again and the only difference is the engine. On exact settings, nDCG@10 is compared with the embedded engine;
on approximate ones, the ten nearest with the ten that are nearest by comparing all. PostgreSQL is started for this
run; Milvus is the core of ``milvus-lite``, one process, not a cluster.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.judged import SETS, corpus, embedder_of, judged_cases
from bench.report import Report
from ir.eval import DiscoveryCase, retrieval_report
from ir.index import Corpus
from ir.protocols import Where
from ir.store import CorpusStore
from ir.transfer import copy_store

MODES = ("dense", "lexical", "hybrid")
#: How far an engine may be off on exact settings, and how much of the ten nearest approximate ones must find.
TOLERANCE, RECALL = 0.01, 0.97
#: The first so many queries of each collection.
MOST = 100


@dataclass(frozen=True)
class Engine:
    """``address`` has places for the server and the corpus; ``exact`` says what it is measured by."""

    name: str
    address: str
    exact: bool


ENGINES = (
    Engine("PostgreSQL", "{postgres}&corpus=exact_{corpus}", True),
    Engine("Milvus FLAT", "milvus+lite:{folder}/flat.db?corpus={corpus}", True),
    Engine("PostgreSQL HNSW, vector", "{postgres}&corpus=full_{corpus}&lexical=none", False),
    Engine("PostgreSQL HNSW, halfvec", "{postgres}&corpus=half_{corpus}&lexical=none&vectors=half", False),
    Engine("Milvus IVF_FLAT", "milvus+lite:{folder}/ivf.db?corpus={corpus}&index=IVF_FLAT", False),
)


@contextmanager
def settings_of(engine: Engine) -> Iterator[None]:
    """An approximate PostgreSQL uses its index however few records there are; left alone it would compare them all."""
    if engine.exact or not engine.name.startswith("PostgreSQL"):
        yield
        return
    with patch("ir.store.postgres.nearest.INDEXED_FROM", 1), patch("ir.store.postgres.filtered.FEW", 0):
        yield


def scored(built: Corpus, cases: Sequence[DiscoveryCase]) -> dict[str, float]:
    """nDCG@10 in each mode."""
    return {mode: float(retrieval_report(built, cases, mode=mode).primary or 0) for mode in MODES}


class Nearest:
    """The ten nearest of each query by comparing all vectors."""

    def __init__(self, store: Any, vectors: Any) -> None:
        ids, matrix, _ = store.matrix()
        self._places = {record_id: place for place, record_id in enumerate(ids)}
        self._vectors = vectors
        self._scores = vectors @ matrix.T
        self._tenth = np.sort(self._scores, axis=1)[:, -10]

    def recall(self, store: Any) -> float:
        """The share of ten that a store finds; whoever is as near as the tenth counts."""
        shares = []
        with store.snapshot() as snapshot:
            for vector, scores, tenth in zip(self._vectors, self._scores, self._tenth, strict=True):
                refs = snapshot.dense(vector, 10, Where()).refs
                found = [scores[self._places[row.id]] for row in snapshot.rows(refs)]
                shares.append(sum(score >= tenth - 1e-6 for score in found) / 10)
        return float(np.mean(shares))


class Run:
    """Engines side by side, one collection after the other."""

    def __init__(self, engines: Sequence[Engine], embedder: str, places: dict[str, str]) -> None:
        self.engines = engines
        self.embedder = embedder
        self.places = places
        self.report = Report("engines", quick=False)
        exact = [engine.name for engine in engines if engine.exact]
        header = [f"{name} {mode}" for name in ("embedded", *exact) for mode in MODES]
        self.quality = self.report.table(f"nDCG@10, exact settings, embedder {embedder}", "collection", *header)
        near = [engine.name for engine in engines if not engine.exact]
        self.nearness = self.report.table("Recall@10 of the nearest, approximate settings", "collection", *near)
        self.worst: dict[str, float] = {}

    def collection(self, name: str) -> None:
        built = corpus(name, self.embedder)
        cases = judged_cases(name)[:MOST]
        asking = embedder_of(self.embedder)
        asking.learn(case.query for case in cases)
        vectors = asking([case.query for case in cases], input_type="query")
        nearest = Nearest(built.store, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        reference = scored(built, cases)
        quality, nearness = [reference[mode] for mode in MODES], []
        for engine in self.engines:
            with self._copied(engine, name, built.store) as store:
                if not engine.exact:
                    nearness.append(nearest.recall(store))
                    self._keep(engine, -nearness[-1])
                    continue
                found = scored(Corpus(name, store, asking, built.embedder_id), cases)
                quality += [found[mode] for mode in MODES]
                self._keep(engine, max(abs(found[mode] - reference[mode]) for mode in MODES))
        self.quality.rows.append([name, *(f"{value:.4f}" for value in quality)])
        self.nearness.rows.append([name, *(f"{value:.3f}" for value in nearness)])

    @contextmanager
    def _copied(self, engine: Engine, name: str, source: Any) -> Iterator[Any]:
        address = engine.address.format(corpus=name, **self.places)
        with settings_of(engine), CorpusStore.open(address) as store:
            began = time.perf_counter()
            copy_store(source, store)
            copied = time.perf_counter()
            yield store
            took = f"copied in {copied - began:.1f} s, asked in {time.perf_counter() - copied:.1f} s"
            print(f"    {engine.name}: {took}", file=sys.stderr, flush=True)

    def _keep(self, engine: Engine, value: float) -> None:
        self.worst[engine.name] = max(value, self.worst.get(engine.name, -np.inf))

    def finish(self) -> Report:
        for engine in self.engines:
            worst = self.worst[engine.name]
            if engine.exact:
                title = f"{engine.name}: largest difference in nDCG@10 to the embedded engine"
                self.report.check(title, worst, TOLERANCE, "", at_least=False)
            else:
                self.report.check(f"{engine.name}: smallest Recall@10 of exact", -worst, RECALL, "")
        self.report.note(f"The first {MOST} judged queries of each collection.")
        self.report.note(
            "Milvus core in process, not a cluster: of index types it takes FLAT, IVF_FLAT and AUTOINDEX alone."
        )
        return self.report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__.split("\n\n")[0])
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="a judged collection; repeatable")
    parser.add_argument("--engine", action="append", dest="engines", help="names that begin so; repeatable")
    parser.add_argument("--embedder", default="minilm")
    given = parser.parse_args()
    wanted = tuple(given.engines or ("",))
    engines = [engine for engine in ENGINES if engine.name.startswith(wanted)]
    from ir.testing.postgres_server import running_server

    with tempfile.TemporaryDirectory() as folder, running_server({"shared_buffers": "512MB"}) as server:
        run = Run(engines, given.embedder, {"postgres": server.url(), "folder": folder})
        for name in given.sets or SETS:
            run.collection(name)
        report = run.finish()
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
