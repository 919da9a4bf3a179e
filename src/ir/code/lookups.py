"""The records in which names are defined, by the symbol table of the corpus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.filters import And, Leaf
from ir.index.linking import definers
from ir.protocols import Where

if TYPE_CHECKING:
    from ir.protocols import Refs, Store
    from ir.retrieve import Pool

__all__ = ["records_defining"]

_NAMES = re.compile(r"[^#/.()`\[\]]+")
#: So many records are taken in for what a question names.
_MOST = 10


def _nodes_defining(store: Store, name: str) -> list[tuple[str, str]]:
    """The definitions of a name: the file of each, and its symbol key."""
    return [(item, node) for item, nodes in definers(store, f"symbol:{name}").items() for node in nodes]


def records_defining(pool: Pool, names: Sequence[str], most: int) -> Refs:
    """Those records of a pool's version that define one of the names, unless too many definitions have it."""
    none = np.empty(0, dtype=np.int64)
    store = getattr(pool.corpus, "store", None)
    if store is None:
        return none
    symbols: set[str] = set()
    for name in names:
        found = _nodes_defining(store, name.rsplit(".", 1)[-1])
        if len(found) <= most:
            symbols |= {_qualified(item, node) for item, node in found}
    if not symbols:
        return none
    defining = Leaf("symbols", "$in", sorted(symbols))
    asked = pool.question.where
    where = Where(defining if asked.filter is None else And((asked.filter, defining)), asked.kinds)
    if pool.question.terms:
        return pool.snapshot.lexical(pool.question.terms, _MOST, where).refs
    if pool.question.vector is None:
        return none
    if pool.question.space is None:
        return pool.snapshot.dense(pool.question.vector, _MOST, where).refs
    return pool.snapshot.dense(pool.question.vector, _MOST, where, pool.question.space).refs


def _qualified(path: str, key: str) -> str:
    """The name by which a chunk knows a definition.

    >>> _qualified("src/app.py", "python src/app.py/App#run().")
    'App.run'
    """
    return ".".join(_NAMES.findall(key.partition(f" {path}/")[2]))
