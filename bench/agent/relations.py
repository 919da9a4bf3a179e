"""Relationship questions: who calls this, what breaks if it changes. ``python -m bench.agent.relations`` asks them all.

The questions are over the installed packages, in ``questions/relations.jsonl``: a definition, and the lines on which it
is called, found by reading; of an impact also the lines that call those callers. A question is answered when of each
definition that holds such a line one of the lines and the definition's own name were seen.

Ours is the tool ``symbol`` of ``ir mcp``, page by page. The other way is ``rg`` for the name and a bracket, at most
``SHOWN`` lines, then, to learn in which function a line stands, one of two: *windows* of 40 lines before and after each
match, in order; or *outlines*, ``rg`` for definitions and the name in each file that has a match. For an impact it asks
again for each caller by its name. It stops when the answer is there, which an agent cannot know, or after ``CALLS``.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ir
from bench import folders
from bench.agent.context import Context, numbered
from bench.agent.measure import Outcome
from bench.agent.questions import HERE, Question, lines_of
from bench.envs import python_of

CALLS, SHOWN, WIDEST, AROUND, PAGES = 30, 100, 200, 40, 5
CORPUS = "packages"


@dataclass(frozen=True)
class Caller:
    """A definition that holds calls: where it begins, what it is called, and the lines of the calls."""

    file: str
    name: str
    first: int
    lines: frozenset[int]


@dataclass(frozen=True)
class Relationship:
    id: str
    text: str
    relation: str
    symbol: str
    callers: tuple[Caller, ...]

    def answered(self, context: Context) -> bool:
        return all(context.seen[one.file] & one.lines and one.first in context.seen[one.file] for one in self.callers)


def load(folder: Path) -> list[Relationship]:
    rows = [json.loads(line) for line in (HERE / "relations.jsonl").read_text("utf-8").splitlines()]
    return [
        Relationship(row["id"], row["question"], row["relation"], row["symbol"], tuple(_callers(folder, row["calls"])))
        for row in rows
    ]


def _callers(folder: Path, calls: Sequence[Any]) -> Iterator[Caller]:
    for row in calls:
        held: dict[tuple[int, str], set[int]] = {}
        for line in row["lines"]:
            held.setdefault(_enclosing(folder / row["file"], line), set()).add(line)
        for (first, name), lines in held.items():
            yield Caller(row["file"], name, first, frozenset(lines))


@cache
def _definitions(path: Path) -> list[tuple[int, int, str]]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [(one.lineno, one.end_lineno or one.lineno, one.name) for one in ast.walk(tree) if isinstance(one, kinds)]


def _enclosing(path: Path, line: int) -> tuple[int, str]:
    """The innermost definition that holds a line: where it begins, and its name."""
    first, _, name = max(one for one in _definitions(path) if one[0] <= line <= one[1])
    return first, name


# -- our way -----------------------------------------------------------------------------------------------------------


class Asking:
    """``symbol`` as an agent has it."""

    name = "ir symbol"

    def __init__(self, folder: Path) -> None:
        from ir.code.strategy import Code
        from ir.serve.service import Service
        from ir.sources import CorpusSource

        source = CorpusSource.from_files(folder, name=CORPUS, pattern=r"\.py$", strategy=Code(), embedder="light")
        ir.build(source, floor=False).store.close()
        self._folder = folder
        self._service = Service(watching=False)

    def __call__(self, question: Relationship) -> Context:
        from ir.serve.tasks import Caller as From
        from ir.serve.tasks import Task

        context = Context()
        given: dict[str, Any] = {"symbol": question.symbol, "relation": question.relation, "corpus": CORPUS}
        for _ in range(PAGES):
            params = {"name": "symbol", "arguments": given}
            result = self._service.answer(Task("tools/call", params, From()))["result"]
            text = result["content"][0]["text"]
            context.take(json.dumps(given), text, list(self._read(text)))
            following = result["structuredContent"].get("next")
            if question.answered(context) or not following:
                break
            given = {**given, "cursor": following}
        return context

    def _read(self, text: str) -> Iterator[tuple[str, list[int]]]:
        """Each ``path:line name``: the line of the call, and the definition whose name is told."""
        for place, line in re.findall(r"^(\S+?\.py):(\d+) \S+$", text, re.MULTILINE):
            path = self._folder / place
            holding = [one[0] for one in _definitions(path) if one[0] <= int(line) <= one[1]]
            yield place, [int(line), *([max(holding)] if holding else [])]

    def close(self) -> None:
        self._service.stop()


# -- the other way -----------------------------------------------------------------------------------------------------


class Grepping:
    """``rg`` for the name, then what tells where the matches stand."""

    def __init__(self, folder: Path, way: str) -> None:
        self.name = f"rg, then {way}"
        self._folder = folder
        self._look: Callable[[Relationship, Context, str, dict[str, list[int]]], None] = getattr(self, f"_{way}")

    def __call__(self, question: Relationship) -> Context:
        context = Context()
        names = [question.symbol.rpartition("::")[2].rpartition(".")[2]]
        asked: set[str] = set()
        for _ in range(1 if question.relation == "callers" else 2):
            following: list[str] = []
            for name in names:
                if name in asked or question.answered(context) or context.calls >= CALLS:
                    continue
                asked.add(name)
                found = self._grep(context, name)
                self._look(question, context, name, found)
                following += [
                    _enclosing(self._folder / one.file, line)[1]
                    for one in question.callers
                    for line in one.lines
                    if line in found.get(one.file, ())
                ]
            names = list(dict.fromkeys(following))
        return context

    def _grep(self, context: Context, name: str) -> dict[str, list[int]]:
        """The lines that call something by the name, as far as they are shown."""
        lines = self._rg(rf"\b{name}\(", ".")
        shown = lines[:SHOWN]
        found: dict[str, list[int]] = {}
        for line in shown:
            path, number, _ = line.split(":", 2)
            found.setdefault(path.removeprefix("./"), []).append(int(number))
        context.take(f"rg -n '\\b{name}\\('", "\n".join(line[:WIDEST] for line in shown), list(found.items()))
        return found

    def _windows(self, question: Relationship, context: Context, name: str, found: dict[str, list[int]]) -> None:
        for path, numbers in found.items():
            lines = lines_of(self._folder / path)
            for number in numbers:
                if question.answered(context) or context.calls >= CALLS:
                    return
                first, last = max(1, number - AROUND), min(len(lines), number + AROUND)
                if first in context.seen[path] and last in context.seen[path]:
                    continue
                read = range(first, last + 1)
                context.take(f"read {path}:{first}-{last}", numbered(lines[first - 1 : last], first), [(path, read)])

    def _outlines(self, question: Relationship, context: Context, name: str, found: dict[str, list[int]]) -> None:
        for path in found:
            if question.answered(context) or context.calls >= CALLS:
                return
            lines = self._rg(rf"^\s*(async )?(def|class) |\b{name}\(", path)
            numbers = [int(line.split(":", 1)[0]) for line in lines]
            context.take(f"rg -n 'def |class |{name}(' {path}", "\n".join(lines), [(path, numbers)])

    def _rg(self, pattern: str, path: str) -> list[str]:
        rg = python_of("ripgrep").parent / "rg"
        command = [str(rg), "--line-number", "--no-heading", "--sort", "path", "--type", "py", pattern, path]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        return done.stdout.splitlines()

    def close(self) -> None: ...


def measured() -> dict[str, list[Outcome]]:
    """What each way needs for each question."""
    folder = folders.packages()
    asked = load(folder)
    results: dict[str, list[Outcome]] = {}
    for policy in (Asking(folder), Grepping(folder, "windows"), Grepping(folder, "outlines")):
        outcomes = []
        for question in asked:
            context = policy(question)
            plain = Question(question.id, question.text, "", ())
            outcomes.append(Outcome(plain, question.answered(context), context.tokens, context.calls))
        results[policy.name] = outcomes
        policy.close()
    return results


def main() -> int:
    from bench.parts.relations import home

    with home():
        results = measured()
    for name, outcomes in results.items():
        print(name)
        for one in outcomes:
            print(f"  {one.question.id} {'yes' if one.found else 'NO '} {one.tokens:6,} tokens {one.calls:2} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
