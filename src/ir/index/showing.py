"""Which record shows a node best: a strategy says in the metadata of a surface what that is of, and the node keeps it.

``symbolKey`` is the node that a surface is of, ``symbolKeys`` are others that it shows, ``chunkLevel`` says how much of
its item it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ir.base import Row
from ir.links import Node

__all__ = ["SHOWN_BY", "shown"]

#: The property of a node that names its record.
SHOWN_BY = "chunk"
#: A record of a type shows a node best, then one of a method.
_PREFERRED = ("type", "method")


def shown(nodes: Sequence[Node], rows: Sequence[Row]) -> list[Node]:
    """The nodes of one item, each with the record that shows it best.

    Of the records that a node is the subject of, and then of those that show it among others, the one of a type comes
    first, then that of a method. A node that no record names is shown by the one that holds its first line, or by the
    best of all, as a module may be.
    """
    best: dict[str, tuple[bool, int, int]] = {}
    levels = [_level(row) for row in rows]
    for number, row in enumerate(rows):
        for key, subject in _named(row):
            found = (not subject, levels[number], number)
            best[key] = min(best.get(key, found), found)
    if not best:
        return list(nodes)
    order = sorted(range(len(rows)), key=levels.__getitem__)

    def number_of(node: Node) -> int:
        if node.id in best:
            return best[node.id][2]
        return next((number for number in order if _holds(rows[number], node)), order[0])

    return [replace(node, properties={**node.properties, SHOWN_BY: rows[number_of(node)].id}) for node in nodes]


def _holds(row: Row, node: Node) -> bool:
    """Whether a record has the line that a node begins on."""
    first, last, line = row.metadata.get("line_start"), row.metadata.get("line_end"), node.properties.get("line_start")
    return isinstance(first, int) and isinstance(last, int) and isinstance(line, int) and first <= line <= last


def _level(row: Row) -> int:
    level = row.metadata.get("chunkLevel")
    return _PREFERRED.index(level) if level in _PREFERRED else len(_PREFERRED)


def _named(row: Row) -> Iterable[tuple[str, bool]]:
    """The nodes that a record shows, and whether it is about them."""
    subject = row.metadata.get("symbolKey")
    if subject:
        yield str(subject), True
    for key in row.metadata.get("symbolKeys") or ():
        yield str(key), False
