"""Against tantivy and faiss by themselves, with vectors given from outside; and what a filter costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np

from bench.contestant import Contestant
from bench.data import DataSet, passages_set
from bench.plan import Plan
from bench.report import Report, number
from bench.timing import Lane, Times, race

LIMITS = {10_000: 2.5, 100_000: 2.0}
GOOD = 0.98
FILTERS: dict[str, Mapping[str, Any]] = {
    "equality": {"group": "g07"},
    "$contains, list member": {"tags": {"$contains": "t07"}},
    "$contains, substring": {"path": {"$contains": "/s07/"}},
}


def run(plan: Plan) -> Report:
    report = Report("raw", plan.quick)
    report.note(
        "Raw: tantivy's ten best, then the ten best of the fastest faiss configuration with recall@10 ≥ .98, "
        "nothing fused. One thread."
    )
    for size in plan.raw:
        data = passages_set(size)
        with Contestant("ours", data) as ours, Contestant("raw", data) as raw:
            built = {"ours": ours.ensure_built(), "raw": raw.ensure_built()}
            ours.reopen()
            raw.reopen()
            setting = choose(raw, data, plan, report)
            _compare(ours, raw, data, plan, report, built | {"setting": setting})
            raw.stop()
            _filters(ours, data, plan, report)
    return report


def choose(raw: Contestant, data: DataSet, plan: Plan, report: Report) -> str:
    """Try the configurations with the queries of the comparison, keep the fastest that is good enough."""
    table = report.table(f"faiss alone, {data.count:,} vectors", "configuration", "recall@10", "p50 ms")
    tried = []
    for setting in raw.ask("call", name="settings")["settings"]:
        raw.ask("tune", setting=setting)
        times = race([Lane("raw", raw, "dense", plan.queries, passes=2)])["raw"]
        recall = data.recall(times.answers)
        words = setting["factory"] + (f", {setting['probe']} probes" if "probe" in setting else "")
        words += f", top {setting['keep']} scored again" if setting["keep"] else ""
        tried.append((recall >= GOOD, times.p50, words, setting))
        table.rows.append([words, f"{recall:.3f}", number(times.p50)])
    best = min((row for row in tried if row[0]), key=lambda row: row[1])
    raw.ask("tune", setting=best[3])
    raw.ask("call", name="forget")
    return str(best[2])


def _compare(
    ours: Contestant, raw: Contestant, data: DataSet, plan: Plan, report: Report, made: dict[str, Any]
) -> None:
    lanes = [
        Lane("ours hybrid", ours, "hybrid", plan.queries),
        Lane("raw tantivy + faiss", raw, "hybrid", plan.queries),
        Lane("ours dense", ours, "dense", plan.queries),
        Lane("raw faiss", raw, "dense", plan.queries),
        Lane("ours lexical", ours, "lexical", plan.queries),
        Lane("raw tantivy", raw, "lexical", plan.queries),
    ]
    times = race(lanes)
    title = f"{data.count:,} passages, 384-d; fastest faiss: {made['setting']}"
    table = report.table(title, "", "p50 ms", "p95 ms", "recall@10")
    for name, figures in times.items():
        recall = f"{data.recall(figures.answers):.3f}" if name in ("ours dense", "raw faiss") else ""
        table.rows.append([name, number(figures.p50), number(figures.p95), recall])
    hybrid = times["ours hybrid"]
    size = f"{data.count:,}"
    limit = LIMITS.get(data.count, 2.5)
    alone = times["raw tantivy"].p50 + times["raw faiss"].p50
    report.check(f"hybrid p50 of {size} / (tantivy alone + faiss alone)", hybrid.p50 / alone, limit, at_least=False)
    together = hybrid.p50 / times["raw tantivy + faiss"].p50
    report.check(f"hybrid p50 of {size} / both, one after the other for each query", together, limit, at_least=False)
    report.check(f"dense recall@10 of {size}", data.recall(times["ours dense"].answers), GOOD, "")
    report.check(f"hybrid p95 / p50 of {size}", hybrid.p95 / hybrid.p50, 4, at_least=False)


def _filters(ours: Contestant, data: DataSet, plan: Plan, report: Report) -> None:
    cold = {name: _cold(ours, where, plan) for name, where in FILTERS.items()}
    ours.reopen()
    plain = Lane("none", ours, "hybrid", plan.queries)
    times = race([plain, *(Lane(name, ours, "hybrid", plan.queries, where) for name, where in FILTERS.items())])
    dense = race([Lane(name, ours, "dense", min(100, plan.queries), where, 1) for name, where in FILTERS.items()])
    table = report.table(
        f"Hybrid search of {data.count:,} under a filter that 5 % match",
        "filter",
        "cold ms",
        "warm p50 ms",
        "warm p95 ms",
        "warm / no filter",
        "dense recall@10",
    )
    metadata = [json.loads(line)["metadata"] for line in (data.folder / "texts.jsonl").open(encoding="utf-8")]
    for name, figures in times.items():
        ratio = figures.p50 / times["none"].p50
        if name == "none":
            table.rows.append([name, "", number(figures.p50), number(figures.p95), "1", ""])
            continue
        allowed = np.asarray([_matches(FILTERS[name], item) for item in metadata])
        recall = _filtered_recall(data, allowed, dense[name])
        cells = [number(cold[name]), number(figures.p50), number(figures.p95), number(ratio), f"{recall:.3f}"]
        table.rows.append([name, *cells])
        report.check(f"{name} filter on {data.count:,}, warm / without (5 % for noise)", ratio, 1.05, at_least=False)
        wrong = sum(not allowed[ids].all() or len(ids) < 10 for ids in figures.answers.values())
        report.check(
            f"{name} filter on {data.count:,}: answers with fewer than 10 or a wrong text", wrong, 0, "", at_least=False
        )


def _cold(ours: Contestant, where: Mapping[str, Any], plan: Plan) -> float:
    """The first filtered query of a process that has answered one without a filter."""
    figures: list[float] = []
    for _ in range(min(3, plan.reopens)):
        ours.reopen()
        figures.append(ours.search("hybrid", [1], where)["ms"][0])
    return median(figures)


def _matches(where: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    [(field, wanted)] = where.items()
    return wanted["$contains"] in metadata[field] if isinstance(wanted, Mapping) else metadata[field] == wanted


def _filtered_recall(data: DataSet, allowed: Any, times: Times) -> float:
    rows = np.flatnonzero(allowed)
    some = np.asarray(data.vectors[rows])
    shares = []
    for query, ids in times.answers.items():
        vector = data.query_vectors[query]
        tenth = np.sort(some @ vector)[-min(10, len(rows))]
        shares.append(np.mean(data.vectors[ids] @ vector >= tenth - 1e-6) if ids else 0.0)
    return float(np.mean(shares))
