"""Where does a walk from the query lead? A policy gives the graph its meaning, the operator keeps the bounds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import log1p
from os import PathLike
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ir.base import Record, SearchHit
from ir.errors import InvalidInput, NoLedgerEntry
from ir.graph import REF, CorpusGraph, canonical_node_id
from ir.index.opening import as_corpus
from ir.options import count
from ir.protocols import Corpus, CorpusOrName, StoreOrName

__all__ = [
    "DFLT_LEAF_KINDS",
    "DFLT_MAX_DEPTH",
    "DFLT_NODE_BUDGET",
    "DFLT_SEED_K",
    "DFLT_SUMMARY_KINDS",
    "WalkPolicy",
    "WalkState",
    "collapsed_tree_policy",
    "reverse_dependency_policy",
    "traverse",
]

DFLT_MAX_DEPTH = 2
DFLT_NODE_BUDGET = 64
DFLT_SEED_K = 10
DFLT_SUMMARY_KINDS = ("description", "synopsis", "capability", "document")
DFLT_LEAF_KINDS = ("chunk", "readme_chunk")
#: How many nodes a policy may offer at each depth; an expansion that never ends is cut there.
MAX_OFFERED = 10_000


@dataclass
class WalkState:
    """The state of one walk, kept by :func:`traverse`.

    ``visited`` holds the ids committed so far, ``results`` the hits made of them, ``budget`` how many nodes may be
    committed in all; ``cache`` is for the policy. Changing the bounds here changes nothing: the operator has its own.
    """

    query: str
    max_depth: int
    budget: int
    visited: set[Hashable] = field(default_factory=set)
    results: list[SearchHit] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)


#: A node that may be committed, how far it is from its seed, and its score.
Scored = tuple[Any, int, float]


@runtime_checkable
class WalkPolicy(Protocol):
    """What a walk means: where it starts, what a node is worth, and where it goes on.

    ``select`` gets ``(node, depth, score)`` triples, best first, and returns those to commit; ``stop`` ends the walk
    early; ``to_hit`` makes a result of a committed node, or ``None`` of one that only led the way.
    """

    def seed(self, state: WalkState, store: Any) -> Iterable[Any]: ...
    def score(self, state: WalkState, node: Any, store: Any) -> float: ...
    def select(self, state: WalkState, scored: Sequence[Scored]) -> Sequence[Scored]: ...
    def expand(self, state: WalkState, node: Any, store: Any) -> Iterable[Any]: ...
    def node_id(self, node: Any) -> Hashable: ...
    def stop(self, state: WalkState) -> bool: ...
    def to_hit(self, state: WalkState, node: Any, score: float, depth: int) -> SearchHit | None: ...


_METHODS = ("seed", "score", "select", "expand", "node_id", "stop", "to_hit")


@dataclass(frozen=True)
class _Offered:
    """A node that may be committed, and the seed that led to it."""

    node: Any
    seed: Any
    score: float


def traverse(
    query: str,
    store: Any,
    *,
    policy: WalkPolicy,
    max_depth: int = DFLT_MAX_DEPTH,
    node_budget: int = DFLT_NODE_BUDGET,
    k: int = 10,
) -> list[SearchHit]:
    """Walk ``store`` from ``query`` as ``policy`` says, and return the best ``k`` hits.

    No node is committed twice, none lies deeper than ``max_depth`` from a seed, and no more than ``node_budget`` are
    committed in all, whatever the policy does. A hit's ``metadata`` tells ``walk_depth`` and ``seed``.
    """
    max_depth, node_budget, k = count("max_depth", max_depth, 0), count("node_budget", node_budget), count("k", k)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("The query is empty; ask for something.")
    if not isinstance(policy, WalkPolicy):
        lacking = [name for name in _METHODS if not callable(getattr(policy, name, None))]
        raise InvalidInput(f"{policy!r} is no walk policy; it lacks {', '.join(lacking)}.")
    walk = _Walk(WalkState(query, max_depth, node_budget), store, policy, node_budget)
    seeds = policy.seed(walk.state, store)
    frontier = walk.offered((node, _seed_name(node, policy.node_id(node))) for node in seeds)
    for depth in range(max_depth + 1):
        committed = walk.commit(frontier, depth)
        if not committed or walk.ended or depth == max_depth:
            break
        frontier = walk.offered(
            (node, offer.seed) for offer in committed for node in policy.expand(walk.state, offer.node, store)
        )
    return sorted(walk.state.results, key=lambda hit: -hit.score)[:k]


class _Walk:
    """One walk's bookkeeping: what was committed and how much is left."""

    def __init__(self, state: WalkState, store: Any, policy: WalkPolicy, budget: int) -> None:
        self.state = state
        self.store = store
        self.policy = policy
        self.left = budget
        self.committed: set[Hashable] = set()
        self.stopped = False

    @property
    def ended(self) -> bool:
        return self.stopped or self.left <= 0

    def offered(self, nodes: Iterable[tuple[Any, Any]]) -> list[_Offered]:
        """The new ones among the nodes a policy offers, scored, best first."""
        fresh: dict[Hashable, _Offered] = {}
        for node, seed in islice(nodes, MAX_OFFERED):
            key = self.policy.node_id(node)
            if key not in self.committed and key not in fresh:
                score = float(self.policy.score(self.state, node, self.store))
                fresh[key] = _Offered(node, seed, score if score == score else float("-inf"))
        return sorted(fresh.values(), key=lambda offer: -offer.score)

    def commit(self, frontier: Sequence[_Offered], depth: int) -> list[_Offered]:
        """Commit what the policy selects of the frontier, as far as the budget goes."""
        if self.policy.stop(self.state):
            self.stopped = True
            return []
        known = {self.policy.node_id(offer.node): offer for offer in frontier}
        chosen = self.policy.select(self.state, [(offer.node, depth, offer.score) for offer in frontier])
        done: list[_Offered] = []
        for node, _, _ in islice(chosen, MAX_OFFERED):
            offer = known.pop(self.policy.node_id(node), None)
            if offer is None:
                continue
            if self.ended:
                break
            self._take(offer, depth)
            done.append(offer)
            self.stopped = self.policy.stop(self.state)
        return done

    def _take(self, offer: _Offered, depth: int) -> None:
        key = self.policy.node_id(offer.node)
        self.left -= 1
        self.committed.add(key)
        self.state.visited.add(key)
        hit = self.policy.to_hit(self.state, offer.node, offer.score, depth)
        if hit is not None:
            metadata = {**hit.metadata, "walk_depth": depth, "seed": offer.seed}
            self.state.results.append(replace(hit, metadata=metadata))


def _seed_name(node: Any, node_id: Hashable) -> Any:
    """How results name the seed that led to them: its artifact, else its id, in JSON's types."""
    named = getattr(node, "artifact_id", None) or node_id
    return list(named) if isinstance(named, tuple) else named


class _Policy:
    """What most policies share: every offered node is worth committing, and only the bounds end the walk."""

    def select(self, state: WalkState, scored: Sequence[Scored]) -> Sequence[Scored]:
        return scored

    def stop(self, state: WalkState) -> bool:
        return False


class _Surface(NamedTuple):
    """A node of a collapsed tree: one stored surface, scored by its cosine to the query."""

    artifact_id: str
    kind: str
    surface_index: int | None
    hit: SearchHit


def collapsed_tree_policy(
    *,
    summary_kinds: Iterable[str] = DFLT_SUMMARY_KINDS,
    leaf_kinds: Iterable[str] = DFLT_LEAF_KINDS,
    seed_k: int = DFLT_SEED_K,
) -> WalkPolicy:
    """Route by summaries: find the best ``seed_k`` summary surfaces, then rank the leaves of their artifacts.

    For walks over a corpus. A summary is a result only where its artifact has no leaves; a corpus that has no
    summaries at all is searched by its leaves directly.
    """
    return _CollapsedTree(frozenset(summary_kinds), frozenset(leaf_kinds), count("seed_k", seed_k))


class _CollapsedTree(_Policy):
    def __init__(self, summary_kinds: frozenset[str], leaf_kinds: frozenset[str], seed_k: int) -> None:
        self.summary_kinds = summary_kinds
        self.leaf_kinds = leaf_kinds
        self.seed_k = seed_k

    def seed(self, state: WalkState, store: CorpusOrName) -> list[_Surface]:
        from ir.retrieve import search

        corpus = _opened(state, store)
        with corpus.store.snapshot() as snapshot:
            kinds = snapshot.kinds()
        summaries = self.summary_kinds & kinds
        wanted = summaries or self.leaf_kinds & kinds
        if not wanted:
            return []
        hits = search(corpus, state.query, k=self.seed_k, mode="dense", surfaces=wanted, per_artifact=bool(summaries))
        return [_Surface(hit.artifact_id, hit.surface_kind, hit.surface_index, hit) for hit in hits]

    def score(self, state: WalkState, node: _Surface, store: CorpusOrName) -> float:
        return node.hit.score

    def expand(self, state: WalkState, node: _Surface, store: CorpusOrName) -> list[_Surface]:
        return [] if node.kind in self.leaf_kinds else self._leaves(state, node.artifact_id)

    def node_id(self, node: _Surface) -> Hashable:
        return (node.artifact_id, node.kind, node.surface_index)

    def to_hit(self, state: WalkState, node: _Surface, score: float, depth: int) -> SearchHit | None:
        routes = node.kind not in self.leaf_kinds and state.max_depth > 0 and self._leaves(state, node.artifact_id)
        return None if routes else node.hit

    def _leaves(self, state: WalkState, artifact_id: str) -> list[_Surface]:
        found: dict[str, list[_Surface]] = state.cache.setdefault("leaves", {})
        if artifact_id not in found:
            corpus = state.cache["corpus"]
            records = [record for record in _records(corpus, artifact_id) if record.surface_kind in self.leaf_kinds]
            scores = _cosines(state, corpus, records)
            found[artifact_id] = [
                _Surface(artifact_id, record.surface_kind, record.surface_index, _hit(record, score, corpus.name))
                for record, score in zip(records, scores, strict=True)
            ]
        return found[artifact_id]


def reverse_dependency_policy(
    *,
    seeds: Iterable[str | tuple[str, str]] | None = None,
    edge_type: str = REF,
    fan_in_weight: float = 0.0,
    proximity_weight: float = 0.0,
    seed_k: int = 3,
) -> WalkPolicy:
    """What depends on the seeds, directly or through others: edges are walked against their direction.

    For walks over a :class:`~ir.graph.CorpusGraph` (or what one is made of). ``seeds`` are artifact ids, not
    necessarily of artifacts that are indexed; without them the best ``seed_k`` matches of the query are taken. They
    are not results themselves. A dependent's score is its best cosine to the query (over a bare store, its nearness
    to the seed), plus ``fan_in_weight`` times its share of the largest fan-in, plus ``proximity_weight`` / (1 + depth).
    """
    return _ReverseDependency(
        None if seeds is None else tuple(seeds), edge_type, fan_in_weight, proximity_weight, seed_k
    )


#: What a graph can be walked over: one that is made already, or what one is made of.
Linked: TypeAlias = "CorpusGraph | StoreOrName"


class _Dependent(NamedTuple):
    """A node of a dependency walk."""

    artifact_id: str
    depth: int


class _ReverseDependency(_Policy):
    def __init__(
        self,
        seeds: tuple[str | tuple[str, str], ...] | None,
        edge_type: str,
        fan_in_weight: float,
        proximity_weight: float,
        seed_k: int,
    ) -> None:
        self.seeds = seeds
        self.edge_type = edge_type
        self.fan_in_weight = fan_in_weight
        self.proximity_weight = proximity_weight
        self.seed_k = seed_k

    def seed(self, state: WalkState, store: Linked) -> list[_Dependent]:
        graph = self._graph(state, store)
        if self.seeds is not None:
            named = [canonical_node_id(seed, source=graph.source) for seed in self.seeds]
            return [_Dependent(artifact_id, 0) for source, artifact_id in named if source == graph.source]
        from ir.retrieve import search

        if not isinstance(graph.corpus, Corpus):
            raise InvalidInput(
                "Without seeds the walk starts from a search: make the graph of a corpus, not of a store."
            )
        hits = search(graph.corpus, state.query, k=self.seed_k)
        return [_Dependent(hit.artifact_id, 0) for hit in hits]

    def score(self, state: WalkState, node: _Dependent, store: Linked) -> float:
        graph = self._graph(state, store)
        nearness = 1.0 / (1 + node.depth)
        score = self.proximity_weight * nearness
        if isinstance(graph.corpus, Corpus):
            score += max(_cosines(state, graph.corpus, _records(graph.store, node.artifact_id)), default=0.0)
        else:
            score += nearness
        if self.fan_in_weight:
            if "max_fan_in" not in state.cache:
                state.cache["max_fan_in"] = graph.max_fan_in(edge_type=self.edge_type)
            most = state.cache["max_fan_in"]
            fan_in = graph.fan_in(node.artifact_id, edge_type=self.edge_type)
            score += self.fan_in_weight * (log1p(fan_in) / log1p(most) if most else 0.0)
        return score

    def expand(self, state: WalkState, node: _Dependent, store: Linked) -> list[_Dependent]:
        origins = self._graph(state, store).reverse_neighbors(node.artifact_id, edge_type=self.edge_type)
        return [_Dependent(origin, node.depth + 1) for origin in origins]

    def node_id(self, node: _Dependent) -> Hashable:
        return node.artifact_id

    def to_hit(self, state: WalkState, node: _Dependent, score: float, depth: int) -> SearchHit | None:
        graph = state.cache["graph"]
        records = _records(graph.store, node.artifact_id) if depth else []
        return _hit(records[0], score, graph.source) if records else None

    def _graph(self, state: WalkState, store: Linked) -> CorpusGraph:
        if "graph" not in state.cache:
            if isinstance(store, CorpusGraph):
                state.cache["graph"] = store
            else:
                state.cache["graph"] = CorpusGraph(
                    _opened(state, store) if isinstance(store, str | PathLike) else store
                )
        graph: CorpusGraph = state.cache["graph"]
        return graph


def _opened(state: WalkState, given: CorpusOrName) -> Corpus:
    """The corpus a walk goes over, opened once if it was named."""
    if "corpus" not in state.cache:
        state.cache["corpus"] = as_corpus(given)
    corpus: Corpus = state.cache["corpus"]
    return corpus


def _records(corpus: StoreOrName, artifact_id: str) -> list[Record]:
    """The records of an artifact; none if it is not indexed here."""
    from ir.retrieve import records_for_artifact

    try:
        return records_for_artifact(corpus, artifact_id)
    except NoLedgerEntry:
        return []


def _cosines(state: WalkState, corpus: Corpus, records: Sequence[Record]) -> list[float]:
    """The cosine of each record to the query, which is embedded once."""
    import numpy as np

    from ir.retrieve.channels import embed_query

    if not records:
        return []
    rows = np.stack([record.vector for record in records]).astype(np.float32)
    if "vector" not in state.cache:
        state.cache["vector"] = embed_query(corpus.embedder, state.query, rows.shape[1])
    lengths = np.linalg.norm(rows, axis=1)
    lengths[lengths == 0] = 1.0
    return [float(score) for score in (rows @ state.cache["vector"]) / lengths]


def _hit(record: Record, score: float, source: str | None) -> SearchHit:
    return SearchHit(
        record.artifact_id, record.surface_kind, score, record.text, record.metadata, source, record.surface_index
    )
