"""One space of vectors of a generation, opened for searching."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ir.protocols import Ranking
from ir.store.local.generation import SpaceInfo
from ir.store.local.segment import Narrowed, Segment, numbers_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

    Mask = NDArray[np.bool_]

__all__ = ["Space", "open_spaces"]


def open_spaces(folder: Path, infos: Mapping[str, SpaceInfo], rows: Refs, alive: Mask | None) -> dict[int, Space]:
    """Every space by its number."""
    return {int(number): Space(folder, info, rows, alive) for number, info in infos.items()}


class Space:
    """The vectors of one model. ``rows`` are the numbers of all records; a space may lack some of them.

    Which records pass a filter is said by place among ``rows``; each segment knows where its own stand there.
    """

    def __init__(self, folder: Path, info: SpaceInfo, rows: Refs, alive: Mask | None) -> None:
        self.dim = info["dim"] or None
        self.segments = [Segment(folder, one) for one in info["segments"]]
        self._rows = rows
        self._places = [_places(segment.numbers, rows) for segment in self.segments]
        self._alive = [_alive(where, alive, len(rows)) for where in self._places]
        # A single segment in which every record has its row, as nearly every space is, needs no looking.
        self._whole = (
            len(self._places) == 1 and isinstance(self._places[0], slice) and self.segments[0].count == len(rows)
        )

    def __len__(self) -> int:
        """How many records that are there have a vector."""
        return sum(
            segment.count if alive is None else int(np.count_nonzero(alive))
            for segment, alive in zip(self.segments, self._alive, strict=True)
        )

    def nearest(self, vector: Vector, limit: int, mask: Mask | None, narrowed: list[Narrowed | None] | None) -> Ranking:
        """The best of those that the mask lets pass; ``narrowed`` has their rows by themselves, if it pays."""
        refs, scores = [], []
        for at, segment in enumerate(self.segments):
            side_by_side = None if narrowed is None else narrowed[at]
            if side_by_side is not None:
                found, near = side_by_side.nearest(vector, limit)
            else:
                found, near = segment.nearest(vector, limit, self._passing(at, mask))
            if len(self.segments) == 1:
                return Ranking(segment.numbers[found], near)
            refs.append(segment.numbers[found])
            scores.append(near)
        merged = np.concatenate([*refs, np.empty(0, dtype=np.int64)])
        values = np.concatenate([*scores, np.empty(0, dtype=np.float32)])
        order = np.lexsort((merged, np.negative(values)))[:limit]
        return Ranking(merged[order], values[order])

    def scores(self, vector: Vector, refs: Refs) -> Scores:
        """The cosine of each given record; 0 for one without a vector."""
        if self._whole:
            segment = self.segments[0]
            return segment.scores(vector, segment.numbers.searchsorted(refs))
        out = np.zeros(len(refs), dtype=np.float32)
        for segment in self.segments:
            positions, inside = numbers_in(segment, refs)
            if inside.any():
                out[inside] = segment.scores(vector, positions[inside])
        return out

    def narrowed(self, mask: Mask) -> list[Narrowed | None]:
        """The rows that pass a filter by themselves, of each segment."""
        return [
            segment.narrowed(np.flatnonzero(_of(mask, where)))
            for segment, where in zip(self.segments, self._places, strict=True)
        ]

    def _passing(self, at: int, mask: Mask | None) -> Mask | None:
        return self._alive[at] if mask is None else _of(mask, self._places[at])


def _places(numbers: Refs, rows: Refs) -> slice | Refs:
    """Where some of the rows stand among all of them; as a stretch, if it is one.

    A number that is not there any more stands past all rows.
    """
    start = int(rows.searchsorted(numbers[0])) if len(numbers) else 0
    if np.array_equal(rows[start : start + len(numbers)], numbers):
        return slice(start, start + len(numbers))
    places = rows.searchsorted(numbers)
    there = places < len(rows)
    there[there] = rows[places[there]] == numbers[there]
    places[~there] = len(rows)
    return places


def _alive(places: slice | Refs, alive: Mask | None, rows: int) -> Mask | None:
    """Which of the rows at some places are there; ``None`` if all of them are."""
    if alive is not None:
        return _of(alive, places)
    return None if isinstance(places, slice) or not (places == rows).any() else places < rows


def _of(mask: Mask, places: slice | Refs) -> Mask:
    """The part of a mask over all rows that some of them have; what is past all rows does not pass."""
    return mask[places] if isinstance(places, slice) else np.append(mask, False)[places]
