"""The candidates of one question, on their way from the channels to the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row, SearchHit, StageReport
from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.candidates import Candidates, Channel, Found, Pick
from ir.retrieve.channels import Question, complete
from ir.retrieve.fusion import DFLT_SATURATION, fuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs

    Positions = NDArray[np.int64]

__all__ = ["Pool"]


@dataclass
class Pool:
    """What the stages of a search hand on, and what a boost, an exit and an expansion are given.

    They read ``query``, ``options``, ``scores``, ``refs``, ``rows``, ``artifact_ids`` and ``hits``, which are all in
    the same order, and ``snapshot``: the version of the corpus, with its graph. Rows are read when they are first asked
    for. The rest belongs to the stages.
    """

    question: Question
    snapshot: Snapshot
    options: SearchOptions
    corpus: Any
    found: dict[str, Found]
    candidates: Candidates
    groups: NDArray[np.int64]
    kinds: Sequence[str]
    #: The places of the best, best first, once they are collapsed to artifacts.
    picks: list[int] = field(default_factory=list)
    #: What changed the score of a record after the fusion, by its number.
    changes: dict[int, dict[str, float]] = field(default_factory=dict)
    #: The hits that an expansion added to the best.
    expanded: list[SearchHit] = field(default_factory=list)
    #: Why the first stage's result was good enough; empty if it was not, or nobody looked.
    exited: str = ""
    stages: list[StageReport] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rerank_report: dict[str, Any] | None = None
    #: The BM25 score that counts half in a blend.
    saturation: float = DFLT_SATURATION
    #: The records that the search keeps to; ``None`` for all.
    among: Refs | None = None
    _rows: list[Row] | None = None

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def query(self) -> str:
        return self.question.text

    @property
    def refs(self) -> Refs:
        """The store's number of each candidate."""
        return self.candidates.refs

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each candidate so far."""
        return self.candidates.scores

    @property
    def rows(self) -> list[Row]:
        """The records themselves."""
        if self._rows is None:
            self._rows = self.snapshot.rows(self.refs)
        return self._rows

    @property
    def artifact_ids(self) -> list[str]:
        """The artifact of each candidate; several may be of the same."""
        return [row.artifact_id for row in self.rows]

    @property
    def hits(self) -> list[SearchHit]:
        """Each candidate as a hit with its score so far."""
        return [
            SearchHit.of_row(row, score, None, {}) for row, score in zip(self.rows, self.scores.tolist(), strict=True)
        ]

    @property
    def best(self) -> list[SearchHit]:
        """The hits that were picked, best first."""
        hits = self.hits
        return [hits[place] for place in self.picks]

    def narrow(self, places: Positions) -> None:
        """Keep no others than the candidates at those places, in that order."""
        self.candidates = self.candidates.at(places)
        self.groups = self.groups[places]
        self.kinds = [self.kinds[place] for place in places.tolist()]
        self._rows = None

    def add(self, refs: Refs, *, scored: bool = False) -> int:
        """Take in records that no channel returned, behind all others; how many they are.

        What brought them here has to lift them: they score as the last of those that were found, or, if they are to be
        ``scored`` and the fusion has a scale for it, less if they deserve less.
        """
        fresh = np.setdiff1d(refs, self.refs)
        if not len(fresh):
            return 0
        held, count = self.candidates, len(fresh)
        more = Candidates(
            fresh,
            {
                name: Channel(np.zeros(count, np.int64), np.zeros(count, channel.scores.dtype), channel.exhausted)
                for name, channel in held.channels.items()
            },
            np.full(count, held.scores.min() if len(held) else 0.0),
            {name: np.zeros(count) for name in held.shares},
        )
        for name in more.channels:
            complete(self.snapshot, self.question, more, name)
        if scored and (len(more.channels) == 1 or self.options.fusion == "blend"):
            last = more.scores
            fuse(more, self.options, self.saturation)
            more.scores = np.minimum(more.scores, last)
        self.candidates = held.with_more(more)
        self.groups, self.kinds = self.snapshot.grouping(self.refs)
        self._rows = None
        return count

    def hold(self, rows: Sequence[Row]) -> None:
        """Take rows of somebody who has them, so that they are not read."""
        self._rows = list(rows)

    def change(self, name: str, values: NDArray[np.float64]) -> None:
        """Remember, for those who ask why, what ``name`` did to each score; nothing for a candidate with 0."""
        for place in np.flatnonzero(values).tolist():
            self.changes.setdefault(int(self.refs[place]), {})[name] = float(values[place])

    def picked(self) -> list[Pick]:
        """The best as values."""
        return self.candidates.picked(self.picks, self.changes)
