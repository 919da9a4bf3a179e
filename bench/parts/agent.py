"""Calls and tokens until the right lines are in an agent's context: our tools beside grep and reading."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.agent import measure, questions
from bench.agent.grep import VARIANTS
from bench.agent.mcp import OverMcp, is_offered
from bench.agent.measure import BUDGETS, Outcome, Policy
from bench.agent.questions import Question
from bench.agent.tools import BUDGET, SEARCHED, Built, OverJson, SearchThenGet, Tools
from bench.contestant import Failed
from bench.envs import Unavailable
from bench.plan import Plan
from bench.report import Report, number

EMBEDDERS = ("light", "box", "static", "minilm")
TITLES = {"packages": "four installed packages", "k8s_docs": "Kubernetes documentation", "fastapi_docs": "FastAPI docs"}
#: Tokens of a page of results.
PAGES = (500, 2_000)
Results = dict[str, dict[str, list[Outcome]]]
#: By embedder and way to ask, the tools of each set.
ToolBox = dict[str, dict[str, Tools]]


def run(plan: Plan) -> Report:
    report = Report("agent", plan.quick)
    asked = {name: questions.load(name)[:: 4 if plan.quick else 1] for name in questions.SETS}
    wrong = [problem for name in questions.SETS for problem in questions.problems(name)]
    if wrong:
        raise Failed("; ".join(wrong))
    tools = _tools(report, ("light",) if plan.quick else EMBEDDERS)
    known, lay = (_measured(tools, wording) for wording in (asked, _in_lay_words(asked)))
    _show(report, known, lay)
    _show_refusals(report, tools, asked)
    for sets in tools.values():
        for one in sets.values():
            one.close()
    return report


def _tools(report: Report, embedders: Sequence[str]) -> ToolBox:
    """The tools of each embedder on each set; an embedder that is not here is left out of all."""
    tools: ToolBox = {}
    for embedder in embedders:
        try:
            built = {name: Built(questions.folder_of(name), embedder, _models()) for name in questions.SETS}
        except (Failed, Unavailable) as why:
            report.note(f"{embedder}: {why}")
            continue
        if is_offered(next(iter(built.values()))):
            for detail in ("concise", "full"):
                tools[f"{embedder}, {detail}"] = {name: OverMcp(one, detail) for name, one in built.items()}
        else:
            tools[embedder] = {name: OverJson(one) for name, one in built.items()}
    return tools


def _in_lay_words(asked: dict[str, list[Question]]) -> dict[str, list[Question]]:
    return {name: questions.in_lay_words(rows) for name, rows in asked.items()}


def _measured(tools: ToolBox, asked: dict[str, list[Question]]) -> Results:
    results: Results = {}
    for name, rows in asked.items():
        print(f"  {name}", file=sys.stderr, flush=True)
        policies: list[Policy] = [variant(questions.folder_of(name)) for variant in VARIANTS]
        for embedder, sets in tools.items():
            policies += [SearchThenGet(sets[name], f"ir, {embedder}, {budget:,}", budget) for budget in PAGES]
        results[name] = {policy.name: measure.run(policy, rows) for policy in policies}
    return results


def _models() -> Path | None:
    """The cache that holds the user's models; without it only what needs none runs."""
    folder = Path(os.environ.get("IR_CACHE_DIR") or Path.home() / ".cache" / "ir")
    return folder if (folder / "models").is_dir() else None


def _show(report: Report, known: Results, lay: Results) -> None:
    for name, policies in known.items():
        show_table(report, TITLES[name], policies)
    together = _together(known)
    ours, theirs = show_table(report, "all questions", together)
    show_table(report, "all questions in the words of somebody who knows none of the product's", _together(lay))
    report.check("questions with an answer", len(together[ours]), 60, "")
    report.check(f"tokens for an answer: {theirs} / {ours}", measure.ratio(together[ours], together[theirs]), 10)
    difference = 100 * (measure.success(together[ours]) - measure.success(together[theirs]))
    report.check("answers found: more than by grep", difference, 0, "% points")
    report.note(
        "A token is four characters, of what is asked and of what comes back. `ir, EMBEDDER, PAGE`: `search` in pages "
        f"of at most so many tokens until the answer is there or {SEARCHED:,} are read, then `get` ± 40 lines around "
        f"the hits, best first; {BUDGET:,} is the default. `rg`: one call for all words of the question, then windows "
        "of ± 40 lines; `bench/agent/grep.py` has the policy. Both stop after 11 calls. Medians count a failure as "
        "worse than any success; – means that half of the questions failed. *Tokens / answer* counts what was spent on "
        "failures too; *× ours* compares it with our best row (bold), with the interval that holds 95 of 100 redrawn "
        "sets; *paired*: the median of the ratios where "
        "both find the answer."
    )


def _together(results: Results) -> dict[str, list[Outcome]]:
    every: dict[str, list[Outcome]] = {}
    for policies in results.values():
        for policy, outcomes in policies.items():
            every.setdefault(policy, []).extend(outcomes)
    return every


def show_table(report: Report, title: str, policies: dict[str, list[Outcome]]) -> tuple[str, str]:
    """One row for each policy; the names of our best and of the best other way."""
    ours = measure.best({name: outcomes for name, outcomes in policies.items() if name.startswith("ir")})
    theirs = measure.best({name: outcomes for name, outcomes in policies.items() if not name.startswith("ir")})
    count = len(next(iter(policies.values())))
    header = [
        "",
        "found",
        *(f"≤ {budget:,}" for budget in BUDGETS),
        "median tokens",
        "calls",
        "tokens / answer",
        "× ours",
        "95 %",
        "paired ×",
    ]
    table = report.table(f"{title[0].upper()}{title[1:]}, {count} questions", *header)
    for name, outcomes in policies.items():
        shares = [f"{100 * measure.success(outcomes, budget):.0f} %" for budget in (math.inf, *BUDGETS)]
        cells = [*shares, _plain(measure.typical_tokens(outcomes)), _plain(measure.typical_calls(outcomes))]
        cells.append(_plain(measure.per_answer(outcomes)))
        if name.startswith("ir"):
            cells += ["", "", ""]
        else:
            low, high = measure.interval(policies[ours], outcomes)
            cells += [_plain(measure.ratio(policies[ours], outcomes)), f"{_plain(low)} … {_plain(high)}"]
            cells += [_plain(measure.paired_ratio(policies[ours], outcomes))]
        table.rows.append([f"**{name}**" if name in (ours, theirs) else name, *cells])
    return ours, theirs


def _plain(value: float) -> str:
    return number(value) if math.isfinite(value) else "–"


def _show_refusals(report: Report, tools: ToolBox, asked: dict[str, list[Question]]) -> None:
    none = sum(not question.answers for rows in asked.values() for question in rows)
    title = f"Says that nothing answers ({none} questions have no answer)"
    table = report.table(title, "", "rightly", "although there is an answer")
    for embedder, sets in tools.items():
        refused = [
            question
            for name, rows in asked.items()
            for question in rows
            if sets[name].search(question.text, 0, BUDGET).abstained
        ]
        right = sum(not question.answers for question in refused)
        table.rows.append([f"ir, {embedder}", str(right), str(len(refused) - right)])
