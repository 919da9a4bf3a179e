"""What kinds of things a corpus holds, and by what they are linked: its ontology, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.operation import Value, operation

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["CensusRequest", "CensusResponse", "census"]


@dataclass(frozen=True)
class CensusRequest(Value):
    """Everything is read once for each version of a corpus."""

    target: Annotated[str, TARGET] = "."


@dataclass(frozen=True)
class CensusResponse(Value):
    """``types`` of nodes with how many there are, ``links`` by type and by how they are known (``exact``, …).

    ``surfaces`` are the kinds of text that are ranked. An artifact without a declared type counts as ``artifact``.
    """

    corpus: str
    types: Mapping[str, int]
    links: Mapping[str, Mapping[str, int]]
    surfaces: tuple[str, ...] = ()
    content_version: str | None = None
    notes: tuple[str, ...] = field(default=())


@operation(
    "census",
    summary="Count the types of things in a corpus, and of the links between them",
    effect="reads",
    doors=("cli", "http"),
)
def census(request: CensusRequest, ctx: Context) -> CensusResponse:
    target = ctx.target(request.target)
    corpus = ctx.open(target)
    types, links = ctx.known(corpus, "census", lambda: _counted(corpus.store, ctx))
    with corpus.store.snapshot() as snapshot:
        surfaces, version = tuple(sorted(snapshot.kinds())), snapshot.content_version
    notes = () if links else ("Nothing is linked in this corpus.",)
    return CensusResponse(target.name, types, links, surfaces, version, notes)


def _counted(store: Store, ctx: Context) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    types: Counter[str] = Counter()
    declared: set[str] = set()
    for nodes in store.iter_nodes():
        ctx.check()
        types.update(node.type for node in nodes)
        declared.update(node.id for node in nodes)
    plain = sum(str(artifact) not in declared for (artifact,) in store.ledger_fields("artifact_id"))
    if plain and not _is_code(types):
        types["artifact"] += plain
    links: dict[str, Counter[str]] = {}
    for batch in store.iter_edges():
        ctx.check()
        for _, edges in batch:
            for edge in edges:
                links.setdefault(edge.type, Counter())[str(edge.properties.get("resolution", "exact"))] += 1
    ordered = sorted(links.items(), key=lambda one: (-one[1].total(), one[0]))
    return dict(types.most_common()), {kind: dict(known.most_common()) for kind, known in ordered}


def _is_code(types: Counter[str]) -> bool:
    """The files of code are nodes under keys of their own, not under the ids of their artifacts."""
    return "module" in types or "file" in types
