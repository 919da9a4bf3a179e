"""Rankings for corpora of one kind: what is known there beside meaning and words.

A strategy names the ranking that suits what it makes (``ranking = "code"``), the corpus keeps it among its settings,
and a search looks it up here. A ranking is a function of the pool, as a boost is. It may have ``parts``, a function of
the pool that gives what it adds under several names, and ``missing``, one that gives the numbers of records which
belong to the candidates and that no channel found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ir.options import SearchOptions
from ir.retrieve.boosts import add_boost
from ir.retrieve.pool import Pool

if TYPE_CHECKING:
    from ir.protocols import Refs

__all__ = ["PLACES", "apply_ranking", "ranking_of"]

Ranking = Callable[[Pool], Any]

#: Where each ranking is, as ``module:name``; it is imported by the first search that needs it.
PLACES = {"code": "ir.code.ranking:CodeRanking", "book": "ir.book.ranking:BookRanking"}
_MADE: dict[str, Ranking] = {}


def ranking_of(options: SearchOptions) -> Ranking:
    """The ranking that is asked for, by its name or as a function of one's own."""
    asked: Any = options.ranking
    if callable(asked):
        return asked  # type: ignore[no-any-return]
    if asked not in _MADE:
        module, _, name = PLACES[asked].partition(":")
        _MADE[asked] = getattr(import_module(module), name)()
    return _MADE[asked]


def apply_ranking(pool: Pool, ranking: Ranking) -> str | None:
    """Let a ranking change the scores of a pool, each of its parts under its own name; what to say about it."""
    missing: Callable[[Pool], Refs] | None = getattr(ranking, "missing", None)
    added = pool.add(missing(pool)) if missing is not None else 0
    parts: Callable[[Pool], Mapping[str, Any]] | None = getattr(ranking, "parts", None)
    if parts is None:
        add_boost(pool, ranking)
    else:
        for name, values in parts(pool).items():
            add_boost(pool, lambda _, values=values: values, name)  # type: ignore[misc]
    return f"{added} added by their names" if added else None
