"""Which terms come together: a row of TF-IDF for each term, reduced, to see what suits the rest of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.ground.channels import Answer, Channel, Lookup, OverTerms
from ir.ground.nearest import unit_rows
from ir.ground.sparse import Sparse, truncated_svd
from ir.ground.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.ground.vocabulary import Vocabulary

    Floats = NDArray[np.float32]

__all__ = ["ContextModel"]

DFLT_RANK = 100


class ContextModel:
    """``names`` have rows. A row is the sum of the documents that hold its term: ``(1 + log count) · idf``, of length
    one, reduced by a truncated SVD and brought to length one again. A request goes the same way."""

    def __init__(self, names: Sequence[str], idf: Floats, directions: Floats, rows: Floats) -> None:
        self.names = names
        self.idf = idf
        self.directions = directions
        self.rows = rows
        self.row_of = {name: row for row, name in enumerate(names)}

    @classmethod
    def of(cls, documents: Iterable[Sequence[str]], *, rank: int = DFLT_RANK) -> ContextModel:
        """A model of bags of terms."""
        numbers: dict[str, int] = {}
        bags = [[numbers.setdefault(term, len(numbers)) for term in dict.fromkeys(bag)] for bag in documents]
        names = sorted(numbers)
        order = np.empty(len(names), np.int64)
        order[[numbers[name] for name in names]] = np.arange(len(names))
        sizes = np.fromiter(map(len, bags), np.int64, len(bags))
        flat = order[np.fromiter((term for bag in bags for term in bag), np.int64, int(sizes.sum()))]
        df = np.bincount(flat, minlength=len(names))
        idf = (np.log((1 + len(bags)) / (1 + df)) + 1).astype(np.float32)
        together = _together(flat, sizes, len(names), idf)
        if not len(names):
            return cls([], idf, np.zeros((0, 1), np.float32), np.zeros((0, 1), np.float32))
        directions = truncated_svd(together, rank)
        return cls(names, idf, directions, unit_rows(together @ directions))

    def request(self, weights: Mapping[str, float]) -> Floats | None:
        """The vector of a request: known terms with their weights; ``None`` if none of them is known."""
        total = np.zeros(self.directions.shape[1], np.float32)
        for name, weight in weights.items():
            row = self.row_of.get(name)
            if row is not None:
                total += np.float32(weight) * self.idf[row] * self.directions[row]
        norm = float(np.linalg.norm(total))
        return total / np.float32(norm) if norm > 0 else None

    def scores(self, request: Floats, names: Sequence[str]) -> list[float | None]:
        """The cosine of the request to each of these terms; ``None`` for one without a row."""
        rows = [self.row_of.get(name) for name in names]
        known = [row for row in rows if row is not None]
        cosines = iter((np.asarray(self.rows[known], np.float32) @ request).tolist() if known else ())
        return [None if row is None else next(cosines) for row in rows]

    def channel(self, vocabulary: Vocabulary) -> Channel:
        return _Context(self, vocabulary)

    def save(self, folder: Path) -> dict[str, Any]:
        Texts.of(list(self.names)).save(folder, "context_names")
        for part in ("idf", "directions", "rows"):
            np.save(folder / f"context_{part}.npy", getattr(self, part))
        return {"terms": len(self.names), "rank": int(self.directions.shape[1])}

    @classmethod
    def load(cls, folder: Path) -> ContextModel:
        parts = (np.load(folder / f"context_{part}.npy", mmap_mode="r") for part in ("idf", "directions", "rows"))
        return cls(list(Texts.load(folder, "context_names")), *parts)


def _together(flat: NDArray[np.int64], sizes: NDArray[np.int64], width: int, idf: Floats) -> Sparse:
    """How often each term stands with each, weighted and of length one by row."""
    pairs = np.repeat(sizes, sizes)
    left = np.repeat(flat, pairs)
    first = np.repeat(np.repeat(np.cumsum(sizes) - sizes, sizes), pairs)
    within = np.arange(len(left)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    right = flat[first + within] if len(left) else left
    keys, counts = np.unique(left * max(width, 1) + right, return_counts=True)
    rows, columns = keys // max(width, 1), keys % max(width, 1)
    values = ((1 + np.log(counts)) * idf[columns]).astype(np.float32)
    norms = np.sqrt(np.bincount(rows, values * values, minlength=width)).astype(np.float32)
    return Sparse.of(rows, columns, values / np.maximum(norms[rows], 1e-12), (width, width))


class _Context:
    """What suits the phrases that were asked together."""

    name = "context"

    def __init__(self, model: ContextModel, vocabulary: Vocabulary) -> None:
        self._model = model
        self._vocabulary = vocabulary
        found = [vocabulary.terms.find(name) for name in model.names]
        self._terms = np.array([-1 if at is None else at for at in found], np.int64)

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        surfaces = self._vocabulary.index.surfaces
        known: dict[str, float] = {}
        for lookup in lookups if len(lookups) <= 100 else ():  # more than that is no one's request
            for row in surfaces.rows_of(lookup.folded):
                if row != lookup.hidden:
                    known[self._vocabulary.terms.names[int(surfaces.owners[row])]] = 1.0
        request = self._model.request(known) if known else None
        scores = np.zeros(len(self._vocabulary), np.float32)
        if request is not None:
            held = self._terms >= 0
            scores[self._terms[held]] = np.maximum(np.asarray(self._model.rows, np.float32)[held] @ request, 0)
        rows = np.flatnonzero(scores)
        return [(scores, rows)] * len(lookups)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        return OverTerms(prepared[0], prepared[1], "context")
