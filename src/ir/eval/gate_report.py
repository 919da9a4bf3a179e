"""The report of a gate: as Markdown, to be kept with the project, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ir.eval.gate import EXIT_CODES, Criterion, GateReport
from ir.eval.gate_plan import SHAPES
from ir.eval.plots import plot_bars

__all__ = ["gate_markdown", "plot_gate"]

_TOLD = {"ship": "ship", "fallback": "roll to the fallback", "block": "block"}
_CHANGES = 5


def gate_markdown(report: GateReport, *, title: str = "Gate", about: str = "", picture: str | None = None) -> str:
    """The whole report, with every figure that the verdict rests on."""
    parts = [f"# {title}", f"**Verdict: {_TOLD[report.verdict]}** (exit code {report.exit_code}). {report.why}"]
    if about:
        parts.append(about)
    if picture:
        parts.append(f"![Quality and time of each configuration]({picture})")
    parts += ["## Criteria", _criteria("proposed", report.criteria)]
    if report.fallback:
        parts.append(_criteria("fallback", report.fallback))
    parts += ["## Measured", _scores(report), "## Is it luck?", _comparisons(report)]
    changed = _changed(report)
    if changed:
        parts += ["## Questions that changed most", changed]
    if report.agreement:
        rows = [[shape or "all", f"{value:.3f}"] for shape, value in report.agreement.items()]
        parts += ["## Agreement of the judges", _table(["questions", "Cohen's κ"], rows)]
    failed = {error for one in report.scores for error in one.to_dict()["errors"]}
    if failed:
        parts += ["## What failed", "\n".join(f"- {error}" for error in sorted(failed))]
    codes = ", ".join(f"{code} {_TOLD[verdict]}" for verdict, code in EXIT_CODES.items())
    parts.append(f"Exit codes of `ir gate`: {codes}.")
    return "\n\n".join(parts) + "\n"


def _criteria(name: str, lines: Sequence[Criterion]) -> str:
    words = {True: "yes", False: "**no**", None: "not measured"}
    rows = [[one.name, one.needed, _number(one.measured), words[one.met]] for one in lines]
    return _table([name, "needed", "measured", "met"], rows)


def _scores(report: GateReport) -> str:
    header = ["configuration", "role", "shape", "questions", f"nDCG@{report.k}", f"Recall@{report.k}"]
    header += ["p50 ms", "p95 ms", "cost US$", "degraded", "failed"]
    rows = [
        [
            one.name,
            one.role,
            shape,
            str(scores.questions),
            f"{scores.ndcg:.3f}",
            f"{scores.recall:.3f}",
            f"{scores.p50_ms:.1f}",
            f"{scores.p95_ms:.1f}",
            f"{scores.usd:.4f}",
            str(scores.degraded),
            str(scores.failed),
        ]
        for one in report.scores
        for shape in SHAPES
        if (scores := one.shapes.get(shape)) is not None
    ]
    monthly = ", ".join(f"{one.name} ${one.monthly_usd:.2f}" for one in report.scores)
    told = f"Reranking at {report.monthly_searches:,} searches a month: {monthly}."
    return f"{_table(header, rows)}\n\n{told}"


def _comparisons(report: GateReport) -> str:
    header = [
        "proposed less",
        "shape",
        "measure",
        "difference",
        "95 % interval",
        "p (randomization)",
        "+/−/=",
    ]
    rows = [
        [
            name,
            shape,
            one.measure,
            f"{one.difference:+.3f}",
            f"{one.interval[0]:+.3f} … {one.interval[1]:+.3f}",
            f"{one.p_randomization:.4f}",
            f"{one.wins}/{one.losses}/{one.ties}",
        ]
        for name, shapes in report.comparisons.items()
        for shape, one in shapes.items()
    ]
    return _table(header, rows) if rows else "There is nothing to compare with."


def _changed(report: GateReport) -> str:
    rows = [
        [name, change.query_id, one.measure, f"{change.a:.3f}", f"{change.b:.3f}"]
        for name, shapes in report.comparisons.items()
        for one in shapes.values()
        for change in one.biggest(_CHANGES)
    ]
    return _table(["against", "question", "measure", "other", "proposed"], rows) if rows else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def plot_gate(report: GateReport, path: str | Path | None = None) -> bytes:
    """Quality of each configuration by shape, as a picture; beside its name, in what time 95 % of concepts come."""
    groups = {
        f"{one.name}, {one.shapes['concept'].p95_ms:.0f} ms" if "concept" in one.shapes else one.name: {
            f"{shape} {what}": value
            for shape, what in (("concept", "nDCG"), ("relationship", "Recall"), ("identifier", "nDCG"))
            if (value := one.of(shape, what.lower())) is not None
        }
        for one in report.scores
    }
    return plot_bars(groups, title=f"Verdict: {_TOLD[report.verdict]}", y=f"mean at {report.k}", path=path)
