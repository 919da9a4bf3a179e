"""Records and queries for the contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import analyzer_for, query_terms
from ir.base import Record
from ir.filters import parse_filter
from ir.protocols import Ranking, Snapshot, Store, Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

EVERYTHING = Where()


def made(
    record_id: str,
    text: str = "",
    vector: Sequence[float] = (1.0, 0.0, 0.0),
    *,
    artifact: str | None = None,
    kind: str = "document",
    index: int = 0,
    **metadata: Any,
) -> Record:
    """A record; its artifact is named after it unless another is given."""
    return Record(
        id=record_id,
        artifact_id=f"of {record_id}" if artifact is None else artifact,
        surface_kind=kind,
        surface_index=index,
        text=text or f"text of {record_id}",
        vector=np.array(vector, dtype=np.float32),
        metadata=metadata,
    )


def unit(*values: float) -> NDArray[np.float32]:
    """The values as a vector of length one."""
    vector = np.array(values, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def where(spec: Mapping[str, Any] | None = None, kinds: Iterable[str] | None = None) -> Where:
    """A restriction from a filter as users write it."""
    return Where(parse_filter(spec), None if kinds is None else frozenset(kinds))


def words(query: str, language: str = "english") -> dict[str, float]:
    """The analysed terms of a query."""
    return query_terms(analyzer_for(language), query)


def ids(snapshot: Snapshot, ranking: Ranking) -> list[str]:
    """The record ids of a ranking, best first."""
    return [row.id for row in snapshot.rows(ranking.refs)]


def found(store: Store, query: str, language: str = "english") -> list[str]:
    """The ids of the records that a lexical search finds, sorted."""
    with store.snapshot() as snapshot:
        return sorted(ids(snapshot, snapshot.lexical(words(query, language), 100, EVERYTHING)))


def scores_by_id(snapshot: Snapshot, ranking: Ranking) -> dict[str, float]:
    """The score of each found record."""
    return dict(zip(ids(snapshot, ranking), map(float, ranking.scores), strict=True))


def all_refs(snapshot: Snapshot, dim: int = 3) -> NDArray[np.int64]:
    """The refs of every record."""
    return snapshot.dense(unit(*[1.0] * dim), len(snapshot) + 1, EVERYTHING).refs
