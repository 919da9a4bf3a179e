"""``python -m bench.engines``: the same judged collections through several stores, with the same embedder.

Each store is given by its address; ``postgresql`` alone starts a server for this run. The first, the embedded engine,
is what the others are compared with.

    python -m bench.engines postgresql 'milvus+lite:/tmp/judged.db' --set cranfield --set bfcl_live
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.judged import need_collections
from bench.report import Report
from ir.eval import load_beir, retrieval_report
from ir.index import build
from ir.sources import CorpusSource
from ir.store import CorpusStore
from ir.store.opening import for_corpus, names_server, without_password
from ir.strategy import WholeText

MODES = ("dense", "lexical", "hybrid")
#: How far an engine may be off on exact settings.
TOLERANCE = 0.01


def started(word: str, stack: ExitStack) -> str:
    """The address that ``word`` stands for."""
    if word != "postgresql":
        return word
    from ir.testing.postgres_server import running_server

    return stack.enter_context(running_server()).url()


def label(address: str) -> str:
    return "embedded" if not names_server(address) else without_password(address).partition(":")[0]


def measured(address: str, name: str, folder: Path, embedder: str) -> tuple[dict[str, float], float]:
    """nDCG@10 in each mode, and the seconds of the build."""
    data = load_beir(folder / name)
    source = CorpusSource.from_mapping(data.corpus, name=name, strategy=WholeText(text_key="text"))
    place = for_corpus(address, name) if names_server(address) else f"{address}/{name}"
    with CorpusStore.open(place) as store:
        began = time.perf_counter()
        corpus = build(source, store=store, embedder=embedder)
        seconds = time.perf_counter() - began
        scores = {mode: float(retrieval_report(corpus, data.cases(), mode=mode).primary or 0) for mode in MODES}
    return scores, seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__.split("\n\n")[0])
    parser.add_argument("stores", nargs="*", default=["postgresql"], help="addresses of servers to compare")
    parser.add_argument("--set", action="append", dest="sets", help="a judged collection; repeatable")
    parser.add_argument("--embedder", default="light")
    given = parser.parse_args()
    folder = need_collections()
    report = Report("engines", quick=False)
    with ExitStack() as stack:
        embedded = stack.enter_context(tempfile.TemporaryDirectory())
        addresses = [embedded, *(started(word, stack) for word in given.stores)]
        header = [f"{label(address)} {mode}" for address in addresses for mode in MODES]
        table = report.table(f"nDCG@10, embedder {given.embedder}", "collection", *header)
        for name in given.sets or ["cranfield", "bfcl_live"]:
            rows = []
            for address in addresses:
                scores, seconds = measured(address, name, folder, given.embedder)
                rows.append(scores)
                print(f"{name} {label(address)}: built in {seconds:.1f} s, {scores}", file=sys.stderr, flush=True)
            table.rows.append([name, *(f"{scores[mode]:.4f}" for scores in rows for mode in MODES)])
            for address, scores in zip(addresses[1:], rows[1:], strict=True):
                off = max(abs(scores[mode] - rows[0][mode]) for mode in MODES)
                report.check(f"{name}, {label(address)}: largest difference", off, TOLERANCE, "", at_least=False)
    print(report.markdown())
    print(f"\n{Path(report.save()).name} written")


if __name__ == "__main__":
    main()
