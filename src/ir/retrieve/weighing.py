"""How much the dense channel counts in a hybrid if nobody says it: less, where it saw a part of the texts only."""

from __future__ import annotations

from typing import Any

from ir.protocols import Snapshot

__all__ = ["share_read"]

#: How many terms of the lexical index a token of a model is worth, stop words being none: .56 to .6 in English texts.
TERMS_PER_TOKEN = 0.57


def share_read(snapshot: Snapshot, embedder: Any) -> float:
    """The share of a record of average length that the embedder reads: its vector knows nothing of the rest."""
    most: object = getattr(embedder, "max_tokens", None)
    if not isinstance(most, int) or most <= 0:
        return 1.0
    average = snapshot.term_stats(()).average_length
    return min(1.0, TERMS_PER_TOKEN * most / average) if average > 0 else 1.0
