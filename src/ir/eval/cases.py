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
#: What a line may say about a case.
_KEYS = frozenset({"query", "gold", "corpus", "source_id", "metadata"})


@dataclass(frozen=True)
class DiscoveryCase:
    """A query and its ``gold``: the ids of all artifacts that answer it.

    An empty ``gold`` makes it an *abstention case*: the corpus should not answer at all. ``source_id`` is the
    artifact that the query was made from, if it was.

    >>> DiscoveryCase("turn a pdf into text", "pdf-reader").gold
    ('pdf-reader',)
    """

    query: str
    gold: tuple[str, ...] = ()
    corpus: str | None = None
    source_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise InvalidInput(f"A case needs a query of at least one character, not {self.query!r}.")
        object.__setattr__(self, "gold", _ids(self.gold))

    @property
    def gold_is_none(self) -> bool:
        """Whether the right answer is to abstain."""
        return not self.gold

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"query": self.query, "gold": list(self.gold)}
        if self.corpus is not None:
            out["corpus"] = self.corpus
        if self.source_id is not None:
            out["source_id"] = self.source_id
        if self.metadata:
            out["metadata"] = json_clean(self.metadata)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DiscoveryCase:
        """The case that :meth:`to_dict` described; a scalar ``gold`` is one id, ``null`` is none."""
        if "query" not in data:
            raise InvalidInput(f"A case needs the key 'query'; it has {sorted(map(str, data))}.")
        metadata = data.get("metadata") or {}
        if not isinstance(metadata, Mapping):
            raise InvalidInput(f"The metadata of a case must be a mapping, not {metadata!r}.")
        return cls(
            query=data["query"],
            gold=data.get("gold") or (),
            corpus=data.get("corpus"),
            source_id=data.get("source_id"),
            metadata=dict(metadata),
        )


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


def save_cases(cases: Iterable[DiscoveryCase], path: str | Path, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write cases as JSON lines; ``meta``, if given, becomes a first line ``{"__meta__": {...}}``."""
    lines = [] if meta is None else [json.dumps({META: json_clean(meta)}, ensure_ascii=False)]
    lines.extend(json.dumps(case.to_dict(), ensure_ascii=False) for case in cases)
    write_lines(path, lines)


def load_cases(path: str | Path) -> list[DiscoveryCase]:
    """Read cases from JSON lines. A broken line is an error that names the file and the line.

    A line with other keys instead of ``gold`` is a case without an answer like any other, but warned about.
    """
    cases = []
    instead: list[list[str]] = []
    for where, data in read_jsonl(path):
        if META in data:
            continue
        try:
            cases.append(DiscoveryCase.from_dict(data))
        except InvalidInput as error:
            raise InvalidInput(f"{where}: {error.message}", remedy="Correct or remove the line.") from None
        if "gold" not in data and not data.keys() <= _KEYS:
            instead.append(sorted(data.keys() - _KEYS))
    if instead:
        found = ", ".join(dict.fromkeys(repr(key) for keys in instead for key in keys))
        _warn(
            f"{len(instead)} of {len(cases)} cases in {path} have no 'gold' but {found}, and count as cases without an "
            f"""answer. The right ids stand under "gold": {{"query": "…", "gold": ["ID"]}}."""
        )
    return cases


def _warn(message: str) -> None:
    import warnings

    warnings.warn(message, UserWarning, stacklevel=3)


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

    >>> to_qrels([DiscoveryCase("off topic"), DiscoveryCase("on topic", "a")])
    ({'q00001': 'on topic'}, {'q00001': {'a': 1.0}})
    """
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, float]] = {}
    for position, case in enumerate(cases):
        if not case.gold_is_none:
            queries[case_id(position)] = case.query
            qrels[case_id(position)] = dict.fromkeys(case.gold, grade)
    return queries, qrels
