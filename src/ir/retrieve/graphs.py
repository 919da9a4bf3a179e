"""Links as a stage of a search: what good candidates lead to gains, and may be taken in.

A strategy names what suits the links that it makes (``graph = "expand"``), the corpus keeps it among its settings, and
a search may ask for another. What lifts is a function of the pool, as a boost is. It may have ``missing``, one that
gives the numbers of records which good candidates lead to and that no channel found.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ir.options import SearchOptions
from ir.retrieve.boosts import add_boost
from ir.retrieve.candidates import Pick
from ir.retrieve.pool import Pool

if TYPE_CHECKING:
    from ir.protocols import Refs

__all__ = ["LINKED", "apply_graph", "came_by_link", "graph_of"]

GraphBoost = Callable[[Pool], Any]

#: Where boosts along links are made of a name or a table of fields; it is imported by the first search that needs it.
_PLACE = "ir.book.boosts"
#: Less than this only tells equal scores apart.
_NOTICEABLE = 1e-8


#: The field of a hit that says that a link brought it here.
LINKED = "linked"


def came_by_link(pick: Pick) -> bool:
    """Whether a link brought a hit to its place: one put it behind another, or no channel found it."""
    if pick.boosts.get("expand", 0.0) > _NOTICEABLE:
        return True
    return "propagate" in pick.boosts and all(found["rank"] is None for found in pick.channels.values())


def graph_of(options: SearchOptions) -> GraphBoost:
    """The boost that is asked for, by its name, by its fields, or as a function of one's own."""
    if callable(options.graph):
        return options.graph
    made: GraphBoost = import_module(_PLACE).GraphBoost.of(options.graph)
    return made


def apply_graph(pool: Pool, boost: GraphBoost) -> str | None:
    """Let links change the scores of a pool; what to say about it."""
    missing: Callable[[Pool], Refs] | None = getattr(boost, "missing", None)
    added = pool.add(missing(pool), scored=True) if missing is not None else 0
    add_boost(pool, boost)
    return f"{added} added by their links" if added else None
