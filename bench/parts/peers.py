"""Against what users would pick instead: the same texts and vectors, hybrid search, ten results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.contestant import Contestant, Failed
from bench.data import DataSet, passages_set
from bench.envs import Unavailable
from bench.plan import Plan
from bench.report import Report, number
from bench.timing import Lane, Times, race

NAMES = ("ours", "lancedb", "txtai", "langchain", "reference", "llamaindex", "haystack")
SLOW = ("reference", "langchain", "llamaindex", "haystack")
#: Not at 100,000: reading their saved JSON takes many minutes.
SLOWEST = ("llamaindex", "haystack")
#: times faster that ours must be: peer → size → factor
HYBRID = {"txtai": {10_000: 5, 100_000: 8}, "lancedb": {10_000: 8, 100_000: 3}}
REOPEN = {"lancedb": 5}
GOOD = 0.98


@dataclass
class Standing:
    """What is known of one contestant."""

    contestant: Contestant
    build: float
    reopen: list[dict[str, float]] = field(default_factory=list)
    hybrid: Times = field(default_factory=Times)
    dense: Times = field(default_factory=Times)
    tuned: str = ""
    tuned_hybrid: Times | None = None
    tuned_recall: float = 0.0
    memory: float = 0.0


def run(plan: Plan) -> Report:
    report = Report("peers", plan.quick)
    report.note(
        "Peers at their defaults and, where they can be tuned, at the first setting with recall@10 ≥ .98. "
        "Recall is that of the dense part against the exact answer. LanceDB keeps its own thread pool: its "
        "full-text index does not finish with one thread."
    )
    for size in plan.peers:
        with ExitStack() as stack:
            data = passages_set(size)
            standings = _prepare(data, plan, report, stack)
            _reopen(standings, plan)
            _race(standings, plan)
            for name, standing in standings.items():
                _tune(name, standing, data, plan)
                standing.memory = standing.contestant.ask("memory")["rss_mb"]
            _table(data, standings, report)
    return report


def _names(size: int, plan: Plan) -> Iterator[str]:
    for name in NAMES:
        if name in SLOWEST and size >= 50_000 and not plan.slow_peers:
            continue
        if plan.quick and name in (*SLOWEST, "reference"):
            continue
        yield name


def _prepare(data: DataSet, plan: Plan, report: Report, stack: ExitStack) -> dict[str, Standing]:
    out = {}
    for name in _names(data.count, plan):
        try:
            contestant = stack.enter_context(Contestant(name, data))
            out[name] = Standing(contestant, contestant.ensure_built())
        except (Failed, Unavailable) as why:
            report.note(f"{name} with {data.count:,} texts: {why}")
    return out


def _reopen(standings: dict[str, Standing], plan: Plan) -> None:
    """In turns, fewer for those that are slow; the last process stays."""
    for turn in range(plan.reopens):
        for name, standing in standings.items():
            if (name in SLOWEST and turn) or (name in SLOW and turn > 1):
                continue
            standing.reopen.append(standing.contestant.reopen())


def _race(standings: dict[str, Standing], plan: Plan) -> None:
    for mode in ("hybrid", "dense"):
        lanes = [
            Lane(name, standing.contestant, mode, *((plan.slow_queries, None, 1) if name in SLOW else (plan.queries,)))
            for name, standing in standings.items()
        ]
        for name, times in race(lanes).items():
            setattr(standings[name], mode, times)


def _settings(name: str, count: int) -> list[tuple[str, Any]]:
    if name == "lancedb" and count >= 50_000:
        pairs = [(20, 5), (20, 20), (40, 20), (80, 20), (80, 50), (160, 50), (160, 100), (320, 200)]
        return [(f"{probes} probes, refine {refine}", {"probes": probes, "refine": refine}) for probes, refine in pairs]
    if name == "txtai" and count > 5_000:
        return [(f"{probes} probes", {"nprobe": probes}) for probes in (16, 32, 48, 64, 96, 128, 192, 256)]
    return []


def _tune(name: str, standing: Standing, data: DataSet, plan: Plan) -> None:
    """The first setting that is good enough, unless the default is."""
    if data.recall(standing.dense.answers) >= GOOD:
        return
    contestant = standing.contestant
    for words, setting in _settings(name, data.count):
        contestant.ask("tune", setting=setting)
        dense = race([Lane(name, contestant, "dense", min(100, plan.queries), passes=1)])[name]
        recall = data.recall(dense.answers)
        if recall >= GOOD:
            standing.tuned, standing.tuned_recall = words, recall
            standing.tuned_hybrid = race([Lane(name, contestant, "hybrid", plan.queries)])[name]
            return


def _table(data: DataSet, standings: dict[str, Standing], report: Report) -> None:
    table = report.table(
        f"{data.count:,} passages, hybrid",
        "",
        "p50 ms",
        "p95 ms",
        "ours is",
        "recall@10",
        "reopen s",
        "inside s",
        "build s",
        "resident MB",
        "disk MB",
    )
    ours = standings["ours"]
    for name, standing in standings.items():
        rows = [(name, standing.hybrid, data.recall(standing.dense.answers))]
        if standing.tuned_hybrid is not None:
            rows.append((f"{name}, {standing.tuned}", standing.tuned_hybrid, standing.tuned_recall))
        for label, times, recall in rows:
            ratio = "" if name == "ours" else f"{number(times.p50 / ours.hybrid.p50)} × faster"
            cells = [number(times.p50), number(times.p95), ratio, f"{recall:.3f}"]
            cells += [number(median(item[key] for item in standing.reopen)) for key in ("whole", "inside")]
            cells += [number(standing.build), number(standing.memory), number(standing.contestant.disk_mb())]
            table.rows.append([label, *cells])
    _checks(data, standings, report)


def _checks(data: DataSet, standings: dict[str, Standing], report: Report) -> None:
    ours = standings["ours"]
    size = f"{data.count:,}"
    report.check(f"ours at {size}: dense recall@10", data.recall(ours.dense.answers), GOOD, "")
    for name, limits in HYBRID.items():
        factor = limits.get(data.count, min(limits.values()))
        theirs = standings.get(name)
        ratio = theirs.hybrid.p50 / ours.hybrid.p50 if theirs else None
        report.check(f"hybrid p50 at {size}: times faster than {name}", ratio, factor)
        if theirs and theirs.tuned_hybrid:
            ratio = theirs.tuned_hybrid.p50 / ours.hybrid.p50
            report.check(f"hybrid p50 at {size}: times faster than {name} tuned to .98", ratio, factor)
    for name, factor in REOPEN.items():
        theirs = standings.get(name)
        own = median(item["whole"] for item in ours.reopen)
        ratio = median(item["whole"] for item in theirs.reopen) / own if theirs else None
        report.check(f"reopen to first result at {size}: times faster than {name}", ratio, factor)
