"""How much the dense channel counts in a hybrid if nobody says it: less, where it saw a part of the texts only."""

from __future__ import annotations

from typing import Any

from ir.protocols import Snapshot

__all__ = ["share_read"]

#: How many terms of the lexical index a token of a model is worth: .54 to .59 in most English texts.
TERMS_PER_TOKEN = 0.57
#: The same where no stop words are dropped: about .8.
TERMS_PER_TOKEN_OF_NONE = 0.8


def share_read(snapshot: Snapshot, embedder: Any, language: str = "english") -> float:
    """The share of a record of average length that the embedder reads: its vector knows nothing of the rest."""
    most: object = getattr(embedder, "max_tokens", None)
    if not isinstance(most, int) or most <= 0:
        return 1.0
    average = snapshot.term_stats(()).average_length
    per_token = TERMS_PER_TOKEN_OF_NONE if language == "none" else TERMS_PER_TOKEN
    return min(1.0, per_token * most / average) if average > 0 else 1.0
