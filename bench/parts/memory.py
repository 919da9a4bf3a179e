"""What a process that serves a large corpus keeps in memory, mapped pages counted."""

from __future__ import annotations

from bench.contestant import Contestant
from bench.data import passages_set
from bench.plan import Plan
from bench.report import Report, number

DIM = 384
Step = tuple[str, str | None, dict[str, str] | None]


def run(plan: Plan) -> Report:
    report = Report("memory", plan.quick)
    size = max(plan.scale)
    data = passages_set(size)
    bound = 1.3 * size * DIM * 2 / 2**20 + 300
    table = report.table(
        f"Serving {size:,} × {DIM}", "after", "resident MB", "of it not mapped from files MB", "peak MB"
    )
    with Contestant("ours", data, timeout=3600, streamed=True) as ours:
        ours.ensure_built()
        ours.reopen()
        steps: list[Step] = [("opening and one hybrid query", None, None)]
        steps += [(f"{plan.queries} {mode} queries", mode, None) for mode in ("dense", "lexical", "hybrid")]
        steps.append((f"{plan.queries} hybrid queries under a filter", "hybrid", {"group": "g07"}))
        largest = 0.0
        for words, mode, where in steps:
            if mode is not None:
                ours.search(mode, range(min(plan.queries, len(data.queries))), where)
            memory = ours.ask("memory")
            largest = max(largest, memory["rss_mb"])
            table.rows.append([words, *(number(memory[key]) for key in ("rss_mb", "anonymous_mb", "peak_mb"))])
    report.check(f"resident at {size:,} × {DIM}: 1.3 × fp16 vectors + 300 MB", largest, bound, "MB", at_least=False)
    return report
