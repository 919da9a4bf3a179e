"""What a phrase means, by one embedder or several: the nearest surfaces, and the nearest definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.ground.channels import Answer, Lookup
from ir.ground.nearest import Nearest
from ir.ground.surfaces import Surfaces
from ir.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

__all__ = ["Meaning", "embedded"]

_BATCH = 4096


def embedded(embedder: Embedder, texts: Sequence[str], input_type: str = "document") -> NDArray[np.float16]:
    """One half-precision row for each text; equal texts are embedded once."""
    distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    words = list(distinct)
    batches = (words[first : first + _BATCH] for first in range(0, max(1, len(words)), _BATCH))
    rows = np.concatenate([np.asarray(embedder(batch, input_type=input_type), np.float16) for batch in batches])
    return rows[[distinct[text] for text in texts]] if len(words) < len(texts) else rows


class Meaning:
    """The mean cosine over embedders: to the best surface of a term, or to its definition."""

    def __init__(
        self, name: str, embedders: Sequence[Embedder], rows: Sequence[Nearest], surfaces: Surfaces | None
    ) -> None:
        self.name = name
        self._embedders = embedders
        self._rows = rows
        self._surfaces = surfaces

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        texts = [lookup.folded for lookup in lookups]
        vectors = [np.asarray(embedder(texts, input_type="query"), np.float32) for embedder in self._embedders]
        return list(zip(*vectors, strict=True)) if texts else []

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        return _Meant(self._rows, prepared, self._surfaces, lookup.hidden)

    def save(self, folder: Path) -> None:
        for number, rows in enumerate(self._rows):
            rows.save(folder, f"{self.name}-{number}")


class _Meant:
    def __init__(
        self, rows: Sequence[Nearest], vectors: Sequence[Floats], surfaces: Surfaces | None, hidden: int
    ) -> None:
        self._rows = rows
        self._vectors = vectors
        self._surfaces = surfaces
        self._hidden = hidden

    def best(self, depth: int) -> Numbers:
        found = [
            rows.best(vector[None], depth if self._surfaces is None else 2 * depth)[0][0]
            for rows, vector in zip(self._rows, self._vectors, strict=True)
            if vector.any()
        ]
        if not found:
            return np.zeros(0, np.int64)
        numbers = np.concatenate(found)
        numbers = numbers[numbers != self._hidden] if self._surfaces is not None else numbers
        return np.unique(numbers if self._surfaces is None else self._surfaces.owners[numbers]).astype(np.int64)

    def scores(self, terms: Numbers) -> Floats:
        total = np.zeros(len(terms), np.float32)
        for rows, vector in zip(self._rows, self._vectors, strict=True):
            total += self._cosines(rows, vector, terms)
        return total / np.float32(max(1, len(self._rows)))

    def _cosines(self, rows: Nearest, vector: Floats, terms: Numbers) -> Floats:
        if self._surfaces is None or not len(terms):
            return rows.scores(vector, terms)
        numbers, offsets = self._surfaces.rows_of_terms(terms)
        scores = rows.scores(vector, numbers)
        if self._hidden >= 0:
            scores[numbers == self._hidden] = -1
        best: Floats = np.maximum.reduceat(scores, offsets)
        return np.maximum(best, 0)

    def why(self, term: int) -> str:
        if self._surfaces is None:
            return "definition"
        numbers, _ = self._surfaces.rows_of_terms(np.array([term]))
        total = sum(rows.scores(vector, numbers) for rows, vector in zip(self._rows, self._vectors, strict=True))
        return self._surfaces.texts[int(numbers[int(np.argmax(total))])]
