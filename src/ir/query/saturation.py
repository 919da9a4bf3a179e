"""When the words alone are enough: a short query whose best keyword score is so high that no reranker is needed.

How high that is, is measured on judged queries for each keyword engine and kept with the corpus; nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ir.errors import InvalidInput
from ir.protocols import Store

__all__ = [
    "REASON",
    "Saturation",
    "Tried",
    "calibrate",
    "forget_saturation",
    "is_saturated",
    "keep_saturation",
    "saturation_of",
    "token_count",
]

#: What ``skippedRerank`` says.
REASON = "bm25_saturation"
#: A query of so many words or more is never taken for a name.
LONG = 5
#: The share of queries above the threshold whose first result must be right.
DFLT_PRECISION = 0.95
#: Fewer judged queries above a threshold prove nothing.
LEAST_CASES = 5
_SETTING = "saturation"


def token_count(query: str) -> int:
    """How many words a query has, as they are written."""
    return len(query.split())


def is_saturated(top_score: float | None, threshold: float | None, tokens: int) -> bool:
    """Whether the reranker can be left out; without a threshold it cannot."""
    return threshold is not None and top_score is not None and top_score >= threshold and tokens < LONG


class Tried(NamedTuple):
    """A judged query: its best keyword score, how many words it has, and whether the first result is right."""

    top_score: float | None
    tokens: int
    right: bool


@dataclass(frozen=True)
class Saturation:
    """A threshold, from how many short queries it comes, and how many of them are above it and right there.

    ``threshold`` is ``None`` if no score is high enough to be trusted.
    """

    backend: str
    threshold: float | None
    precision: float
    cases: int
    above: int
    right: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def calibrate(tried: Iterable[Tried], backend: str, *, precision: float = DFLT_PRECISION) -> Saturation:
    """The lowest score from which on, and from each higher score on, at least ``precision`` of the queries are right.

    >>> tried = [Tried(score, 2, score > 3) for score in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)]
    >>> calibrate(tried, "embedded").threshold
    4.0
    """
    if not 0 < precision <= 1:
        raise InvalidInput(f"precision must be a number above 0 and at most 1, not {precision!r}.")
    short = [one for one in tried if one.tokens < LONG and one.top_score is not None]
    short.sort(key=lambda one: -(one.top_score or 0.0))
    best: tuple[float | None, int, int] = (None, 0, 0)
    right = 0
    for number, one in enumerate(short, start=1):
        right += one.right
        tied = number < len(short) and short[number].top_score == one.top_score
        if tied:
            continue
        if right / number >= precision:
            if number >= LEAST_CASES:
                best = (one.top_score, number, right)
        elif number >= LEAST_CASES:
            break
    threshold, above, kept = best
    return Saturation(backend, threshold, precision, len(short), above, kept)


def keep_saturation(store: Store, made: Saturation) -> None:
    """Keep a threshold with the corpus, in place of an earlier one for the same engine."""
    config = store.get_config()
    store.set_config({**config, _SETTING: {**_kept(config), made.backend: made.to_dict()}})


def forget_saturation(store: Store, backend: str) -> bool:
    """Drop the threshold of an engine; whether there was one."""
    config = store.get_config()
    kept = _kept(config)
    if backend not in kept:
        return False
    del kept[backend]
    store.set_config({**config, _SETTING: kept})
    return True


def saturation_of(config: Mapping[str, Any], backend: str) -> float | None:
    """The threshold that a corpus has for an engine."""
    found = _kept(config).get(backend) or {}
    threshold = found.get("threshold")
    return float(threshold) if isinstance(threshold, int | float) else None


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    held = config.get(_SETTING)
    return dict(held) if isinstance(held, Mapping) else {}
