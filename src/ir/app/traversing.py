"""Walking from a query along what a corpus is linked by: from summaries to parts, to dependents, or from names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import QUERY, TARGET, K
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.searching import Found, analyzer_of, found_in, words_of

if TYPE_CHECKING:
    from ir.index import Corpus

__all__ = ["WALKS", "TraverseRequest", "TraverseResponse", "traverse"]

WALKS = ("tree", "dependents", "names")


@dataclass(frozen=True)
class TraverseRequest(Value):
    """``walk`` is ``tree``: from the best summaries to their parts; or ``dependents``: from ``seeds`` (or the best
    matches) against the links of ``edge_type`` to what depends on them; or ``names``: from the names in the query, as
    far as the corpus's ``traversal`` settings let a question of that intent go. ``max_depth`` and ``max_nodes`` bound
    the first two; the third has its bounds there."""

    query: Annotated[str, QUERY]
    target: Annotated[str, TARGET] = "."
    walk: Annotated[
        str,
        Arg(
            "from summaries to their parts, to what depends on what was found, or from the names in the query",
            choices=WALKS,
            metavar="WALK",
            help="tree, dependents or names.",
        ),
    ] = "tree"
    seeds: Annotated[
        tuple[str, ...],
        Arg("where to begin: ids, instead of what a search finds", blank=False, flag="--seed", metavar="ID"),
    ] = ()
    edge_type: Annotated[
        str, Arg("the type of link to follow", blank=False, flag="--type", short="-t", metavar="TYPE")
    ] = "REF"
    max_depth: Annotated[int, Arg("how far to go", min=0, max=10, clamp=True, flag="--depth", metavar="N")] = 2
    max_nodes: Annotated[int, Arg("how many places to visit", min=1, max=10_000, clamp=True, metavar="N")] = 64
    k: Annotated[int | None, K] = None


@dataclass(frozen=True)
class TraverseResponse(Value):
    """Hits, best first; ``walk_depth`` and ``seed`` in their metadata say how they were reached.

    Of a walk from names: ``candidates`` are the ids of all records that it reached, nearest first, and ``intent`` is
    what the question was taken for.
    """

    corpus: str
    query: str
    walk: str
    found: tuple[Found, ...]
    stale: bool | None = None
    notes: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    intent: str | None = None
    names: tuple[str, ...] = ()


@operation(
    "traverse",
    summary="Walk from a query to parts of what matches, to what depends on it, or from the names in it",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def traverse(request: TraverseRequest, ctx: Context) -> TraverseResponse:
    from ir.base import Hits
    from ir.graph import CorpusGraph
    from ir.traverse import collapsed_tree_policy, reverse_dependency_policy
    from ir.traverse import traverse as walk

    target = ctx.target(request.target)
    corpus = ctx.open(target)
    ctx.check()
    if request.walk == "names":
        return _from_names(request, target.name, corpus, ctx)
    tree = request.walk == "tree"
    policy = (
        collapsed_tree_policy()
        if tree
        else reverse_dependency_policy(seeds=request.seeds or None, edge_type=request.edge_type)
    )
    hits = walk(
        request.query,
        corpus if tree else CorpusGraph(corpus),
        policy=policy,
        max_depth=request.max_depth,
        node_budget=request.max_nodes,
        k=ctx.settings["k"] if request.k is None else request.k,
    )
    analyzer = analyzer_of(corpus, ctx)
    # What a walk reaches belongs to the answer however little it scores.
    found = found_in(Hits(hits, {"reranked": True}), words_of(request.query, analyzer), {corpus.name: analyzer})
    return TraverseResponse(target.name, request.query, request.walk, found)


def _from_names(request: TraverseRequest, name: str, corpus: Corpus, ctx: Context) -> TraverseResponse:
    """The passages that a walk from the names in a question reaches; the nearer, the better."""
    from ir.base import Hits, SearchHit
    from ir.book import retrieve_candidates

    walked = retrieve_candidates(request.query, corpus)
    most = ctx.settings["k"] if request.k is None else request.k
    shown = walked.candidates[:most]
    records = {record.id: record for record in corpus.store.get_records(list(shown))}
    hits = []
    for record_id, distance in zip(shown, walked.distances, strict=False):
        if record_id in records:
            one = records[record_id]
            about = {**one.metadata, "walk_depth": distance}
            score = 1.0 / (1 + distance)
            hits.append(
                SearchHit(one.artifact_id, one.surface_kind, score, one.text, about, corpus.name, one.surface_index)
            )
    analyzer = analyzer_of(corpus, ctx)
    found = found_in(Hits(hits, {"reranked": True}), words_of(request.query, analyzer), {corpus.name: analyzer})
    notes = () if walked.seeds else ("The question names nothing that this corpus has under that name.",)
    return TraverseResponse(
        name, request.query, request.walk, found, None, notes, walked.candidates, walked.intent, walked.names
    )
