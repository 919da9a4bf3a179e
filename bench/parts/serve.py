"""What an agent waits for: the tools after a start, and a search over the front, beside the library's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.contestant import Contestant
from bench.data import passages_set
from bench.plan import Plan
from bench.report import Report, number

_OWN = "io.modelcontextprotocol/"
_META = {f"{_OWN}protocolVersion": "2026-07-28", f"{_OWN}clientCapabilities": {}}
_K = 8


class Front:
    """`ir mcp` in a process of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ir", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.asked = 0

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": {**params, "_meta": _META}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def search(self, query: str) -> Any:
        return self.ask("tools/call", name="search", arguments={"query": query, "corpus": "bench", "k": _K})

    def cpu_ms(self) -> float:
        """What the process has computed so far; Linux only."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e6

    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run(plan: Plan) -> Report:
    report = Report("serve", plan.quick)
    size = 1_000 if plan.quick else 100_000
    contestant = Contestant("ours", passages_set(size), embedder="light")
    contestant.ensure_built()
    contestant.stop()
    environment = contestant.environment() | {"IR_RUNTIME_DIR": f"/tmp/ir-bench-{os.getpid()}"}
    try:
        _starts(report, environment, plan.starts)
        _searches(report, environment, contestant.data.queries[: plan.queries], size)
    finally:
        stop = [sys.executable, "-m", "ir", "daemon", "stop"]
        subprocess.run(stop, env=environment, capture_output=True, check=False)
    return report


def _starts(report: Report, environment: dict[str, str], starts: int) -> None:
    """From the start of the process to the list of tools."""
    walls, cpus, sizes = [], [], []
    for turn in range(starts + 1):
        began = time.perf_counter()
        front = Front(environment)
        front.ask("server/discover")
        front.ask("tools/list")
        wall = (time.perf_counter() - began) * 1000
        if turn:  # the first one also starts the daemon
            walls.append(wall)
            cpus.append(front.cpu_ms())
            sizes.append(front.resident_mb())
        front.close()
    table = report.table(
        f"`ir mcp`, from its start to the tools (median of {starts})", "", "ms", "CPU ms", "resident MB"
    )
    table.rows.append(["front", number(median(walls)), number(median(cpus)), number(median(sizes))])
    report.check("`ir mcp` to the first `tools/list`: CPU", median(cpus), 120, "ms", at_least=False)
    report.check("`ir mcp` to the first `tools/list`: resident", median(sizes), 40, "MB", at_least=False)


def _searches(report: Report, environment: dict[str, str], queries: list[str], size: int) -> None:
    """The same queries in turn to the front and to the library, in which the corpus is open."""
    os.environ.update(environment)
    import ir

    corpus = ir.open_corpus("bench")
    front = Front(environment)
    front.ask("server/discover")
    times: dict[str, list[float]] = {"the library": [], "over the front": []}
    asked = {"the library": lambda query: corpus.search(query, mode="hybrid", k=_K), "over the front": front.search}
    for query in queries[:40]:
        for call in asked.values():
            call(query)
    for query in queries:
        for name, call in asked.items():
            began = time.perf_counter()
            call(query)
            times[name].append((time.perf_counter() - began) * 1000)
    front.close()
    table = report.table(f"A hybrid search in {size:,} passages", "", "p50 ms", "p95 ms")
    for name, values in times.items():
        table.rows.append([name, number(median(values)), number(sorted(values)[int(len(values) * 0.95)])])
    ratio = median(times["over the front"]) / median(times["the library"])
    report.check("a search over the front / the library's own", ratio, 2, at_least=False)
    report.note("The front's answer has excerpts, lines, freshness and the content version; the library's has hits.")
