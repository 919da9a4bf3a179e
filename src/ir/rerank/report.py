"""What every reranker shares: a deadline, and a report of what it did."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ir.errors import RerankError

__all__ = ["DFLT_DEADLINE_MS", "Deadline", "RerankReport", "Reranked", "texts_of"]

DFLT_DEADLINE_MS = 1500
#: After this share of the time nothing new is begun, because what was begun takes a moment to finish.
_ENOUGH = 0.85


@dataclass(frozen=True)
class RerankReport:
    """One reranking: by what, how many segments, how long it took and how long it might have taken, in ms.

    ``scored`` are the first so many segments that were read in time; the rest have the lowest score. ``cost_usd`` is by
    the prices that were set, ``None`` if there are none; ``tokens`` is what the server told.
    """

    reranker: str
    segments: int
    ms: float
    deadline_ms: int
    scored: int
    cost_usd: float | None = None
    tokens: int | None = None

    @property
    def note(self) -> str | None:
        """What to tell about a reranking that is not whole."""
        if self.scored == self.segments:
            return None
        return (
            f"The reranker {self.reranker!r} read the best {self.scored} of {self.segments} candidates "
            f"within {self.deadline_ms} ms; the others follow in the order of the first stage."
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Reranked(list[float]):
    """Scores in the order of the segments, with the report of how they came about."""

    def __init__(self, scores: Iterable[float], report: RerankReport) -> None:
        super().__init__(scores)
        self.report = report


class Deadline:
    """The time that one reranking may take, from the moment this is made."""

    def __init__(self, reranker: str, segments: int, deadline_ms: int) -> None:
        self._began = time.perf_counter()
        self._reranker = reranker
        self._segments = segments
        self._deadline_ms = deadline_ms

    @property
    def ms(self) -> float:
        return (time.perf_counter() - self._began) * 1e3

    @property
    def left_s(self) -> float:
        return max(self._deadline_ms - self.ms, 0.0) / 1e3

    @property
    def near(self) -> bool:
        """Whether it is time to stop and use what there is."""
        return self.ms > self._deadline_ms * _ENOUGH

    def check(self) -> None:
        """Raise if the time is over."""
        if self.ms > self._deadline_ms:
            raise self.late()

    def late(self) -> RerankError:
        return RerankError(
            f"The reranker {self._reranker!r} did not finish {self._segments} segments within {self._deadline_ms} ms.",
            remedy="Rerank fewer candidates (fetch_k), or raise rerank.deadline_ms.",
        )

    def done(self, scores: Iterable[float], *, cost_usd: float | None = None, tokens: int | None = None) -> Reranked:
        """The scores of the first segments, or of all, with their report."""
        given = [float(score) for score in scores]
        report = RerankReport(self._reranker, self._segments, self.ms, self._deadline_ms, len(given), cost_usd, tokens)
        unread = [min(given, default=0.0)] * (self._segments - len(given))
        return Reranked(given + unread, report)


def texts_of(segments: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(segment.get("text") or "") for segment in segments]
