"""Answers about code: who calls, implements and tests a definition, what breaks with it; how good, fast and long."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import mean
from tempfile import TemporaryDirectory

from bench import relations
from bench.agent import measure
from bench.agent import relations as asked
from bench.parts.agent import show_table
from bench.plan import Plan
from bench.relations import OPERATIONS, Answered
from bench.report import Report, number
from ir.app.documents import tokens_of
from ir.app.session import Session
from ir.serve.budget import cost
from ir.serve.service import Service
from ir.serve.tasks import Caller, Task

BUDGET = 2_000


def run(plan: Plan) -> Report:
    report = Report("relations", plan.quick)
    _good(report)
    _read(report)
    _fast(report, plan)
    _short(report)
    return report


def _good(report: Report) -> None:
    """The questions over our own source."""
    answered, origin = relations.judged()
    kinds = sorted({one.relation for one in answered})
    table = report.table("Relationship questions over our own source", "", "questions", "Recall@10", "first tier right")
    for kind, some in [
        *((kind, [one for one in answered if one.relation == kind]) for kind in kinds),
        ("all", answered),
    ]:
        table.rows.append([kind, str(len(some)), number(mean(one.recall for one in some)), _right(some)])
    report.check("our own source, Recall@10 over the tiers", mean(one.recall for one in answered), 0.86, "")
    report.check("our own source, precision of the first tier", _precision(answered), 0.97, "")
    report.note(
        f"Our own source: {origin}; answers are what both judges call one. Recall@10 is the share of them among the "
        "first ten, of at most ten. The first tier is what is `exact`; what neither judge saw is not counted in it."
    )


def _read(report: Report) -> None:
    """Who calls what in packages that a person has read."""
    table = report.table(
        "Who calls X, against call graphs that a person has read",
        "package",
        "functions",
        "Recall@10, links",
        "Recall@10, all tiers",
        "first tier right",
    )
    every: list[Answered] = []
    for name, guessed, linked in relations.truths():
        recalls = [mean(one.recall for one in some) for some in (linked, guessed)]
        table.rows.append([name, str(len(guessed)), *map(number, recalls), _right(guessed)])
        every += guessed
    if every:
        report.check("read call graphs, Recall@10 over the tiers", mean(one.recall for one in every), 0.86, "")
        report.check("read call graphs, precision of the first tier", _precision(every), 0.97, "")
    else:
        report.note("No package whose call graph was read could be downloaded.")


def _fast(report: Report, plan: Plan) -> None:
    """Every operation on CPython's Lib, in a process that has it open; and how long the longest answer is."""
    with home(), Session() as session:
        relations.build_library("lib", quick=plan.quick)
        words = relations.some_words(session, "lib", 40 if plan.quick else 200)
        table = report.table(
            f"CPython's Lib with its tests, {len(words)} definitions drawn at random, CPU time",
            "",
            "p50 ms",
            "p95 ms",
            "longest ms",
        )
        for operation in OPERATIONS:
            found = relations.timed(session, "lib", words, operation)
            table.rows.append([operation, *map(number, (found.p50, found.p95, found.longest))])
            report.check(f"{operation} on Lib, p95", found.p95, 50, "ms", at_least=False)
        unknown = [f"{word[:-2]}qz" for word in words[-20:]]
        found = relations.timed(session, "lib", unknown, "callers")
        table.rows.append(["callers of an unknown name", *map(number, (found.p50, found.p95, found.longest))])
        hub = relations.most_called(session, "lib")
        _long(report, hub)


def _long(report: Report, hub: str) -> None:
    """What an agent is told of the definition that most calls lead to."""
    service = Service(watching=False)
    try:
        table = report.table(f"Tokens of an answer about `{hub}`, budget {BUDGET:,}", "", "text", "structure")
        longest = 0
        for relation in (None, "callers", "tests", "impact"):
            given = {"symbol": hub, "corpus": "lib", "k": 100, "max_tokens": BUDGET}
            params = {"name": "symbol", "arguments": given | ({"relation": relation} if relation else {})}
            result = service.answer(Task("tools/call", params, Caller()))["result"]
            spent = tokens_of(result["content"][0]["text"]), cost(result["structuredContent"])
            table.rows.append([relation or "symbol", *map(str, spent)])
            longest = max(longest, *spent)
        report.check("most-called definition of Lib, longest answer", longest, BUDGET, "tokens", at_least=False)
    finally:
        service.stop()


def _short(report: Report) -> None:
    """Who calls what, and what breaks with it."""
    with home():
        results = asked.measured()
    ours, theirs = show_table(report, "relationship questions over four installed packages", results)
    report.check(
        f"relationships, tokens for an answer: {theirs} / {ours}", measure.ratio(results[ours], results[theirs]), 5
    )
    report.note(
        "A relationship question is answered when of each definition that calls a call and the definition's name were "
        "seen. `ir symbol` is one call of the tool of that name; `rg` looks for the name and a bracket, then reads "
        "windows of ± 40 lines or outlines of the files; `bench/agent/relations.py` has the policy."
    )


def _precision(answered: Sequence[Answered]) -> float:
    first = sum(one.first for one in answered)
    return sum(one.right for one in answered) / first if first else 1.0


def _right(answered: Sequence[Answered]) -> str:
    return f"{sum(one.right for one in answered)} of {sum(one.first for one in answered)}"


@contextmanager
def home() -> Iterator[None]:
    """A home of our own, so that no corpus of the user's is touched."""
    kept = {name: os.environ.get(name) for name in ("IR_DATA_DIR", "IR_CONFIG_DIR", "IR_CACHE_DIR", "IR_RUNTIME_DIR")}
    with TemporaryDirectory() as folder:
        os.environ.update({name: f"{folder}/{name.lower()}" for name in kept})
        try:
            yield
        finally:
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
