"""What it costs to have ten and a hundred times as much; approximate against exact; adding a little to a lot."""

from __future__ import annotations

import json
from statistics import median

from bench.contestant import Contestant, Failed
from bench.data import DataSet, passages_set
from bench.plan import Plan
from bench.report import Report, Table, number
from bench.timing import Lane, Times, race

GOOD = 0.98


def run(plan: Plan) -> Report:
    report = Report("scale", plan.quick)
    report.note(
        "Of 100,000 passages about 78,000 are real, of 1,000,000 as many; "
        "the others are made of sentences of one collection put together anew."
    )
    report.note("Texts and vectors are read from files while the corpus is built, which its time and memory include.")
    table = report.table(
        "Cost of size",
        "records",
        "build s",
        "build peak MB",
        "disk MB",
        "resident MB",
        "reopen s",
        "dense p50",
        "lexical p50",
        "hybrid p50 ms",
        "hybrid p95",
        "recall@10",
        "exact fp16 scan p50",
        "add 100 s",
    )
    for size in plan.scale:
        data = passages_set(size)
        with Contestant("ours", data, timeout=3600, streamed=True) as ours:
            _one(ours, data, plan, report, table)
    return report


def _one(ours: Contestant, data: DataSet, plan: Plan, report: Report, table: Table) -> None:
    ours.fresh()
    built = ours.ask("build")["seconds"]
    peak = ours.ask("memory")["peak_mb"]
    disk = ours.disk_mb()
    reopened = median(ours.reopen()["whole"] for _ in range(min(3, plan.reopens)))
    queries = min(plan.queries, 100) if data.count > 200_000 else plan.queries
    times = race([Lane(mode, ours, mode, queries, passes=2) for mode in ("dense", "lexical", "hybrid")])
    memory = ours.ask("memory")["rss_mb"]
    recall = data.recall(times["dense"].answers)
    exact = _exact(ours, data, queries)
    added = _add(ours, data, plan)
    ours.stop()
    if data.count == max(plan.scale):
        # The memory part serves it; a few hundred records more do not matter there. Others would see strange texts.
        ours.built().write_text(json.dumps(built))
    hybrid = times["hybrid"]
    figures = [built, peak, disk, memory, reopened, times["dense"].p50, times["lexical"].p50, hybrid.p50, hybrid.p95]
    table.rows.append([f"{data.count:,}", *map(number, figures), f"{recall:.3f}", number(exact.p50), number(added)])
    if data.count == max(plan.scale):
        report.check(f"dense recall@10 at {data.count:,}", recall, GOOD, "")
        ratio = times["dense"].p50 / exact.p50
        report.check(f"dense p50 at {data.count:,} / exact scan", ratio, 0.25, at_least=False)
    if data.count == plan.scale[1]:
        report.check(f"add 100 records to {data.count:,} and find them", added, 0.5, "s", at_least=False)


def _exact(ours: Contestant, data: DataSet, queries: int) -> Times:
    """faiss over every half-precision row, one thread, in turns with our own search."""
    with Contestant("raw", data, timeout=1800) as raw:
        raw.start()
        raw.ask("call", name="open_vectors")
        few = min(queries, 60)
        return race([Lane("exact", raw, "dense", few, passes=2), Lane("ours", ours, "dense", few, passes=2)])["exact"]


def _add(ours: Contestant, data: DataSet, plan: Plan) -> float:
    """New texts through ``build(full=False)`` until the first of them is the answer to a query; then all must be."""
    figures: list[float] = []
    for turn in range(min(3, plan.reopens)):
        start = data.count + 1000 * turn
        answer = ours.ask("call", name="add", start=start)
        if answer["found"] < answer["of"]:
            raise Failed(f"only {answer['found']} of {answer['of']} searches found the text that was added")
        figures.append(answer["visible"])
    return median(figures)
