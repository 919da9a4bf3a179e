"""How meaning and words become one ranking: the options of the hybrid part of a query."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ir.errors import InvalidInput
from ir.options import choice, count

__all__ = ["FUSIONS", "HybridQueryOptions"]

FUSIONS = ("reciprocal", "distribution")


@dataclass(frozen=True)
class HybridQueryOptions:
    """A query without these options goes by meaning alone.

    ``sparse_top_k`` and ``dense_top_k`` are how many each side is asked for, ``rrf_k`` the constant of reciprocal
    ranks, ``weights`` what the dense and the keyword side count. From ``bm_saturation_threshold`` on, the best keyword
    score of a short query makes the reranker needless; ``None``: nobody measured it, so the reranker is always asked.

    >>> HybridQueryOptions(rrf_k=0)
    Traceback (most recent call last):
    ...
    ir.errors.InvalidInput: rrf_k must be a whole number of at least 1, not 0.
    """

    enable_keyword: bool = True
    sparse_top_k: int = 50
    dense_top_k: int = 50
    rrf_k: int = 60
    bm_saturation_threshold: float | None = None
    fusion: str = "reciprocal"
    weights: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.enable_keyword, bool):
            raise InvalidInput(f"enable_keyword must be true or false, not {self.enable_keyword!r}.")
        for name in ("sparse_top_k", "dense_top_k", "rrf_k"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        choice("fusion", self.fusion, FUSIONS)
        threshold = self.bm_saturation_threshold
        if threshold is not None and not _is_number(threshold):
            raise InvalidInput(f"bm_saturation_threshold must be a number of at least 0, not {threshold!r}.")
        if self.weights is not None and (len(self.weights) != 2 or not all(map(_is_number, self.weights))):
            raise InvalidInput(f"weights must be two numbers of at least 0, not {self.weights!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0
