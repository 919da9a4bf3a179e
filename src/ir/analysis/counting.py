"""How often each text holds each of its terms, for many texts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Column", "Counted", "counted", "stretches"]

_MOST_IN_HALF = 2**31 - 1


class Counted(NamedTuple):
    """Each different term of each text once: the text's place, the term's number, and how often it comes there.

    Ordered by text, then by number. ``lengths`` has how many terms each text has, repeated ones counted.
    """

    texts: Integers
    terms: Integers
    counts: Integers
    lengths: Integers


def counted(numbered: Sequence[NDArray[np.integer[Any]]]) -> Counted:
    """Count the terms of texts, each given as the numbers of its terms.

    >>> counted([np.array([7, 5, 7]), np.array([], int), np.array([5])])._asdict()
    {'texts': array([0, 0, 2]), 'terms': array([5, 7, 5]), 'counts': array([1, 2, 1]), 'lengths': array([3, 0, 1])}
    """
    lengths = np.array([len(numbers) for numbers in numbered], np.int64)
    flat = np.concatenate([*numbered, np.empty(0, np.int64)])
    width = int(flat.max(initial=0)) + 1
    # Sorting numbers of half the size takes half the time.
    size = np.int32 if len(numbered) * width <= _MOST_IN_HALF else np.int64
    pairs: NDArray[Any] = np.repeat(np.arange(0, len(numbered) * width, width, dtype=size), lengths)
    pairs += flat.astype(size)
    pairs.sort()
    # For one short text, np.diff with an edge would take longer than all the rest.
    changes = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=changes[1:])
    firsts = changes.nonzero()[0]
    counts = np.full(len(firsts), len(pairs))
    counts[:-1] = firsts[1:]
    counts -= firsts
    texts, terms = np.divmod(pairs[firsts], size(width))
    return Counted(texts.astype(np.int64), terms.astype(np.int64), counts, lengths)


def stretches(starts: Integers, sizes: Integers) -> Integers:
    """The places ``start, start + 1, …`` of many stretches of an array, one stretch after the other.

    >>> stretches(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    before = np.cumsum(sizes) - sizes
    places = np.repeat(starts - before, sizes)
    places += np.arange(len(places))
    return places


class Column:
    """An array that can be appended to without being copied each time."""

    def __init__(self, kind: type[np.generic], values: Sequence[int] = ()) -> None:
        self._room = np.array(values, kind)
        self._used = len(values)

    def __len__(self) -> int:
        return self._used

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._used]

    def append(self, values: NDArray[Any]) -> None:
        used = self._used + len(values)
        if used > len(self._room):
            room = np.empty(max(used, 2 * len(self._room)), self._room.dtype)
            room[: self._used] = self.values
            self._room = room
        self._room[self._used : used] = values
        self._used = used
