"""What the channels found for one query, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores

__all__ = ["Candidates", "Channel", "Found", "Pick", "union"]


class Found(NamedTuple):
    """What one channel returned, best first, and whether it has no more."""

    refs: Refs
    scores: Scores
    exhausted: bool


class Pick(NamedTuple):
    """A record that was chosen, its score, and where that comes from.

    ``channels`` has each channel's ``rank`` (``None`` if it did not return the record) and raw ``score``, ``shares``
    what each added to the fused score if somebody asked, ``boosts`` what changed that afterwards.
    """

    ref: int
    score: float
    channels: dict[str, dict[str, Any]]
    shares: Mapping[str, float]
    boosts: Mapping[str, float]


@dataclass
class Channel:
    """One channel's view of the candidates.

    ``ranks`` counts from 1 and is 0 where the channel did not return the record; ``scores`` is the raw score, looked
    up where the rank is 0 if ``completed``, else 0 there.
    """

    ranks: NDArray[np.int64]
    scores: NDArray[np.floating[Any]]
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
        """No others than those at the places, in that order."""
        channels = {
            name: Channel(channel.ranks[places], channel.scores[places], channel.exhausted, channel.completed)
            for name, channel in self.channels.items()
        }
        shares = {name: share[places] for name, share in self.shares.items()}
        return Candidates(self.refs[places], channels, self.scores[places], shares)

    def with_more(self, others: Candidates) -> Candidates:
        """These and others, which the same channels looked at."""
        channels = {
            name: Channel(
                np.concatenate([channel.ranks, others.channels[name].ranks]),
                np.concatenate([channel.scores, others.channels[name].scores]),
                channel.exhausted,
                channel.completed,
            )
            for name, channel in self.channels.items()
        }
        shares = {name: np.concatenate([share, others.shares[name]]) for name, share in self.shares.items()}
        return Candidates(
            np.concatenate([self.refs, others.refs]), channels, np.concatenate([self.scores, others.scores]), shares
        )

    def picked(self, places: Sequence[int], boosts: Mapping[int, Mapping[str, float]]) -> list[Pick]:
        """The candidates at those places, as values; ``boosts`` by the number of the record."""
        channels: list[dict[str, dict[str, Any]]] = [{} for _ in places]
        at = np.array(places, dtype=np.int64)
        for name, channel in self.channels.items():
            ranks, scores = channel.ranks[at].tolist(), channel.scores[at].tolist()
            for found, rank, score in zip(channels, ranks, scores, strict=True):
                if rank or channel.completed:
                    found[name] = {"rank": rank or None, "score": score}
        refs, totals = self.refs[at].tolist(), self.scores[at].tolist()
        return [
            Pick(
                ref,
                total,
                found,
                {name: float(share[place]) for name, share in self.shares.items()},
                boosts.get(ref, {}),
            )
            for place, ref, total, found in zip(places, refs, totals, channels, strict=True)
        ]

    def order(self) -> NDArray[np.int64]:
        """Positions best first; ties by ref, so that the same search gives the same list."""
        return np.lexsort((self.refs, -self.scores))


def union(found: dict[str, Found]) -> Candidates:
    """The records of all channels."""
    if len(found) == 1:
        ((name, only),) = found.items()
        ranks = np.arange(1, len(only.refs) + 1)
        return Candidates(only.refs, {name: Channel(ranks, only.scores, only.exhausted, completed=True)})
    together = np.concatenate([channel.refs for channel in found.values()])
    together.sort()
    first = np.ones(len(together), dtype=np.bool_)
    np.not_equal(together[1:], together[:-1], out=first[1:])
    refs = together[first]
    channels = {}
    for name, channel in found.items():
        places = refs.searchsorted(channel.refs)
        ranks = np.zeros(len(refs), dtype=np.int64)
        scores = np.zeros(len(refs), dtype=np.float32)
        ranks[places] = np.arange(1, len(places) + 1)
        scores[places] = channel.scores
        channels[name] = Channel(ranks, scores, channel.exhausted)
    return Candidates(refs, channels)
