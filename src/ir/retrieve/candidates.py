"""What the channels found for one query, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Ranking, Refs

__all__ = ["Candidates", "Channel", "union"]


@dataclass
class Channel:
    """One channel's view of the candidates.

    ``ranks`` counts from 1 and is 0 where the channel did not return the record; ``scores`` is the raw score, looked
    up where the rank is 0 if ``completed``, else 0 there.
    """

    ranks: NDArray[np.int64]
    scores: NDArray[np.float32]
    exhausted: bool
    completed: bool = False


@dataclass
class Candidates:
    """Records in no particular order, with every channel's rank and score, and the fused score."""

    refs: Refs
    channels: dict[str, Channel]
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.refs)

    @property
    def exhausted(self) -> bool:
        """Whether no channel has more to give."""
        return all(channel.exhausted for channel in self.channels.values())

    def at(self, places: NDArray[np.int64]) -> Candidates:
        """Those at the given places only; not yet fused."""
        channels = {
            name: Channel(channel.ranks[places], channel.scores[places], channel.exhausted, channel.completed)
            for name, channel in self.channels.items()
        }
        return Candidates(self.refs[places], channels)

    def order(self) -> NDArray[np.int64]:
        """Positions best first; ties by ref, so that the same search gives the same list."""
        return np.lexsort((self.refs, -self.scores))


def union(rankings: dict[str, tuple[Ranking, bool]]) -> Candidates:
    """The records of all rankings, each given with whether it is exhausted."""
    if len(rankings) == 1:
        ((name, (ranking, exhausted)),) = rankings.items()
        ranks = np.arange(1, len(ranking.refs) + 1)
        return Candidates(ranking.refs, {name: Channel(ranks, ranking.scores, exhausted, completed=True)})
    together = np.concatenate([ranking.refs for ranking, _ in rankings.values()])
    together.sort()
    first = np.ones(len(together), dtype=np.bool_)
    np.not_equal(together[1:], together[:-1], out=first[1:])
    refs = together[first]
    channels = {}
    for name, (ranking, exhausted) in rankings.items():
        places = refs.searchsorted(ranking.refs)
        ranks = np.zeros(len(refs), dtype=np.int64)
        scores = np.zeros(len(refs), dtype=np.float32)
        ranks[places] = np.arange(1, len(places) + 1)
        scores[places] = ranking.scores
        channels[name] = Channel(ranks, scores, exhausted)
    return Candidates(refs, channels)
