"""Nodes and edges: what a corpus knows of how its things belong together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args

from ir.base import json_clean, storable
from ir.errors import InvalidInput

__all__ = [
    "ARTIFACT",
    "DIRECTIONS",
    "RECORD",
    "Direction",
    "Edge",
    "Neighbour",
    "Node",
    "Place",
    "Symbols",
    "Use",
    "clean_edges",
    "clean_node",
    "direction_of",
    "edges_of_links",
    "links_of_edges",
]

Direction = Literal["out", "in", "both"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
#: Where the other end of an edge is: in this corpus, in another one, or not known at all.
Place = Literal["here", "elsewhere", "nowhere"]

#: The types of nodes that nobody has to declare: every artifact and every record is one.
ARTIFACT = "artifact"
RECORD = "record"


@dataclass(frozen=True)
class Node:
    """A thing that edges lead to: an artifact, a record, or an entity that has no text of its own.

    Artifacts and records are nodes under their own ids. Declaring one gives it a type and properties.
    """

    id: str
    type: str = "entity"
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    """A typed arrow from a node of this corpus to another node, or to one of the corpus named ``corpus``."""

    source: str
    type: str
    target: str
    corpus: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


class Use(NamedTuple):
    """A name that a node uses: an edge whose target is yet to be found."""

    source: str
    type: str
    name: str
    properties: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Symbols:
    """The names of one item: those that it defines, with the nodes they stand for, and those that it uses.

    A strategy with rules of its own (imports, scopes) keeps what they need in ``payload``, in JSON's types, and has
    a method ``link(item_id, symbols, lookup) -> edges``; ``lookup(name)`` gives the nodes that define a name, in any
    item. It is asked again whenever one of the names that it looked up changes its meaning. If what it returns has
    an attribute ``told``, in JSON's types, that is kept with the item's names for whoever reports on the corpus.
    """

    defines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    uses: Sequence[Use] = ()
    payload: Any = None


class Neighbour(NamedTuple):
    """The other end of one edge, seen from a node.

    ``type`` and ``properties`` are the edge's. ``place`` is ``"here"`` for a node of this corpus, ``"elsewhere"`` for
    one of the corpus ``corpus``, and ``"nowhere"`` for a name that stands for nothing in this version.
    """

    id: str
    type: str
    direction: Literal["out", "in"]
    place: Place
    corpus: str | None = None
    properties: Mapping[str, Any] = {}


def direction_of(given: Any) -> Direction:
    """``given``, if it is a direction."""
    if given not in DIRECTIONS:
        raise InvalidInput(f"The direction of edges is 'out', 'in' or 'both', not {given!r}.")
    direction: Direction = given
    return direction


def clean_node(node: Node) -> Node:
    """A node as stores keep it."""
    _check_name("node's id", node.id)
    _check_name("node's type", node.type)
    return Node(storable(node.id), storable(node.type), _clean_properties(node.properties, f"node {node.id!r}"))


def clean_edges(source: str, edges: Iterable[Edge]) -> list[Edge]:
    """The edges out of one node as stores keep them, in the order given."""
    _check_name("node's id", source)
    kept = []
    for edge in edges:
        if edge.source != source:
            raise InvalidInput(f"An edge out of {edge.source!r} was given among those out of {source!r}.")
        kept.append(_clean_edge(edge))
    return kept


def _clean_edge(edge: Edge) -> Edge:
    whose = f"edge from {edge.source!r}"
    _check_name(f"type of an {whose}", edge.type)
    if not isinstance(edge.target, str) or not edge.target:
        raise InvalidInput(
            f"The {whose} of type {edge.type!r} leads nowhere: its target is {edge.target!r}.",
            remedy="Give the id of a node, or leave the edge out.",
        )
    if edge.corpus is not None:
        _check_name(f"corpus that an {whose} leads to", edge.corpus)
    return Edge(
        storable(edge.source),
        storable(edge.type),
        storable(edge.target),
        None if edge.corpus is None else storable(edge.corpus),
        _clean_properties(edge.properties, whose) if edge.properties else {},
    )


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"The {what} must be a text that is not empty, not {name!r}.")


def _clean_properties(properties: Any, whose: str) -> dict[str, Any]:
    if type(properties) is dict and _is_plain(properties):
        return dict(properties)
    if not isinstance(properties, Mapping):
        raise InvalidInput(f"The properties of the {whose} must be a mapping, not {properties!r}.")
    cleaned: dict[str, Any] = json_clean(properties)
    try:
        # What JSON cannot say is refused: a property that comes back as something else would be a lie.
        _strict(properties)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The properties of the {whose} are not JSON: {error}.",
            remedy="Use texts, numbers, true, false, null, and lists and mappings of those.",
        ) from error
    return cleaned


def _is_plain(properties: dict[Any, Any]) -> bool:
    """Whether properties are as nearly all are: a few words and numbers by name. Looking is quicker than encoding."""
    for name, value in properties.items():
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
        elif kind is float:
            if not isfinite(value):
                return False
        elif kind is not int and kind is not bool and value is not None:
            return False
        if type(name) is not str or not name.isascii():
            return False
    return True


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a type of JSON")


_strict = json.JSONEncoder(allow_nan=False, default=_plain).encode


# -- the short form: {type: [target, ...]} ---------------------------------------------------------------------------


def edges_of_links(source: str, links: Mapping[str, Any]) -> list[Edge]:
    """Links by type as edges; a target is a node's id or a ``[corpus, id]`` pair.

    >>> [edge.target for edge in edges_of_links("a", {"ref": ["b", ("other", "c")], "next": []})]
    ['b', 'c']
    """
    edges = []
    for edge_type, targets in links.items():
        if isinstance(targets, (str, bytes, Mapping)) or not hasattr(targets, "__iter__"):
            raise InvalidInput(f"The edges of type {edge_type!r} must be a list of targets, not {targets!r}.")
        edges += [_edge_to(source, str(edge_type), target) for target in targets]
    return edges


def _edge_to(source: str, edge_type: str, target: Any) -> Edge:
    if isinstance(target, str):
        return Edge(source, edge_type, target)
    if isinstance(target, (list, tuple)) and len(target) == 2:
        return Edge(source, edge_type, target[1], target[0])
    raise InvalidInput(f"A link's target must be an artifact id or a [source, artifact_id] pair, not {target!r}.")


def links_of_edges(edges: Sequence[Edge]) -> dict[str, list[Any]]:
    """Edges in the short form, without their properties.

    >>> links_of_edges([Edge("a", "ref", "b"), Edge("a", "ref", "c", "other")])
    {'ref': ['b', ['other', 'c']]}
    """
    links: dict[str, list[Any]] = {}
    for edge_type, run in groupby(edges, key=lambda edge: edge.type):
        targets: list[Any] = [edge.target if edge.corpus is None else [edge.corpus, edge.target] for edge in run]
        links.setdefault(edge_type, []).extend(targets)
    return links
