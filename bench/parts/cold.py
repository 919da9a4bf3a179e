"""How long a new process takes before it is of use."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.contestant import Contestant, Failed
from bench.data import seventy_words_set
from bench.plan import Plan
from bench.report import Report, number

LIMITS = {"import ir": 80, "import ir; ir.search": 250, "ir --help": 250, "ir search": 400}


def run(plan: Plan) -> Report:
    report = Report("cold", plan.quick)
    size = 1_000 if plan.quick else 10_000
    contestant = Contestant("ours", seventy_words_set(size), embedder="light")
    contestant.ensure_built()
    contestant.stop()
    commands = _commands()
    environment = contestant.environment()
    environment["NO_COLOR"] = "1"
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(plan.starts + 1):
        for name, command in list(commands.items())[:: 1 if turn % 2 else -1]:
            started = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=contestant.work)
            seconds = time.perf_counter() - started
            if done.returncode:
                raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-400:]}")
            if turn:  # the first turn only warms the file cache
                times[name].append(seconds * 1000)
    _show(report, times, size)
    return report


def _commands() -> dict[str, list[str]]:
    python = sys.executable
    script = Path(python).parent / "ir"
    ir = [str(script)] if script.exists() else [python, "-m", "ir"]
    return {
        "python -c pass": [python, "-c", "pass"],
        "import ir": [python, "-c", "import ir"],
        "import ir; ir.search": [python, "-c", "import ir; ir.search"],
        "ir --help": [*ir, "--help"],
        "ir search": [*ir, "search", "bench", "how does the scheduler choose a node", "--json"],
    }


def _show(report: Report, times: dict[str, list[float]], size: int) -> None:
    empty = median(times["python -c pass"])
    table = report.table(
        f"A new process (median of {len(times['import ir'])})", "", "ms", "fastest", "/ python -c pass"
    )
    for name, values in times.items():
        table.rows.append([name, number(median(values)), number(min(values)), number(median(values) / empty)])
    report.note(
        f"`ir search`: hybrid, {size:,} texts of 70 words, light embedder. "
        "The interpreter's own start is included everywhere."
    )
    for name, limit in LIMITS.items():
        report.check(name, median(times[name]), limit, "ms", at_least=False)
