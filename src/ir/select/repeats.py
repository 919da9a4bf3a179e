"""Copies of one thing among the hits: only the best is kept."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ir.base import Hits
from ir.errors import InvalidInput

__all__ = ["AUTO_REPEATS", "check_dedup", "without_repeats"]

#: ``dedup_by`` that means: by name in the corpora that hold copies as a rule, and not at all elsewhere.
AUTO_REPEATS = "auto"
#: Skills are copied from project to project.
_KEYS = {"skills": "name"}


def check_dedup(dedup_by: Any) -> str | None:
    """``dedup_by`` as it may be given."""
    if dedup_by is None or (isinstance(dedup_by, str) and dedup_by.strip()):
        return dedup_by
    raise InvalidInput(f"dedup_by must be a metadata key, 'auto' or None, not {dedup_by!r}.")


def without_repeats(hits: Hits, dedup_by: str | None, corpus_name: str) -> Hits:
    """The first of all hits that have the same value under a metadata key; a hit without that key stays."""
    key = _KEYS.get(corpus_name) if dedup_by == AUTO_REPEATS else dedup_by
    if key is None:
        return hits
    seen: set[Hashable] = set()
    kept = []
    for hit in hits:
        value = hit.metadata.get(key)
        told = value if isinstance(value, Hashable) else repr(value)
        if value is None or told not in seen:
            kept.append(hit)
            seen.add(told)
    return Hits(kept, hits.meta)
