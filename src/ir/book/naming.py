"""The names in a question, looked up in a corpus: where a walk begins, and what a search may keep to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.book.traversal import MENTIONED_IN, Candidates, TraversalConfig, TraversalIndex
from ir.book.traversal import retrieve_candidates as _walk
from ir.errors import CorpusBusy
from ir.retrieve.names import opened
from ir.retrieve.whole import Whole, kept, whole_of

if TYPE_CHECKING:
    from ir.base import Row
    from ir.protocols import Refs, Snapshot

__all__ = ["Touched", "config_of", "index_of", "retrieve_candidates", "touched_by"]

#: How a name touches passages: they are part of it, say it, are said by it, or have it as a tag.
_TOUCHING = ("contains", "describes", "mentions", MENTIONED_IN, "refers_to", "has_tag", "has_trait")
#: What touches more than this touches nothing in particular.
_HUB = 100


class Touched(NamedTuple):
    """The names that a question says, and the records that what they stand for touches."""

    names: tuple[str, ...]
    refs: Refs


def config_of(snapshot: Snapshot) -> TraversalConfig:
    """How questions walk through this corpus: as it was told (``traversal`` among its settings), else as by default."""
    return TraversalConfig.of(snapshot.config().get("traversal") or {})


def index_of(corpus: Any, snapshot: Snapshot) -> TraversalIndex:
    """The graph of a version of a corpus, ready to be walked; its passages are the records."""
    return kept(corpus, snapshot, "traversal", lambda: _read(corpus, snapshot))


def retrieve_candidates(query: str, index: Any, config: TraversalConfig | None = None) -> Candidates:
    """The passages that a walk from the names in a question reaches, within the bounds of its intent's policy.

    ``index`` is a :class:`TraversalIndex`, or a corpus or the name of one: then the candidates are ids of its records,
    and the configuration is the one that it keeps, unless another is given.
    """
    if isinstance(index, TraversalIndex):
        return _walk(query, index, config)
    corpus = opened(index)
    with corpus.store.snapshot() as snapshot:
        return _walk(query, index_of(corpus, snapshot), config or config_of(snapshot))


def touched_by(corpus: Any, snapshot: Snapshot, question: str) -> Touched:
    """What the names in a question touch."""
    index, whole = index_of(corpus, snapshot), whole_of(corpus, snapshot, "graph_first")
    seeds = index.seeds_of(question, config_of(snapshot))
    places: set[int] = set()
    for seed in seeds:
        near = index.near(seed, _TOUCHING)
        for node in (seed, *near) if len(near) <= _HUB else (seed,):
            places.update(whole.of_artifact.get(node, ()))
            if node in whole.of_record:
                places.add(whole.of_record[node])
    names = tuple(dict.fromkeys(seeds.values()))
    return Touched(names, whole.refs[np.array(sorted(places), dtype=np.int64)])


def _read(corpus: Any, snapshot: Snapshot) -> TraversalIndex:
    whole = whole_of(corpus, snapshot, "a walk from names")
    graph = {"nodes": list(_nodes(corpus, whole)), "edges": list(_edges(corpus, whole))}
    if corpus.store.version != snapshot.version:
        raise CorpusBusy(
            f"The corpus {corpus.name!r} was written to while its links were read.", remedy="Ask again in a moment."
        )
    chunks = [{"id": row.id, "document": _document(row)} for row in whole.rows]
    return TraversalIndex.build(graph, chunks)


def _nodes(corpus: Any, whole: Whole) -> Iterator[dict[str, str]]:
    """Every node that has a name: as declared, else the title of an artifact."""
    named: set[str] = set()
    for page in corpus.store.iter_nodes():
        for node in page:
            name = node.properties.get("title") or node.properties.get("name")
            if isinstance(name, str):
                named.add(node.id)
                yield {"id": node.id, "name": name}
    for artifact, places in whole.of_artifact.items():
        title = whole.rows[places[0]].metadata.get("title")
        if isinstance(title, str) and artifact not in named:
            yield {"id": artifact, "name": title}


def _edges(corpus: Any, whole: Whole) -> Iterator[dict[str, str]]:
    """Every link inside the corpus; an artifact contains its records, whether somebody drew that or not."""
    containing: set[str] = set()
    for page in corpus.store.iter_edges():
        for source, edges in page:
            for edge in edges:
                if edge.corpus is None:
                    yield {"source": source, "target": edge.target, "relation": edge.type}
                    if edge.type == "contains":
                        containing.add(edge.target)
    for row in whole.rows:
        if row.id not in containing:
            yield {"source": row.artifact_id, "target": row.id, "relation": "contains"}


def _document(row: Row) -> str:
    book = row.metadata.get("book")
    return book if isinstance(book, str) else row.artifact_id.partition("#")[0]
