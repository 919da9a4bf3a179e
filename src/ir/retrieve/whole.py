"""Everything in one version of a corpus at once: what scales over the whole of it, routes by it or names it.

It is read once for a version and kept with the open corpus. That suits books and handbooks; above
:data:`MOST_RECORDS` it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ir.base import Row
from ir.errors import CorpusBusy, InvalidInput
from ir.filters import matches
from ir.options import WHOLE_ALPHA
from ir.protocols import Snapshot, Where
from ir.retrieve.bm25 import Bm25
from ir.retrieve.candidates import Candidates, Channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs
    from ir.retrieve.channels import Question

    Scores = NDArray[np.float64]

__all__ = ["MOST_RECORDS", "Whole", "combined", "kept", "min_max", "rows_of", "whole_candidates", "whole_of"]

#: More records than this are not read into memory for a search.
MOST_RECORDS = 50_000
_BATCH = 5_000
_Value = TypeVar("_Value")


@dataclass
class Whole:
    """The records of a version in corpus order: that in which the store lists them, as they were written."""

    refs: Refs
    rows: Sequence[Row]
    #: What others derive from it and keep beside it.
    derived: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def bm25(self) -> Bm25:
        return Bm25([row.text for row in self.rows])

    @cached_property
    def places(self) -> dict[int, int]:
        """Where each ref is."""
        return {int(ref): place for place, ref in enumerate(self.refs.tolist())}

    @cached_property
    def of_artifact(self) -> dict[str, list[int]]:
        """The places of each artifact's records."""
        places: dict[str, list[int]] = {}
        for place, row in enumerate(self.rows):
            places.setdefault(row.artifact_id, []).append(place)
        return places

    @cached_property
    def of_record(self) -> dict[str, int]:
        return {row.id: place for place, row in enumerate(self.rows)}

    def passing(self, where: Where) -> NDArray[np.bool_]:
        """Which records a search may return."""
        return np.array(
            [
                (where.kinds is None or row.surface_kind in where.kinds)
                and (where.filter is None or matches(where.filter, row.metadata))
                for row in self.rows
            ],
            dtype=np.bool_,
        )


def kept(corpus: Any, snapshot: Snapshot, name: str, make: Callable[[], _Value]) -> _Value:
    """What was made of this version of a corpus; it is made again for another version."""
    held: dict[str, tuple[str, Any]] = getattr(corpus, "derived", None) or {}
    version = snapshot.version
    if name in held and held[name][0] == version:
        return held[name][1]  # type: ignore[no-any-return]
    made = make()
    if hasattr(corpus, "derived"):
        corpus.derived[name] = (version, made)
    return made


def whole_of(corpus: Any, snapshot: Snapshot, what: str) -> Whole:
    """All records of the snapshot; ``what`` needs them, for the error of a corpus that is too large."""
    if len(snapshot) > MOST_RECORDS:
        raise InvalidInput(
            f"{what} reads the whole corpus, and {corpus.name!r} has {len(snapshot):,} records; "
            f"at most {MOST_RECORDS:,} are read.",
            remedy="Search it with fusion='minmax', which scales over the candidates, or without that option.",
        )
    return kept(corpus, snapshot, "whole", lambda: _read(corpus, snapshot))


def _read(corpus: Any, snapshot: Snapshot) -> Whole:
    ids = corpus.store.record_ids()
    known: dict[str, int] = {}
    for at in range(0, len(ids), _BATCH):
        known |= snapshot.refs_of(ids[at : at + _BATCH])
    found = [known[record] for record in ids if record in known]
    if len(found) != len(snapshot):
        raise CorpusBusy(
            f"The corpus {corpus.name!r} was written to while it was read.", remedy="Search it again in a moment."
        )
    refs = np.array(found, dtype=np.int64)
    rows = [row for at in range(0, len(refs), _BATCH) for row in snapshot.rows(refs[at : at + _BATCH])]
    return Whole(refs, rows)


def whole_candidates(corpus: Any, snapshot: Snapshot, question: Question, alpha: float) -> Candidates:
    """Every record with both scores, each scaled by its smallest and largest over the whole corpus.

    A filter drops records afterwards: what is left scores as it would without the filter.
    """
    whole = whole_of(corpus, snapshot, "fusion='minmax_corpus'")
    lexical = whole.bm25.scores(question.words)
    dense = np.zeros(len(whole.refs))
    if question.vector is not None and question.vector.any():
        dense = question.dense_scores(snapshot, whole.refs).astype(np.float64)
    shares = _shares(lexical, dense, alpha)
    channels = {
        "dense": Channel(_ranks(dense), dense, True, True),
        "lexical": Channel(np.where(lexical > 0, _ranks(lexical), 0), lexical, True, True),
    }
    found = Candidates(
        whole.refs, channels, shares["dense"] + shares["lexical"], shares, ties=np.arange(len(whole.refs))
    )
    return found if question.where.everything else found.at(np.flatnonzero(whole.passing(question.where)))


def rows_of(corpus: Any, snapshot: Snapshot, refs: Refs) -> list[Row]:
    """The rows of candidates that :func:`whole_candidates` gave."""
    whole = whole_of(corpus, snapshot, "fusion='minmax_corpus'")
    return [whole.rows[whole.places[ref]] for ref in refs.tolist()]


def _ranks(scores: Scores) -> NDArray[np.int64]:
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def min_max(scores: Scores) -> Scores:
    """Scores from 0 to 1; all 0 where all are equal."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return np.zeros(len(scores)) if high == low else (scores - low) / (high - low)


def _shares(lexical: Scores, semantic: Scores, alpha: float) -> dict[str, Scores]:
    return {"dense": alpha * min_max(semantic), "lexical": (1.0 - alpha) * min_max(lexical)}


def combined(lexical: Sequence[float] | Scores, semantic: Sequence[float] | Scores) -> Scores:
    """
    >>> combined([2, 0, 1, 4], [0.9, 0.5, 0.7, 0.1]).round(4).tolist()
    [0.8, 0.3, 0.55, 0.4]
    """
    first, second = np.asarray(lexical, dtype=np.float64), np.asarray(semantic, dtype=np.float64)
    if first.shape != second.shape:
        raise InvalidInput(
            f"There are {len(first)} lexical and {len(second)} semantic scores; both are of all passages."
        )
    shares = _shares(first, second, WHOLE_ALPHA)
    return shares["dense"] + shares["lexical"]
