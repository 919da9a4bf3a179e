"""Judgements that are made one by one, kept in a named set: a file of cases, and how it was changed.

What a person says while looking at results becomes a case as :mod:`ir.eval.cases` has it, so that everything that reads
cases reads a set. A query of which only wrong answers are known says nothing about what answers it: it is no case yet,
and waits in the first line of the file, where readers of cases pass it over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ir.config.files import file_lock, write_atomic
from ir.config.paths import cases_dir
from ir.errors import InvalidInput, NotFound, Remedy
from ir.eval.cases import META, DiscoveryCase, load_cases, load_meta
from ir.eval.files import read_jsonl

__all__ = [
    "NOTHING",
    "Change",
    "JudgedQuery",
    "JudgedSet",
    "Judgement",
    "changing",
    "open_set",
    "set_file",
    "set_names",
]

#: Stands for an item in the statement that nothing answers a query.
NOTHING = ""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ENDING = ".jsonl"
_WAITING = "undecided"
_NOTES = "notes"
#: So many changes of a set can be taken back.
_REMEMBERED = 1000


@dataclass(frozen=True)
class Judgement:
    """What somebody thinks of an item as an answer: a ``grade``, 0 if it is none, and perhaps why."""

    grade: int
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"grade": self.grade, "note": self.note}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Judgement | None:
        return None if data is None else cls(int(data["grade"]), data.get("note"))


@dataclass(frozen=True)
class Change:
    """One judgement as it was and as it is now; ``None`` where there is none. ``corpus`` is the one that was asked."""

    query: str
    item: str
    before: Judgement | None
    after: Judgement | None
    corpus: str | None = None

    def to_dict(self) -> dict[str, Any]:
        sides = {"before": self.before, "after": self.after}
        told = {name: None if side is None else side.to_dict() for name, side in sides.items()}
        return {"query": self.query, "item": self.item, **told, "corpus": self.corpus}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Change:
        before, after = (Judgement.from_dict(data[side]) for side in ("before", "after"))
        return cls(data["query"], data["item"], before, after, data.get("corpus"))


@dataclass
class JudgedQuery:
    """A query with all that is said of it; ``case`` is what it was read from, with what judging does not touch."""

    case: DiscoveryCase
    judgements: dict[str, Judgement] = field(default_factory=dict)

    @property
    def query(self) -> str:
        return self.case.query

    @property
    def gold(self) -> tuple[str, ...]:
        return tuple(item for item, one in self.judgements.items() if one.grade > 0)

    @property
    def nothing_answers(self) -> bool:
        return NOTHING in self.judgements

    @property
    def decided(self) -> bool:
        """Whether it is known what a right answer is, be it that there is none."""
        return bool(self.gold) or self.nothing_answers

    def to_case(self) -> DiscoveryCase:
        graded = {item: one.grade for item, one in self.judgements.items() if item != NOTHING}
        notes = {item: one.note for item, one in self.judgements.items() if one.note}
        metadata = {name: value for name, value in self.case.metadata.items() if name != _NOTES}
        return replace(
            self.case,
            gold=self.gold,
            grades={} if set(graded.values()) <= {1} else graded,
            metadata={**metadata, **({_NOTES: notes} if notes else {})},
        )


class JudgedSet:
    """The queries of a set in the order in which they were first judged."""

    def __init__(self, name: str, queries: Iterable[JudgedQuery] = (), meta: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.queries: dict[str, JudgedQuery] = {}
        for one in queries:  # a query that a person wrote twice is judged once
            known = self.queries.setdefault(one.query, one)
            if known is not one:
                known.judgements.update(one.judgements)
        self.meta = dict(meta or {})

    @property
    def cases(self) -> list[JudgedQuery]:
        """Those that are cases."""
        return [one for one in self.queries.values() if one.decided]

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora that were asked, where that is known."""
        return tuple(sorted({one.case.corpus for one in self.queries.values() if one.case.corpus}))

    def judge(self, query: str, item: str, now: Judgement | None, *, corpus: str | None = None) -> list[Change]:
        """Say what an item is worth as an answer, or that nothing is said of it any more; what changed by that."""
        if item == NOTHING and now is not None and query in self.queries and self.queries[query].gold:
            raise InvalidInput(
                f"{self.queries[query].gold[0]!r} was judged to answer that, so something does.",
                remedy="Take that judgement away first.",
            )
        changes = [self._put(query, item, now, corpus)]
        if item != NOTHING and now is not None and now.grade > 0 and self.queries[query].nothing_answers:
            changes.append(self._put(query, NOTHING, None, corpus))
        return [change for change in changes if change.before != change.after]

    def _put(self, query: str, item: str, now: Judgement | None, corpus: str | None) -> Change:
        known = self.queries.get(query)
        if known is None:
            known = JudgedQuery(DiscoveryCase(query, corpus=corpus))
        if corpus is not None and known.case.corpus is None:
            known.case = replace(known.case, corpus=corpus)
        before = known.judgements.pop(item, None) if now is None else known.judgements.get(item)
        if now is not None:
            known.judgements[item] = now
        if known.judgements:
            self.queries[query] = known
        else:
            self.queries.pop(query, None)
        return Change(query, item, before, now, known.case.corpus)

    def take_back(self, changes: Iterable[Change]) -> list[Change]:
        """Make judgements what they were before some changes, unless somebody has changed them since."""
        changes = list(changes)
        for change in changes:
            known = self.queries.get(change.query)
            if (None if known is None else known.judgements.get(change.item)) != change.after:
                raise InvalidInput(
                    f"What was said of {change.item or 'the query'!r} has been changed since.",
                    remedy="Take the later change back first, or judge it anew.",
                )
        return [self._put(change.query, change.item, change.before, change.corpus) for change in reversed(changes)]

    def lines(self) -> list[str]:
        """The set as a file of cases."""
        waiting = [
            {**one.to_case().to_dict(), "grades": {item: held.grade for item, held in one.judgements.items()}}
            for one in self.queries.values()
            if not one.decided
        ]
        meta = {**self.meta, "set": self.name, _WAITING: waiting}
        dicts = [{META: meta}, *(one.to_case().to_dict() for one in self.cases)]
        return [json.dumps(one, ensure_ascii=False) for one in dicts]


def set_file(name: str) -> Path:
    """Where a set is kept; a name that could lead anywhere else is an error."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"A set of cases cannot be called {name!r}.",
            remedy="Use 1 to 64 letters, digits, dashes and underscores, not beginning with a dash.",
        )
    return cases_dir() / f"{name}{_ENDING}"


def set_names() -> list[str]:
    """The sets of the workspace."""
    folder = cases_dir()
    if not folder.is_dir():
        return []
    return sorted(path.stem for path in folder.glob(f"*{_ENDING}") if _NAME.fullmatch(path.stem))


def open_set(name: str) -> JudgedSet:
    """The set of that name as it is now; one that is not there is an error."""
    path = set_file(name)
    if not path.is_file():
        told = Remedy("`ir judged-sets` lists them.", agent="The operation `judged-sets` lists them.")
        raise NotFound(f"There is no set of cases called {name!r}.", remedy=told)
    return _read(name, path)


def _read(name: str, path: Path) -> JudgedSet:
    if not path.is_file():
        return JudgedSet(name)
    meta = load_meta(path)
    waiting = meta.pop(_WAITING, [])
    known = [_judged(case) for case in load_cases(path)]
    return JudgedSet(name, [*known, *(_undecided(one) for one in waiting)], meta)


def _judged(case: DiscoveryCase) -> JudgedQuery:
    grades = case.judgements
    if case.gold_is_none:
        grades[NOTHING] = 0
    return _noted(case, grades)


def _undecided(data: Mapping[str, Any]) -> JudgedQuery:
    return _noted(DiscoveryCase.from_dict({**data, "gold": []}), data.get("grades") or {})


def _noted(case: DiscoveryCase, grades: Mapping[str, int]) -> JudgedQuery:
    notes = case.metadata.get(_NOTES)
    said = notes if isinstance(notes, Mapping) else {}
    return JudgedQuery(case, {item: Judgement(grade, said.get(item)) for item, grade in grades.items()})


@contextmanager
def changing(name: str) -> Iterator[ChangingSet]:
    """A set that is to be changed, held for this process alone; it is written when the block ends without an error."""
    path = set_file(name)
    with file_lock(path):
        held = ChangingSet(_read(name, path), _History(path.with_suffix(".changes")))
        yield held
        held.write(path)


class ChangingSet:
    """A set together with its history."""

    def __init__(self, judged: JudgedSet, history: _History) -> None:
        self.judged = judged
        self.history = history
        #: The number by which what was done now can be taken back; ``None`` if nothing was.
        self.number: int | None = None

    def record(self, changes: list[Change], *, by: str = "") -> None:
        """Remember what was done."""
        if changes:
            self.number = self.history.add(changes, by)

    def undo(self, number: int | None, *, by: str = "") -> list[Change]:
        """Take back the change of that number, or the latest that was not taken back yet."""
        found, changes = self.history.find(number, self.judged.name)
        done = self.judged.take_back(changes)
        self.number = self.history.add(done, by, undid=found)
        return done

    def write(self, path: Path) -> None:
        if self.number is None:
            return
        # The history first: a change that it has and the set has not is refused when somebody takes it back.
        self.history.write()
        if self.judged.queries:
            write_atomic(path, "".join(f"{line}\n" for line in self.judged.lines()))
        else:
            path.unlink(missing_ok=True)


class _History:
    """The latest changes of a set, numbered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[dict[str, Any]] = [entry for _, entry in read_jsonl(path)] if path.is_file() else []

    def add(self, changes: list[Change], by: str, *, undid: int | None = None) -> int:
        number = int(self._entries[-1]["change"]) + 1 if self._entries else 1
        at = datetime.now(UTC).isoformat(timespec="seconds")
        told = {"change": number, "at": at, "by": by, "undid": undid, "did": [one.to_dict() for one in changes]}
        self._entries.append(told)
        del self._entries[:-_REMEMBERED]
        return number

    def find(self, number: int | None, name: str) -> tuple[int, list[Change]]:
        undone = {entry.get("undid") for entry in self._entries}
        if number is None:
            found = [entry for entry in self._entries if not entry.get("undid") and entry["change"] not in undone]
        else:
            found = [entry for entry in self._entries if entry["change"] == number]
        if not found:
            told = "There is no change" if number is None else f"There is no change {number}"
            raise NotFound(f"{told} of {name!r} to take back.", remedy="Judging says the number of a change.")
        changes = [Change.from_dict(one) for one in found[-1]["did"]]
        return int(found[-1]["change"]), changes

    def write(self) -> None:
        write_atomic(self._path, "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in self._entries))
