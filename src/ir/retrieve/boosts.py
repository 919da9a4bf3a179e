"""What is added to the scores of a pool: functions of all its candidates, or of one hit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput
from ir.retrieve.pool import Pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_boost", "each_hit"]

#: A pool to a number for each of its candidates, in their order.
Boost = Callable[[Pool], Any]


def each_hit(boost: Any, option: str) -> Boost:
    """A function of one hit as a function of the pool; one that can look at all at once (``of_pool``) does."""
    whole: Boost | None = getattr(boost, "of_pool", None)
    if whole is not None:
        return whole

    def of_pool(pool: Pool) -> list[float]:
        return [_number(boost(hit), option) for hit in pool.hits]

    return of_pool


def add_boost(pool: Pool, boost: Boost, name: str | None = None) -> None:
    """Add to each score what a boost gives it; ``explain`` shows that as ``name``, else by the function's own name."""
    label = name or str(getattr(boost, "__name__", None) or type(boost).__name__)
    added = _checked(boost(pool), len(pool), label)
    pool.candidates.scores = pool.scores + added
    pool.change(label, added)


def _checked(answer: Any, count: int, label: str) -> NDArray[np.float64]:
    try:
        added = np.asarray(answer if isinstance(answer, np.ndarray) else list(answer), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The boost {label!r} returned {type(answer).__name__!r}; it must return a list with a number for each "
            "candidate of the pool."
        ) from error
    if added.shape != (count,):
        raise InvalidInput(
            f"The boost {label!r} returned {added.size} numbers for {count} candidates; it must return one for each."
        )
    if not np.isfinite(added).all():
        raise InvalidInput(f"The boost {label!r} returned a number that is not finite.")
    return added


def _number(value: Any, option: str) -> float:
    if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise InvalidInput(f"{option} must return a finite number, not {value!r}.")
    return float(value)
