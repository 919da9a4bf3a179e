"""Against PyPI ``ir`` 0.1.61: the same calls, each library with its own light embedder."""

from __future__ import annotations

from statistics import median
from typing import Any

from bench.contestant import Contestant
from bench.data import seventy_words_set
from bench.plan import Plan
from bench.report import Report, number
from bench.timing import Lane, race

LIMITS = {"build": 8, "no-op rebuild": 8, "reopen": 20, "opened again": 20, "dense": 15, "lexical": 60, "hybrid": 40}
NAMES = ("ours", "reference")


def run(plan: Plan) -> Report:
    report = Report("reference", plan.quick)
    report.note(
        "Each library embeds with its own `light` embedder. PyPI ir writes three files for each text: from run to run "
        "its build of 10,000 took 10 to 27 s and that of 50,000 took 52 to 69 s, ours 1.9 to 2.1 and 8.5 to 10 s, so "
        "that the ratio of builds moves between 5 and 10. Reopen: a new process, from its start to the first "
        "hybrid result; inside the process: without the interpreter and imports at the top; opened again: once more in "
        "a process that has every library loaded. To start Python and load numpy takes some 70 ms, which is more than "
        "a twentieth of what PyPI ir takes to open 10,000 texts: no library that loads numpy can be 20 times as fast "
        "there."
    )
    for size in plan.reference:
        figures = _measured(size, plan)
        _search(size, plan, figures)
        table = report.table(f"{size:,} texts of 70 words", "what", "ours", "PyPI ir 0.1.61", "ratio")
        for what in figures["ours"]:
            ours, theirs = figures["ours"][what], figures["reference"][what]
            table.rows.append([what, number(ours), number(theirs), f"{number(theirs / ours)} ×"])
        for what, limit in LIMITS.items():
            key = next(name for name in figures["ours"] if name.startswith(what))
            ratio = figures["reference"][key] / figures["ours"][key]
            report.check(f"{what}, {size:,} texts: times faster than PyPI ir", ratio, limit)
    return report


def _measured(size: int, plan: Plan) -> dict[str, dict[str, float]]:
    """Medians of several rounds in which the libraries take turns."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in NAMES}
    for _ in range(plan.builds):
        for name in NAMES:
            rounds[name].append(_measure(name, size, plan))
    return {name: {what: median(one[what] for one in found) for what in found[0]} for name, found in rounds.items()}


def _measure(name: str, size: int, plan: Plan) -> dict[str, float]:
    with Contestant(name, seventy_words_set(size), embedder="light") as contestant:
        contestant.fresh()
        built = contestant.ask("build")["seconds"]
        again = contestant.ask("call", name="rebuild")["seconds"]
        memory = contestant.ask("memory")["peak_mb"]
        opened = [contestant.reopen() for _ in range(min(3, plan.reopens))]
        return {
            "build s": built,
            "no-op rebuild s": again,
            "reopen to first hybrid result s": median(item["whole"] for item in opened),
            "reopen, inside the process s": median(item["inside"] for item in opened),
            "opened again, libraries loaded s": median(item["again"] for item in opened),
            "build peak memory MB": memory,
            "disk MB": contestant.disk_mb(),
        }


def _search(size: int, plan: Plan, figures: dict[str, dict[str, Any]]) -> None:
    data = seventy_words_set(size)
    contestants = {name: Contestant(name, data, embedder="light") for name in NAMES}
    try:
        for contestant in contestants.values():
            contestant.ask("open")
        for mode in ("dense", "lexical", "hybrid"):
            lanes = [
                Lane("ours", contestants["ours"], mode, plan.queries),
                Lane("reference", contestants["reference"], mode, plan.slow_queries, passes=2),
            ]
            for name, times in race(lanes).items():
                figures[name][f"{mode} p50 ms"] = times.p50
                figures[name][f"{mode} p95 ms"] = times.p95
        for name, contestant in contestants.items():
            figures[name]["resident after searches MB"] = contestant.ask("memory")["rss_mb"]
    finally:
        for contestant in contestants.values():
            contestant.stop()
