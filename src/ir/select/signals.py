"""Which number of the hits shows whether a corpus is about a query?

There is a small, closed set of such *signals*. All are made of raw channel scores, whatever the ranking was fused from.
The best score is the plain one. The mean of the best three asks for more than one lucky match; the blend listens to
both channels. Which one parts a corpus's own queries from others best differs between corpora and embedders, so a
calibration from labelled cases may choose, and keeps the name of what it chose.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.base import SearchHit
from ir.select.magnitude import blend_of, raw_score

__all__ = ["SIGNALS", "default_signal", "describe", "signal_score", "signals_for"]

_BLEND = "blend"
_TOP = "-top3"
_TAKEN = 3
_WORDS = {"dense": "cosine", "lexical": "BM25 score", _BLEND: "blend of cosine and BM25"}
SIGNALS = ("dense", "dense-top3", "lexical", "lexical-top3", "blend", "blend-top3")


def default_signal(mode: str) -> str:
    """What is read in ``mode`` where no calibration says otherwise: the best raw score of its channel."""
    return "lexical" if mode == "lexical" else "dense"


def signals_for(mode: str) -> tuple[str, ...]:
    """The signals that a search in ``mode`` gives, the default first.

    >>> signals_for("lexical")
    ('lexical', 'lexical-top3')
    """
    plain = default_signal(mode)
    both = (_BLEND, _BLEND + _TOP) if mode == "hybrid" else ()
    return (plain, plain + _TOP, *both)


def signal_score(hits: Sequence[SearchHit], signal: str) -> float | None:
    """The signal's number; ``None`` where there is nothing to read: no hits, or a channel that did not run.

    Hits that carry no channels are read by their score.

    >>> found = [SearchHit(str(c), "document", 0, "", channels={"dense": {"score": c}}) for c in (0.9, 0.5, 0.1, 0)]
    >>> signal_score(found, "dense"), signal_score(found, "dense-top3"), signal_score(found, "lexical")
    (0.9, 0.5, None)
    """
    scores = _scores(hits, signal.removesuffix(_TOP))
    if not scores:
        return None
    if not signal.endswith(_TOP):
        return max(scores)
    best = sorted(scores, reverse=True)[:_TAKEN]
    return sum(best) / len(best)


def _scores(hits: Sequence[SearchHit], name: str) -> list[float]:
    if not any(hit.channels for hit in hits):
        return [raw_score(hit) for hit in hits]
    if name == _BLEND:
        return [blend_of(hit) for hit in hits if {"dense", "lexical"} <= set(hit.channels)]
    return [float(hit.channels[name]["score"]) for hit in hits if name in hit.channels]


def describe(signal: str) -> str:
    """The signal in words.

    >>> describe("dense"), describe("lexical-top3")
    ('best cosine', 'mean of the best three BM25 scores')
    """
    name = signal.removesuffix(_TOP)
    word = _WORDS.get(name, name)
    if not signal.endswith(_TOP):
        return f"best {word}"
    return f"mean of the best three {word.replace('blend', 'blends') if name == _BLEND else word + 's'}"
