"""Cases: a query and the artifacts that answer it, or the statement that none does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.base import json_clean
from ir.errors import InvalidInput
from ir.eval.files import read_jsonl, write_lines

__all__ = ["DiscoveryCase", "case_id", "load_cases", "load_meta", "save_cases", "to_qrels"]

META = "__meta__"


@dataclass(frozen=True)
class DiscoveryCase:
    """A query and its ``gold``: the ids of all artifacts that answer it.

    An empty ``gold`` makes it an *abstention case*: the corpus should not answer at all. ``source_id`` is the
    artifact that the query was made from, if it was. ``grades`` say how well each answers, where somebody said so: a
    whole number above 0 for gold, which is 1 where nothing is said, and 0 for what was looked at and answers nothing.

    >>> DiscoveryCase("turn a pdf into text", "pdf-reader").gold
    ('pdf-reader',)
    >>> DiscoveryCase("turn a pdf into text", ("ocr", "pdf-reader"), grades={"pdf-reader": 3, "zip": 0}).judgements
    {'ocr': 1, 'pdf-reader': 3, 'zip': 0}
    """

    query: str
    gold: tuple[str, ...] = ()
    corpus: str | None = None
    source_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise InvalidInput(f"A case needs a query of at least one character, not {self.query!r}.")
        object.__setattr__(self, "gold", _ids(self.gold))
        object.__setattr__(self, "grades", _grades(self.grades, self.gold))

    @property
    def gold_is_none(self) -> bool:
        """Whether the right answer is to abstain."""
        return not self.gold

    @property
    def judgements(self) -> dict[str, int]:
        """The grade of everything that was judged."""
        return {**dict.fromkeys(self.gold, 1), **self.grades}

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"query": self.query, "gold": list(self.gold)}
        if self.grades:
            out["grades"] = dict(self.grades)
        if self.corpus is not None:
            out["corpus"] = self.corpus
        if self.source_id is not None:
            out["source_id"] = self.source_id
        if self.metadata:
            out["metadata"] = json_clean(self.metadata)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DiscoveryCase:
        """The case that :meth:`to_dict` described; a scalar ``gold`` is one id, ``[]`` or ``None`` says that none is.

        Without ``gold`` it is an error: ids under any other name would else be taken for the statement that there are
        none.
        """
        for key in ("query", "gold"):
            if key not in data:
                raise InvalidInput(_lacks(key, data))
        metadata = data.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            raise InvalidInput(f"The metadata of a case must be a mapping, not {metadata!r}.")
        return cls(
            query=data["query"],
            gold=data["gold"],
            corpus=data.get("corpus"),
            source_id=data.get("source_id"),
            metadata=dict(metadata),
            grades=data.get("grades") or {},
        )


def _lacks(key: str, data: Mapping[str, Any]) -> str:
    held = ", ".join(repr(str(name)) for name in sorted(data, key=str)) or "nothing"
    told = "; [] says that nothing answers it" if key == "gold" else ""
    return f"a case needs {key!r} (it has {held}){told}."


def _ids(gold: object) -> tuple[str, ...]:
    if gold is None:
        return ()
    items: Iterable[object] = [gold] if isinstance(gold, (str, int)) else gold  # type: ignore[assignment]
    try:
        given = list(items)
    except TypeError:
        raise InvalidInput(f"The gold of a case must be an id or a list of ids, not {gold!r}.") from None
    for item in given:
        if isinstance(item, bool) or not isinstance(item, (str, int)) or item == "":
            raise InvalidInput(f"The gold of a case must hold non-empty ids, not {item!r}.")
    return tuple(dict.fromkeys(str(item) for item in given))


def _grades(grades: object, gold: tuple[str, ...]) -> dict[str, int]:
    if not isinstance(grades, Mapping):
        raise InvalidInput(f"The grades of a case must be a mapping of ids to whole numbers, not {grades!r}.")
    for item, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, int) or grade < 0:
            raise InvalidInput(f"The grade of {item!r} must be a whole number of at least 0, not {grade!r}.")
        if (grade > 0) != (str(item) in gold):
            told = "is graded above 0 but is not" if grade else "is graded 0 but is"
            raise InvalidInput(f"{item!r} {told} among the gold of its case.")
    return {str(item): int(grade) for item, grade in grades.items()}


def save_cases(cases: Iterable[DiscoveryCase], path: str | Path, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write cases as JSON lines; ``meta``, if given, becomes a first line ``{"__meta__": {...}}``."""
    lines = [] if meta is None else [json.dumps({META: json_clean(meta)}, ensure_ascii=False)]
    lines.extend(json.dumps(case.to_dict(), ensure_ascii=False) for case in cases)
    write_lines(path, lines)


def load_cases(path: str | Path) -> list[DiscoveryCase]:
    """Read cases from JSON lines. A broken line is an error that names the file and the line."""
    cases = []
    for where, data in read_jsonl(path):
        if META in data:
            continue
        try:
            cases.append(DiscoveryCase.from_dict(data))
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error.message}", remedy="Correct or remove the line.") from None
    return cases


def load_meta(path: str | Path) -> dict[str, Any]:
    """The ``__meta__`` of a case file, empty if it has none."""
    for where, data in read_jsonl(path):
        if META not in data:
            return {}
        if not isinstance(data[META], dict):
            raise InvalidInput(f"{where}: {META!r} must be a mapping, not {data[META]!r}.")
        return dict(data[META])
    return {}


def case_id(position: int) -> str:
    """The query id of the case at ``position`` (from 0) of its list.

    >>> case_id(7)
    'q00007'
    """
    return f"q{position:05d}"


def to_qrels(
    cases: Sequence[DiscoveryCase], *, grade: float = 1.0
) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """Queries and judgements by query id; abstention cases are left out, and leave a gap in the numbering.

    Gold that was not graded has ``grade``.

    >>> to_qrels([DiscoveryCase("off topic"), DiscoveryCase("on topic", "a")])
    ({'q00001': 'on topic'}, {'q00001': {'a': 1.0}})
    """
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, float]] = {}
    for position, case in enumerate(cases):
        if not case.gold_is_none:
            queries[case_id(position)] = case.query
            qrels[case_id(position)] = {**dict.fromkeys(case.gold, grade), **case.grades}
    return queries, qrels
