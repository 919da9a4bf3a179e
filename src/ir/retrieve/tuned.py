"""How a corpus wants to be searched, if it was tuned."""

from __future__ import annotations

from typing import Any

from ir.protocols import Corpus

__all__ = ["TUNABLE", "tuned_options"]

#: The options of a search that tuning chooses.
TUNABLE = ("mode", "fusion", "alpha", "bm25_sat_k", "feedback")


def tuned_options(corpus: Corpus) -> dict[str, Any]:
    """The options that were chosen for a corpus; none if it was not tuned, or for another embedder than it has now."""
    config = corpus.store.get_config()
    tuned = config.get("tuned")
    if not isinstance(tuned, dict) or tuned.get("embedder_id") != config.get("embedder_id"):
        return {}
    return {name: tuned[name] for name in TUNABLE if tuned.get(name) is not None}
