"""``python -m bench.mongo``: a corpus in MongoDB, which is searched in the process that asks. DocumentDB, not mongod.

What is measured is the CPU time of that process, and its memory; the server is another one. Texts and vectors are made
up: 54 words, as many as those of the other engines' benchmarks have, and 384 numbers.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from bench.report import Report
from ir.base import Record
from ir.protocols import Where
from ir.store.mongo import MongoStore

LABEL = "DocumentDB, not mongod"
PACKAGES = Path(__file__).parents[1] / "build" / "test-documentdb"
_SERVING = """
import sys
from pathlib import Path
from ir.testing.documentdb_server import running_documentdb
with running_documentdb(Path(sys.argv[1])) as host:
    print(host, flush=True)
    sys.stdin.readline()
"""


def made(begin: int, end: int) -> list[Record]:
    chance, rng = random.Random(begin), np.random.default_rng(begin)
    words = [f"w{number % 50_000}" for number in rng.zipf(1.3, 200_000).tolist()]
    return [
        Record(
            f"r{number}",
            f"a{number}",
            "chunk",
            0,
            " ".join(chance.choices(words, k=54)),
            rng.normal(size=384).astype(np.float32),
            {"page": number % 400},
        )
        for number in range(begin, end)
    ]


def run(host: str, count: int) -> Report:
    report = Report("mongo", quick=count < 100_000)
    report.note(f"{LABEL}: postgresql-18-documentdb of Debian.")
    table = report.table(f"{count:,} × 384, CPU time of the client ({LABEL})", "step", "s", "MB at most")
    url = f"mongodb://{host}/bench/b{uuid4().hex[:8]}?timeout=600"
    query = np.ones(384, dtype=np.float32) / np.sqrt(384)

    def timed(step: str, do: Callable[[], Any]) -> None:
        began = time.process_time()
        do()
        spent = time.process_time() - began
        table.rows.append([step, f"{spent:.2f}", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,}"])

    def search(store: MongoStore) -> None:
        with store.snapshot() as snapshot:
            snapshot.dense(query, 10, Where())
            snapshot.lexical({"w1": 1.0, "w77": 1.0}, 10, Where())

    with MongoStore(url) as writer, MongoStore(url) as reader:
        records = made(0, count)
        timed("writing everything", lambda: writer.put_records(records))
        timed("the first search: reading and indexing", lambda: search(reader))
        timed("a search by both channels", lambda: search(reader))
        more = made(count, count + 1)
        timed("writing one record more", lambda: writer.put_records(more))
        timed("the next search of another process", lambda: search(reader))
        writer.drop()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.mongo", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    given = parser.parse_args()
    command = [sys.executable, "-c", _SERVING, str(PACKAGES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        print(run(server.stdout.readline().strip(), given.count).markdown())
        server.stdin.close()


if __name__ == "__main__":
    main()
