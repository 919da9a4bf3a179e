"""Discovery over several corpora: each gated by its own floor, then merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir.base import Hits, SearchHit, tag_source
from ir.errors import InvalidInput
from ir.index.opening import as_corpus
from ir.options import DFLT_RRF_K, choice
from ir.protocols import Corpora, Corpus
from ir.select.checks import count, number
from ir.select.gated_source import (
    AUTO,
    Floor,
    Gated,
    Request,
    floors_by_name,
    gate_source,
)
from ir.select.magnitude import COMPARABLE, magnitude
from ir.select.result import DiscoveryResult
from ir.select.selection import apply_rule

__all__ = ["MERGES", "Merge", "discover_federated", "floors_of", "gate_all", "sources_by_name"]

MERGES = ("rrf", "score")


@dataclass(frozen=True)
class Merge:
    """How rankings of several sources become one."""

    how: str | Callable[..., Any] = "rrf"
    weights: Mapping[str, float] | None = None
    rrf_k: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.how):
            choice("merge", self.how, MERGES)
        if self.rrf_k is not None:
            count("merge_rrf_k", self.rrf_k)
        if self.how != "rrf" and (self.weights is not None or self.rrf_k is not None):
            raise InvalidInput(f"merge_weights and merge_rrf_k belong to merge='rrf', not to {self.name!r}.")
        for source, weight in (self.weights or {}).items():
            if number(f"The merge weight of {source!r}", weight) < 0:
                raise InvalidInput(f"The merge weight of {source!r} must be at least 0, not {weight!r}.")

    @property
    def name(self) -> str:
        return self.how if isinstance(self.how, str) else str(getattr(self.how, "__name__", "custom"))

    def check(self, sources: Mapping[str, Corpus]) -> None:
        """Whether it can be done for these sources."""
        unknown = [name for name in self.weights or () if name not in sources]
        if unknown:
            raise InvalidInput(
                f"merge_weights names {', '.join(map(repr, unknown))}, but the sources are "
                f"{', '.join(map(repr, sources))}."
            )
        if self.how == "score" and not share_embedder(sources.values()):
            made = ", ".join(f"{name!r}: {corpus.embedder_id!r}" for name, corpus in sources.items())
            raise InvalidInput(
                f"merge='score' compares raw scores, but the sources have different embedders ({made}).",
                remedy="Use merge='rrf', or build them with one embedder.",
            )

    def __call__(self, found: Mapping[str, Hits], k: int) -> list[SearchHit]:
        from ir.retrieve import fuse_hits

        if not found:
            return []
        if callable(self.how):
            merged = list(self.how({name: list(hits) for name, hits in found.items()}))
            if not all(isinstance(hit, SearchHit) for hit in merged):
                raise InvalidInput("The merge callable must return search hits.")
            # The callable's scores are its own: take them as they are.
            return [replace(hit, ordinal=False) for hit in merged[:k]]
        if self.how == "rrf":
            by_source: dict[str | None, Sequence[SearchHit]] = dict(found.items())
            return fuse_hits(by_source, rrf_k=self.rrf_k or DFLT_RRF_K, weights=self.weights, k=k)
        scored = [_by_magnitude(hit) for name, hits in found.items() for hit in tag_source(hits, name)]
        return sorted(scored, key=lambda hit: -hit.score)[:k]


def share_embedder(corpora: Iterable[Corpus]) -> bool:
    """Whether scores of these corpora are on one scale, as far as the model decides it."""
    return len({corpus.embedder_id for corpus in corpora}) == 1


def discover_federated(corpora: Corpora, request: Request, min_score: Any, merge: Merge) -> DiscoveryResult:
    """:func:`ir.discover` for a list of corpora."""
    sources = sources_by_name(corpora)
    floors = floors_of(min_score, list(sources))
    merge.check(sources)
    gated = gate_all(sources, request, floors)
    found = {name: one.hits for name, one in gated.items() if one.hits and not one.abstained}
    ranking = merge(found, int(request.search_kw["k"]))
    shared = share_embedder(sources.values()) and request.mode != "lexical"
    meta = {"mode": request.mode, COMPARABLE: shared and not callable(merge.how)}
    rule = replace(request.rule, min_score=None)
    selection = apply_rule(Hits(ranking, meta), rule)
    if selection.abstained and not found and any(one.hits for one in gated.values()):
        selection = replace(selection, reason="abstain:below_floor")
    signals: dict[str, Any] = {
        "merge": merge.name,
        "sources": list(sources),
        "per_source": {name: one.signals(request.mode) for name, one in gated.items()},
        "notes": [note for one in gated.values() for note in (*one.hits.meta.get("notes", ()), *one.notes)],
        "degraded": sorted({part for one in gated.values() for part in one.hits.meta.get("degraded", ())}),
    }
    if merge.how == "rrf":
        signals["merge_rrf_k"] = merge.rrf_k or DFLT_RRF_K
    n_retrieved = sum(len(one.hits) for one in gated.values())
    return request.result(selection, n_retrieved, corpus=sources, signals=signals, answerable=_answerable(gated))


def sources_by_name(corpora: Corpora) -> dict[str, Corpus]:
    """Each corpus, opened, under its name."""
    if not corpora:
        raise InvalidInput("Give at least one corpus to discover in.")
    sources: dict[str, Corpus] = {}
    for each in corpora:
        corpus = as_corpus(each)
        if corpus.name in sources:
            raise InvalidInput(f"The corpus {corpus.name!r} is given twice; each source needs a name of its own.")
        sources[corpus.name] = corpus
    return sources


def floors_of(min_score: Any, names: list[str]) -> dict[str, Floor]:
    """The floor of each source."""
    if min_score is None or min_score == AUTO:
        return dict.fromkeys(names, min_score)
    if isinstance(min_score, Mapping):
        return floors_by_name(min_score, names)
    raise InvalidInput(
        f"min_score={min_score!r} cannot be the floor of several corpora, whose scores are on different scales.",
        remedy="Use 'auto', or a mapping such as {" + f"{names[0]!r}: 0.4" + "}.",
    )


def gate_all(sources: Mapping[str, Corpus], request: Request, floors: Mapping[str, Floor]) -> dict[str, Gated]:
    """Every source searched. A surface kind that only some sources have is asked of those, and weighed there."""
    asked, weights = (request.search_kw.get(name) for name in ("surfaces", "surface_weights"))
    weights = weights if isinstance(weights, Mapping) else {}
    if asked is None and not weights:
        return {name: gate_source(corpus, request, floors[name]) for name, corpus in sources.items()}
    wanted = [asked] if isinstance(asked, str) else list(asked or ())
    kinds = {name: _kinds(corpus) for name, corpus in sources.items()}
    anywhere = frozenset[str]().union(*kinds.values())
    if anywhere:
        for kind in (*wanted, *weights):
            choice("surface", kind, sorted(anywhere))
    gated: dict[str, Gated] = {}
    for name, corpus in sources.items():
        own = kinds[name]
        here = [kind for kind in wanted if kind in own]
        if wanted and own and not here:
            note = f"{name!r} has no surface {', '.join(map(repr, wanted))}."
            gated[name] = Gated(Hits((), {}), False, None, None, None, None, (note,))
            continue
        overrides: dict[str, Any] = {} if asked is None else {"surfaces": here or wanted}
        if weights:
            overrides["surface_weights"] = {kind: weight for kind, weight in weights.items() if kind in own} or None
        gated[name] = gate_source(corpus, request, floors[name], **overrides)
    return gated


def _kinds(corpus: Corpus) -> frozenset[str]:
    with corpus.store.snapshot() as snapshot:
        return frozenset(snapshot.kinds())


def _by_magnitude(hit: SearchHit) -> SearchHit:
    return replace(hit, score=magnitude(hit), ordinal=False)


def _answerable(gated: Mapping[str, Gated]) -> dict[str, Any] | None:
    """The best source's answer; nothing if some source is uncalibrated, since it may be about the query."""
    answers = [{**one.answerable, "source": name} for name, one in gated.items() if one.answerable]
    return max(answers, key=_confidence) if len(answers) == len(gated) else None


def _confidence(answer: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """What passed its floor first, then probabilities, which say more than shares of probes, then the number."""
    probability = answer["probability"]
    value = answer["above_probes"] if probability is None else probability
    return answer["score"] >= answer["floor"], probability is not None, float(value)
