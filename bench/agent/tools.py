"""Our way: ``search``, and if its passages do not hold the answer, ``get`` around the hits, best first.

With a small budget for a page of results, the agent first asks for the next pages, up to ``SEARCHED`` tokens in all: a
page that holds the answer ends the reading, so small pages spare what comes after it. A search cannot be reworded
without a model, so after ``CALLS`` calls the policy gives up. What a tool returns is what it shows to an agent: place,
heading and passage of each hit, up to the budget; no scores, no copies.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.agent.context import CHARACTERS_PER_TOKEN, Context, numbered
from bench.agent.questions import Question, lines_of
from bench.contestant import Failed
from bench.data import DATA
from bench.envs import HERE, clean_environment

CALLS = 11
#: Tokens of a page of results, and of all pages that are asked for.
BUDGET = SEARCHED = 2_000
AROUND = 40
HITS = 20


@dataclass(frozen=True)
class Passage:
    """Lines ``first`` to ``last`` of a file, as a tool showed them."""

    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Shown:
    """What came back: the text as the agent reads it, the passages in it, and whether it says that nothing answers."""

    text: str
    passages: tuple[Passage, ...]
    abstained: bool = False
    #: The whole lines of each file in the text, where those are fewer than the passages'.
    lines: tuple[tuple[str, tuple[int, ...]], ...] | None = None


class Tools(Protocol):
    """The two tools as an agent has them."""

    def search(self, query: str, page: int, budget: int) -> Shown: ...

    def get(self, passage: Passage, around: int) -> Shown: ...

    def close(self) -> None: ...


class SearchThenGet:
    """The policy, whatever carries the tools."""

    def __init__(self, tools: Tools, name: str, budget: int = BUDGET) -> None:
        self.tools, self.name, self.budget = tools, name, budget
        self.abstained: set[str] = set()

    def __call__(self, question: Question, solved: Callable[[Context], bool]) -> Context:
        context = Context()
        passages: list[Passage] = []
        for page in range(-(-SEARCHED // self.budget)):
            found = self.tools.search(question.text, page, self.budget)
            if found.abstained:
                self.abstained.add(question.id)
            passages += found.passages
            context.take(f"search {question.text} {page or ''}", found.text, _lines(found))
            if solved(context) or not found.passages:
                break
        for passage in passages:
            if solved(context) or context.calls >= CALLS:
                break
            more = self.tools.get(passage, AROUND)
            context.take(f"get {passage.file}:{passage.first}", more.text, _lines(more))
        return context


class Built:
    """A folder that is indexed with an embedder, in a home of its own that stays."""

    def __init__(self, folder: Path, embedder: str, models: Path | None) -> None:
        self.folder = folder
        home = DATA / "work" / f"agent-{folder.name}-{embedder}"
        homes = {f"IR_{kind}_DIR": str(home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}
        if models is not None:
            homes["IR_CACHE_DIR"] = str(models)
        self.environment = clean_environment(**homes, NO_COLOR="1", PYTHONPATH=str(HERE.parent / "src"))
        build = [sys.executable, "-m", "ir", "build", str(folder), "--embedder", embedder]
        done = subprocess.run(build, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr.strip()[-400:])


class OverJson:
    """The tools over what ``ir search --json`` prints, cut to what an agent is shown."""

    def __init__(self, built: Built) -> None:
        self.folder = built.folder
        self._answers: dict[str, Any] = {}
        self._searcher = subprocess.Popen(
            [sys.executable, str(HERE / "peers" / "agent_search.py"), str(self.folder), str(HITS)],
            env=built.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def search(self, query: str, page: int, budget: int) -> Shown:
        if query not in self._answers:
            self._answers[query] = self._ask(query)
        response = self._answers[query]
        hits, at = response["found"], 0
        for _ in range(page + 1):
            blocks, passages, left = [], [], budget * CHARACTERS_PER_TOKEN
            while at < len(hits):
                block, passage, whole = self._block(hits[at], left)
                if block is None or not (whole or not blocks):
                    break
                blocks.append(block)
                passages.append(passage)
                left -= len(block) + 1
                at += 1
        notes = response["notes"] if page == 0 else []
        abstained = any("nothing here answers" in note for note in notes)
        return Shown("\n".join([*blocks, *notes]), tuple(passages), abstained)

    def _block(self, hit: dict[str, Any], room: int) -> tuple[str | None, Passage, bool]:
        """A hit as it is shown, cut at the end of a line if there is too little room; and whether it is whole."""
        about = hit["metadata"]
        file = str(Path(hit["path"]).relative_to(self.folder))
        first, last = about.get("line_start", 1), about.get("line_end", about.get("line_start", 1))
        heading = " > ".join(str(about[key]) for key in ("title", "section") if about.get(key))
        lines = hit["text"].split("\n")
        count = len(lines)
        while lines:
            end = min(last, first + len(lines) - 1)
            block = "\n".join([f"{file}:{first}-{end} {heading}".rstrip(), *lines])
            if len(block) < room:
                return block, Passage(file, first, end), len(lines) == count
            lines.pop()
        return None, Passage(file, first, first), False

    def get(self, passage: Passage, around: int) -> Shown:
        """The lines around a hit, with their numbers."""
        lines = lines_of(self.folder / passage.file)
        first, last = max(1, passage.first - around), min(len(lines), passage.last + around)
        return Shown(numbered(lines[first - 1 : last], first), (Passage(passage.file, first, last),))

    def _ask(self, query: str) -> Any:
        assert self._searcher.stdin is not None
        assert self._searcher.stdout is not None
        self._searcher.stdin.write(json.dumps(query) + "\n")
        self._searcher.stdin.flush()
        if not (line := self._searcher.stdout.readline()):
            raise Failed(f"the search process ended at {query!r}")
        return json.loads(line)

    def close(self) -> None:
        self._searcher.communicate()


def _lines(shown: Shown) -> list[tuple[str, Iterable[int]]]:
    if shown.lines is not None:
        return list(shown.lines)
    return [(passage.file, range(passage.first, passage.last + 1)) for passage in shown.passages]
