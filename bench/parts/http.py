"""What a team waits for: `ir serve` on loopback with 32 clients, beside searches in one process with as many threads;
its memory; and how soon it answers again after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from bench.contestant import Contestant
from bench.data import passages_set
from bench.plan import Plan
from bench.report import Report, number

CLIENTS = 32
_K = 10
_PEERS = Path(__file__).parent.parent / "peers"


class Server:
    """`ir serve` in a process of its own."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.began = time.monotonic()
        with log.open("w") as written:
            command = [sys.executable, "-m", "ir", "serve", "--port", "0"]
            self.process = subprocess.Popen(command, env=environment, stderr=written)
        while (found := re.search(r"http://127.0.0.1:(\d+)", log.read_text("utf-8"))) is None:
            assert self.process.poll() is None, log.read_text("utf-8")
            time.sleep(0.005)
        self.port = int(found[1])

    def search(self, query: str) -> Any:
        body = json.dumps({"query": query, "target": "bench", "k": _K}).encode()
        with urlopen(Request(f"http://127.0.0.1:{self.port}/v1/search", body), timeout=30) as answer:
            return json.loads(answer.read())

    def answers(self, query: str) -> float:
        """Seconds from the start of the process to the first answer."""
        while True:
            try:
                self.search(query)
            except (URLError, ConnectionError):
                time.sleep(0.005)
            else:
                return time.monotonic() - self.began

    def cpu_s(self) -> float:
        """What the process has computed so far; Linux only."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    def own_mb(self) -> float:
        """The memory that is its own, without the parts of files that are mapped."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(60)


def run(plan: Plan) -> Report:
    report = Report("http", plan.quick)
    size = 1_000 if plan.quick else 100_000
    seconds = float(os.environ.get("IR_BENCH_HTTP_S", "3" if plan.quick else "60"))
    minutes = float(os.environ.get("IR_BENCH_HTTP_MINUTES", "0.1" if plan.quick else "30"))
    contestant = Contestant("ours", passages_set(size), embedder="light")
    contestant.ensure_built()
    contestant.stop()
    environment = contestant.environment() | {"IR_RUNTIME_DIR": f"/tmp/ir-bench-{os.getpid()}"}
    queries = contestant.data.queries[: plan.queries]
    log = contestant.work / "serve.log"
    _load(report, environment, log, queries, seconds, size)
    _memory(report, environment, log, queries, minutes)
    _kills(report, environment, log, queries, plan.starts)
    return report


def _load(
    report: Report, environment: dict[str, str], log: Path, queries: list[str], seconds: float, size: int
) -> None:
    threads = len(os.sched_getaffinity(0))
    alone = {how: _alone(environment, threads, seconds, queries, how) for how in ("library", "operation")}
    server = Server(environment, log)
    for query in queries[:40]:
        server.search(query)
    before = server.cpu_s()
    done = _clients(server.port, CLIENTS, seconds, queries)
    cpu = (server.cpu_s() - before) / len(done["times"]) * 1000
    server.end()
    times = sorted(one * 1000 for one in done["times"])
    p50, p99 = median(times), times[int(len(times) * 0.99)]
    rate = len(times) / done["seconds"]
    table = report.table(
        f"Hybrid searches in {size:,} passages for {seconds:.0f} s, {threads} threads", "", "a second", "CPU ms each"
    )
    rates = {how: one["count"] / one["seconds"] for how, one in alone.items()}
    table.rows.append(["the library, hits alone", number(rates["library"]), number(_cpu_ms(alone["library"]))])
    table.rows.append(
        ["the operation, with excerpts, as JSON", number(rates["operation"]), number(_cpu_ms(alone["operation"]))]
    )
    table.rows.append([f"over HTTP, {CLIENTS} clients", number(rate), number(cpu)])
    clients = report.table(f"{CLIENTS} clients", "p50 ms", "p95 ms", "p99 ms", "longest ms", "errors")
    cells = (p50, times[int(len(times) * 0.95)], p99, times[-1])
    clients.rows.append([*map(number, cells), str(len(done["errors"]))])
    report.check("errors under load", float(len(done["errors"])), 0, "", at_least=False)
    report.check("searches a second over HTTP / the library's hits in one process", rate / rates["library"], 0.8)
    report.check("searches a second over HTTP / the same operation in one process", rate / rates["operation"], 0.8)
    report.note(
        f"A search takes the server {cpu / _cpu_ms(alone['operation']):.2f} times the CPU of the operation alone."
    )
    report.check("p99 / p50", p99 / p50, 8, at_least=False)
    report.note(
        "The clients are a process of their own on the same cores, and took "
        f"{done['cpu'] / len(times) * 1000:.2f} ms of CPU for each request; the library had no such company."
    )


def _cpu_ms(one: dict[str, Any]) -> float:
    return float(one["cpu"] / one["count"] * 1000)


def _memory(report: Report, environment: dict[str, str], log: Path, queries: list[str], minutes: float) -> None:
    """What the server holds after a tenth of the time, and at its end."""
    server = Server(environment, log)
    server.answers(queries[0])
    _clients(server.port, CLIENTS, minutes * 6, queries)
    first = server.own_mb()
    sizes = [first]
    for _ in range(9):
        _clients(server.port, CLIENTS, minutes * 6, queries)
        sizes.append(server.own_mb())
    server.end()
    table = report.table(f"Memory of its own over {minutes:g} minutes of load", *[f"{n * 10} %" for n in range(1, 11)])
    table.rows.append([f"{size:.0f} MB" for size in sizes])
    report.check(f"memory after {minutes:g} minutes of load / after a tenth", sizes[-1] / first, 1.1, at_least=False)


def _kills(report: Report, environment: dict[str, str], log: Path, queries: list[str], times: int) -> None:
    """Killed under load and started again: from the start of the process to the first answer."""
    waits = []
    before = None
    for _ in range(min(times, 5)):
        server = Server(environment, log)
        server.answers(queries[0])
        found = [one["artifact_id"] for one in server.search(queries[1])["found"]]
        assert before in (None, found), "something was lost"
        before = found
        load = threading.Thread(target=_clients, args=(server.port, 4, 2.0, queries, False))
        load.start()
        time.sleep(0.5)
        server.end(signal.SIGKILL)
        again = Server(environment, log)
        waits.append(again.answers(queries[0]))
        assert [one["artifact_id"] for one in again.search(queries[1])["found"]] == found, "something was lost"
        again.end()
        load.join()
    table = report.table("Killed under load, started again", "to the first answer, median s", "longest s")
    table.rows.append([number(median(waits)), number(max(waits))])
    report.check("from the start to the first answer after a kill", median(waits), 2, "s", at_least=False)


def _alone(environment: dict[str, str], threads: int, seconds: float, queries: list[str], how: str) -> dict[str, Any]:
    return _run("http_alone", environment, [threads, seconds, _K, queries, how])


def _clients(port: int, clients: int, seconds: float, queries: list[str], strict: bool = True) -> dict[str, Any]:
    return _run("http_clients", dict(os.environ), [port, clients, seconds, _K, queries], strict=strict)


def _run(script: str, environment: dict[str, str], given: Any, *, strict: bool = True) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(_PEERS / f"{script}.py")],
        input=json.dumps(given) + "\n",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and strict:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}
