"""How good is a table? Asked of texts that it did not learn from, without any evaluation collection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from distil.train import counted, unit

Floats = NDArray[np.float32]


class Judge:
    """Two questions about texts that were kept back.

    *halves*: of all second halves, how high does a text's own stand for its first half (mean reciprocal rank)?
    *nearest*: how many of a text's ten nearest are among the teacher's ten nearest?
    """

    def __init__(self, texts: Sequence[str], targets: Floats, pieces: Sequence[str]) -> None:
        long = [text.split() for text in texts if len(text.split()) >= 12]
        self._whole = counted(texts, pieces)
        self._first = counted([" ".join(words[: len(words) // 2]) for words in long], pieces)
        self._second = counted([" ".join(words[len(words) // 2 :]) for words in long], pieces)
        self._wanted = _nearest(targets)

    def __call__(self, table: Floats) -> dict[str, float]:
        first, second = (unit(counts @ table) for counts in (self._first, self._second))
        scores = first @ second.T
        ranks = (scores > scores.diagonal()[:, None]).sum(axis=1) + 1
        found = _nearest(unit(self._whole @ table))
        shared = [len(set(ours) & set(theirs)) / 10 for ours, theirs in zip(found, self._wanted, strict=True)]
        return {"halves": float((1 / ranks).mean()), "nearest": float(np.mean(shared))}


def _nearest(rows: Floats) -> NDArray[np.int64]:
    scores = rows @ rows.T
    np.fill_diagonal(scores, -1)
    return np.argpartition(-scores, 10, axis=1)[:, :10]


def rarity(counts: csr_matrix) -> Floats:
    """The inverse document frequency of each piece, 1 on average over the pieces of texts."""
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    found = np.log((counts.shape[0] + 1) / (documents + 1)) + 1
    return (found / np.average(found, weights=documents + 1e-9)).astype(np.float32)
