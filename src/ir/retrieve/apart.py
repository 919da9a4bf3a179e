"""Several hits of one artifact, where they are apart: neighbours would show the same place twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ir.protocols import Snapshot

__all__ = ["Place", "places_of", "spread"]

_Item = TypeVar("_Item")
#: Rows are read so many at a time: most of the best are soon decided about.
_AHEAD = 32


class Place(NamedTuple):
    """Where a record stands in its artifact."""

    kind: str
    number: int

    def apart_from(self, other: Place) -> bool:
        """Whether there is something between the two. Surfaces of two kinds tell of the same thing in two ways."""
        return self.kind == other.kind and abs(self.number - other.number) > 1


def spread(
    ordered: Sequence[_Item],
    k: int,
    each: int,
    *,
    group: Callable[[_Item], Hashable],
    place: Callable[[int], Place],
) -> list[_Item]:
    """The first ``k`` of a list, of each group no more than ``each``, and those apart.

    ``place`` is asked with the number of the item in the list, and only where a group comes again.
    """
    kept: list[_Item] = []
    held: dict[Hashable, list[int]] = {}
    for number, item in enumerate(ordered):
        others = held.setdefault(group(item), [])
        if others and (len(others) >= each or not all(place(number).apart_from(place(one)) for one in others)):
            continue
        others.append(number)
        kept.append(item)
        if len(kept) == k:
            break
    return kept


def places_of(snapshot: Snapshot, refs: Sequence[int]) -> Callable[[int], Place]:
    """Where the records of some refs stand, read when it is first asked."""
    known: dict[int, Place] = {}

    def place(number: int) -> Place:
        if number not in known:
            wanted = [one for one in range(number, min(number + _AHEAD, len(refs))) if one not in known]
            rows = snapshot.rows(np.array([refs[one] for one in wanted], dtype=np.int64))
            for one, row in zip(wanted, rows, strict=True):
                known[one] = Place(row.surface_kind, row.surface_index)
        return known[number]

    return place
