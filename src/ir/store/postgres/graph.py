"""The graph as one version has it, asked for many nodes at once: one question and one answer, however many they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ir.links import ARTIFACT, RECORD, Direction, Neighbour, Node, Place, direction_of
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.edges import PREFIX, TYPE_PREFIX, properties_of
from ir.store.postgres.state import State

__all__ = ["degrees", "neighbours", "nodes"]

_ASKED = "unnest(%s::text[]) WITH ORDINALITY AS asked (id, at)"
_OUT = f"left(source, {PREFIX}) = left(asked.id, {PREFIX}) AND source = asked.id"
#: An edge that says of its target that it is of this very corpus leads to a node here.
_IN = f"left(target, {PREFIX}) = left(asked.id, {PREFIX}) AND target = asked.id AND (corpus IS NULL OR corpus = %s)"
_IN_ORDER = f"left(type, {TYPE_PREFIX}), left(source, {PREFIX}), source, place"
#: With types of which the index knows only the beginning, its order is not the one asked for.
_LONG_ORDER = "type, source, place"


#: By whether a node is here; that of one elsewhere is not known.
_PLACES: dict[bool | None, Place] = {None: "elsewhere", True: "here", False: "nowhere"}


def _declared(name: str) -> str:
    return f"(SELECT true FROM nodes d WHERE d.id = {name} LIMIT 1)"


def _artifact(name: str) -> str:
    return f"(SELECT true FROM ledger WHERE md5(value ->> 'artifact_id')::uuid = md5({name})::uuid LIMIT 1)"


def _record(name: str) -> str:
    return f"(SELECT true FROM records r WHERE md5(r.id) = md5({name}) AND r.id = {name} LIMIT 1)"


#: The planner, which knows of no node whether it has three edges or ten thousand, would gather all of them and sort.
#: The indexes hold them in the order asked for, so that the first hundred are found without a look at the others.
_IN_INDEX_ORDER = """
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)
"""
_AS_BEFORE = "SELECT set_config('enable_bitmapscan', 'on', true), set_config('enable_seqscan', 'on', true)"


def _ask(connection: Connection, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of a query that reads the indexes in their order; all is sent at once, in the open transaction."""
    with connection.pipeline():
        connection.execute(_IN_INDEX_ORDER)
        rows = connection.execute(query.encode(), parameters)
        connection.execute(_AS_BEFORE)
        return rows.fetchall()


_NODES = f"""
SELECT asked.id, d.type, d.properties::text, d.id IS NOT NULL, {_artifact("asked.id")}, {_record("asked.id")}
FROM {_ASKED} LEFT JOIN LATERAL (SELECT * FROM nodes WHERE nodes.id = asked.id LIMIT 1) AS d ON true
"""


def nodes(connection: Connection, node_ids: Sequence[str]) -> dict[str, Node]:
    """Those of the nodes that are here, as declared, else as the artifact or the record that they are."""
    found = {}
    rows = _ask(connection, _NODES, (_array(node_ids),))
    for name, node_type, properties, declared, artifact, record in rows:
        node_id = codec.unpacked(name)
        if declared:
            found[node_id] = Node(node_id, codec.unpacked(node_type), properties_of(properties))
        elif artifact or record:
            found[node_id] = Node(node_id, ARTIFACT if artifact else RECORD)
    return found


def neighbours(
    connection: Connection,
    state: State,
    node_ids: Sequence[str],
    types: Collection[str] | None,
    direction: Direction,
    limit: int | None,
) -> list[list[Neighbour]]:
    """For each node the other ends of its edges; see :meth:`ir.protocols.Snapshot.neighbours`."""
    wanted = direction_of(direction)
    found: list[list[Neighbour]] = [[] for _ in node_ids]
    ways, parameters = [], list[Any]()
    typed, type_parameters = _typed(types)
    if wanted != "in":
        ways.append(_way("out", "target", "corpus", _OUT + typed, "place"))
        parameters += [_array(node_ids), *type_parameters, limit]
    if wanted != "out":
        ways.append(_way("in", "source", "NULL", _IN + typed, _LONG_ORDER if state.long_types else _IN_ORDER))
        parameters += [_array(node_ids), _name(state), *type_parameters, limit]
    query = (
        f"WITH found AS MATERIALIZED ({' UNION ALL '.join(ways)}) SELECT at, way, other, type, corpus, properties, "
        f"CASE WHEN corpus <> coalesce(%s, '') THEN NULL "
        f"ELSE coalesce({_declared('other')}, {_artifact('other')}, {_record('other')}, false) END FROM found"
    )
    rows = _ask(connection, query, (*parameters, _name(state)))
    for row, neighbour in zip(rows, _neighbours(rows), strict=True):
        found[row[0] - 1].append(neighbour)
    return found


def _neighbours(rows: Sequence[tuple[Any, ...]]) -> Iterator[Neighbour]:
    """Rows as neighbours, column by column: there may be thousands."""
    if not rows:
        return iter(())
    _, ways, others, types, corpora, properties, here = zip(*rows, strict=True)
    names = map(codec.unpacked, others)
    known = {name: codec.unpacked(name) for name in {*types, *corpora} if name is not None}
    places = map(_PLACES.__getitem__, here)
    # One long text is parsed several times as quickly as many short ones.
    told = codec.loads(f"[{','.join([one or '{}' for one in properties])}]")
    columns = (names, map(known.get, types), ways, places, map(known.get, corpora), told)
    return map(Neighbour._make, zip(*columns, strict=True))


def _way(way: str, other: str, corpus: str, condition: str, order: str) -> str:
    return (
        f"SELECT at, '{way}' AS way, e.* FROM {_ASKED} CROSS JOIN LATERAL (SELECT {other} AS other, type, "
        f"{corpus} AS corpus, properties::text AS properties FROM edges WHERE {condition} ORDER BY {order} LIMIT %s) "
        "AS e"
    )


def degrees(
    connection: Connection,
    state: State,
    node_ids: Sequence[str],
    types: Collection[str] | None,
    direction: Direction,
) -> list[int]:
    """How many edges each node has."""
    wanted = direction_of(direction)
    counts, parameters = [], list[Any]()
    typed, type_parameters = _typed(types)
    if wanted != "in":
        counts.append(f"(SELECT count(*) FROM edges WHERE {_OUT + typed})")
        parameters += type_parameters
    if wanted != "out":
        counts.append(f"(SELECT count(*) FROM edges WHERE {_IN + typed})")
        parameters += [_name(state), *type_parameters]
    query = f"SELECT {' + '.join(counts)} FROM {_ASKED} ORDER BY at"
    return [int(count) for (count,) in _ask(connection, query, (*parameters, _array(node_ids)))]


def _typed(types: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if types is None else (" AND type = ANY(%s::text[])", (_array(types),))


def _array(names: Collection[str]) -> str:
    return codec.as_text_array(map(codec.packed, names))


def _name(state: State) -> str | None:
    """What the corpus is called in edges that lead to it by name."""
    name = state.settings().get("name")
    return codec.packed(name) if isinstance(name, str) else None
