"""What one thing of a corpus is linked to, one step away: to be drawn, and to walk on from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.graphing import Edge, check_known
from ir.app.operation import Value, operation
from ir.base import heading_of, ledger_key
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.base import Record
    from ir.graph import CorpusGraph
    from ir.links import Node
    from ir.protocols import Store

__all__ = ["Linked", "NeighboursRequest", "NeighboursResponse", "neighbours"]

DFLT_MOST = 60
#: A passage without a heading is called by so many characters of its text.
_WORDS = 60


@dataclass(frozen=True)
class NeighboursRequest(Value):
    """``id`` is that of an artifact, a record or an entity; of code it is a ``symbolKey``."""

    id: Annotated[str, Arg("an artifact, or another node of the graph", blank=False, max_chars=2000, metavar="ID")]
    target: Annotated[str, TARGET] = "."
    edge_type: Annotated[
        str | None,
        Arg("only links of this type, such as REF", blank=False, flag="--type", short="-t", metavar="TYPE"),
    ] = None
    most: Annotated[int, Arg("how many links to show in each direction", min=1, max=1000, clamp=True, metavar="N")] = (
        DFLT_MOST
    )


@dataclass(frozen=True)
class Linked(Value):
    """A node: what it is called and of which type it is. ``artifact`` is what to ``get`` to read it, if that can be
    read; ``corpus`` names another one that it is of."""

    id: str
    label: str
    type: str
    artifact: str | None = None
    line: int | None = None
    corpus: str | None = None


@dataclass(frozen=True)
class NeighboursResponse(Value):
    """``nodes`` begin with the one that is meant, ``id``. ``total`` counts all of its links, ``types`` by type."""

    corpus: str
    id: str
    nodes: tuple[Linked, ...]
    edges: tuple[Edge, ...]
    total: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@operation(
    "neighbours",
    summary="Show what one thing of a corpus is linked to, one step away",
    effect="reads",
    doors=("cli", "http"),
)
def neighbours(request: NeighboursRequest, ctx: Context) -> NeighboursResponse:
    from ir.graph import CorpusGraph

    target = ctx.target(request.target)
    corpus = ctx.open(target)
    graph = CorpusGraph(corpus)
    ctx.check()
    node = _node(request.id, corpus.store)
    every = _edges(graph, node, request.edge_type)
    if not every and not corpus.store.get_nodes([node]):
        check_known(graph, node)
    out = [edge for edge in every if edge.source == node]
    into = [edge for edge in every if edge.source != node]
    shown = [*out[: request.most], *into[: request.most]]
    known: dict[tuple[str | None, str], None] = {(None, node): None}
    for edge in shown:
        known |= dict.fromkeys([(None, edge.source), (edge.corpus, edge.target)])
    here = [one for place, one in known if place is None]
    told = corpus.store.get_nodes(here)
    records = {record.id: record for record in corpus.store.get_records(here)}
    nodes = []
    for place, one in known:
        if place is None:
            nodes.append(_linked(one, told.get(one), records.get(one), corpus.store))
        else:
            nodes.append(Linked(one, one, "elsewhere", corpus=place))
    left = len(every) - len(shown)
    notes = (f"{left:,} more links are not shown.",) if left else ()
    types = Counter(edge.type for edge in every)
    return NeighboursResponse(target.name, node, tuple(nodes), tuple(shown), len(every), dict(types), notes)


def _node(asked: str, store: Store) -> str:
    """The node that is meant: of a file of code that is the module, under whose key its links are."""
    entry = store.get_ledger_entry(ledger_key(asked))
    for record in [] if entry is None else _first(entry, store):
        family, _, place = str(record.metadata.get("symbolKey") or "").partition(" ")
        module = f"{family} {asked}/"
        if place and store.get_nodes([module]):
            return module
    return asked


def _edges(graph: CorpusGraph, node: str, edge_type: str | None) -> list[Edge]:
    """All links of a node, each once."""
    found: dict[Edge, None] = {}
    for one in graph.edges(node, edge_type=edge_type, direction="both"):
        ends = (node, one.id) if one.direction == "out" else (one.id, node)
        corpus = one.corpus if one.corpus != graph.source else None
        found[Edge(ends[0], one.type, ends[1], corpus)] = None
    return list(found)


def _linked(node: str, told: Node | None, record: Record | None, store: Store) -> Linked:
    about: Mapping[str, Any] = {} if told is None else told.properties
    if record is not None:  # a passage: it is called by what it stands under, or by its first words
        label = heading_of(record.metadata) or " ".join(record.text.split())[:_WORDS]
        kind = record.surface_kind if told is None else told.type
        return Linked(node, str(for_show(label)), kind, record.artifact_id, _line(record.metadata))
    named = next((str(about[name]) for name in ("name", "title", "label") if about.get(name)), "")
    entry = store.get_ledger_entry(ledger_key(node))
    if entry is not None:
        label = str(for_show(named)) or _title(entry, store) or node
        return Linked(node, label, "artifact" if told is None else told.type, node, _line(about))
    path = about.get("path")
    readable = path if isinstance(path, str) and store.get_ledger_entry(ledger_key(path)) is not None else None
    kind = "unknown" if told is None else told.type
    return Linked(node, str(for_show(named or node)), kind, readable, _line(about))


def _line(about: Mapping[str, Any]) -> int | None:
    line = about.get("line", about.get("line_start"))
    return line if isinstance(line, int) else None


def _title(entry: Mapping[str, Any], store: Store) -> str:
    """What the first record of an artifact is called."""
    titles = [heading_of({"title": record.metadata.get("title")}) for record in _first(entry, store)]
    return str(for_show(titles[0])) if titles else ""


def _first(entry: Mapping[str, Any], store: Store) -> list[Record]:
    first = [str(record) for record in entry.get("record_ids", ())][:1]
    return list(store.get_records(first)) if first else []
