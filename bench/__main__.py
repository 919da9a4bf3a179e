"""``python -m bench``: run the benchmarks, print the tables, keep the figures."""

from __future__ import annotations

import argparse
import compileall
import sys
import time
import traceback
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench import texts
from bench.contestant import Failed, drop_work
from bench.envs import Unavailable
from bench.plan import FULL, QUICK
from bench.report import write_docs

PARTS = (
    *("reference", "raw", "peers", "cold", "scale", "memory"),
    *("graph", "code", "relations", "agent", "first", "serve", "http", "ontology"),
)
INTRODUCTION = """# Benchmarks: how fast, how large

A hybrid search, by meaning and by words at once, takes 1 ms<!-- Cost of size | 100,000 | hybrid p50 ms --> in 100,000
passages and 6 ms<!-- Cost of size | 1,000,000 | hybrid p50 ms --> in a million, on one thread. All speed figures of the
project are on this page. How good the answers are is on [another](quality.md).

The figures come from programs: `python -m bench` measures, and `python -m bench --docs` writes what it found here; the
last two sections name the programs that measured them. All contestants of a table ran in the same run, on a machine
with 2 cores, with one thread each, on the same documents, vectors and queries. `bench/README.md` says how each figure
is made. Ratios carry over to other machines better than times do: run it on yours before you rely on either. A
requirement that was missed is shown as FAIL.

| word | what it means here |
|---|---|
| p50, p95 | half of all queries took at most the p50, 95 in 100 at most the p95 |
| dense, lexical, hybrid | search by meaning (vectors), by words (BM25), by both |
| recall@10 | the share of the ten truly nearest vectors that the search returned; 1 is exact |
| reopen | a new process, from its start to its first result |
| resident | the memory of the process, with the parts of files that are mapped into it |
| fp16, PQ, IVF | ways of storing vectors: two bytes a number, short codes, in groups of which only some are searched |
| cold, warm | the first query with a filter, and every later one |"""
#: Besides those that ``python -m bench`` runs, what ``python -m bench.embedding`` found belongs on the page.
ON_THE_PAGE = (*PARTS, "embedding")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; repeatable")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything work?")
    parser.add_argument("--keep", action="store_true", help="use the indexes of an earlier run again")
    parser.add_argument("--slow", action="store_true", help="LlamaIndex and Haystack with 100,000 texts too")
    parser.add_argument("--docs", action="store_true", help="put the last full figures in docs/benchmarks.md and stop")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.docs:
        missing = write_docs(ON_THE_PAGE, INTRODUCTION)
        print("docs/benchmarks.md written" + (f"; not yet measured: {', '.join(missing)}" if missing else ""))
        return 0
    plan = replace(QUICK if given.quick else FULL, slow_peers=given.slow)
    # What pip does for whatever it installs, the peers too; this library is used from where it stands.
    compileall.compile_dir(Path(__file__).parent.parent / "src", quiet=1)
    if not given.keep:
        drop_work()
    print(f"Texts: {texts.origin()}", file=sys.stderr)
    failed = []
    for part in given.part or PARTS:
        started = time.perf_counter()
        print(f"{part} …", file=sys.stderr, flush=True)
        try:
            report = import_module(f"bench.parts.{part}").run(plan)
        except (Failed, Unavailable) as why:
            traceback.print_exc()
            print(f"{part}: {why}", file=sys.stderr)
            failed.append(part)
            continue
        report.note(f"Texts: {texts.origin()}.")
        path = report.save()
        print(f"\n{report.markdown()}\n", flush=True)
        print(f"{part}: {time.perf_counter() - started:.0f} s, {path}", file=sys.stderr, flush=True)
        failed += [part] if not plan.quick and any(check.passed is False for check in report.checks) else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
