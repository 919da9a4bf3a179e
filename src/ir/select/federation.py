"""Discovery over several corpora: each gated by its own floor, then merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir.base import Hits, SearchHit, tag_source
from ir.errors import InvalidInput
from ir.options import DFLT_RRF_K, choice
from ir.select.checks import count, number
from ir.select.gating import AUTO, DiscoveryResult, Floor, Gated, Request, floors_by_name, gate_source, opened
from ir.select.magnitude import COMPARABLE, magnitude
from ir.select.selection import apply_rule

__all__ = ["MERGES", "Merge", "discover_federated"]

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

    def check(self, sources: Mapping[str, Any]) -> None:
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
            return merged[:k]
        if self.how == "rrf":
            by_source: dict[str | None, Sequence[SearchHit]] = dict(found.items())
            return fuse_hits(by_source, rrf_k=self.rrf_k or DFLT_RRF_K, weights=self.weights, k=k)
        scored = [_by_magnitude(hit, hits.meta) for name, hits in found.items() for hit in tag_source(hits, name)]
        return sorted(scored, key=lambda hit: -hit.score)[:k]


def share_embedder(corpora: Iterable[Any]) -> bool:
    """Whether scores of these corpora are on one scale, as far as the model decides it."""
    return len({corpus.embedder_id for corpus in corpora}) == 1


def discover_federated(corpora: Sequence[Any], request: Request, min_score: Any, merge: Merge) -> DiscoveryResult:
    """:func:`ir.discover` for a list of corpora."""
    sources = _named(corpora)
    floors = _floors(min_score, list(sources))
    merge.check(sources)
    gated = _gate_all(sources, request, floors)
    found = {name: one.hits for name, one in gated.items() if one.hits and not one.abstained}
    ranking = merge(found, int(request.search_kw["k"]))
    shared = share_embedder(sources.values()) and request.mode != "lexical"
    meta = {"mode": request.mode, COMPARABLE: shared and not callable(merge.how), **_common(found)}
    if callable(merge.how):
        meta["fusion"] = None  # the callable's scores are its own: take them as they are
    rule = replace(request.rule, min_score=None)
    selection = apply_rule(Hits(ranking, meta), rule)
    if selection.abstained and not found and any(one.hits for one in gated.values()):
        selection = replace(selection, reason="abstain:below_floor")
    signals: dict[str, Any] = {
        "merge": merge.name,
        "sources": list(sources),
        "per_source": {name: one.signals() for name, one in gated.items()},
        "notes": [note for one in gated.values() for note in (*one.hits.meta.get("notes", ()), *one.notes)],
        "degraded": sorted({part for one in gated.values() for part in one.hits.meta.get("degraded", ())}),
    }
    if merge.how == "rrf":
        signals["merge_rrf_k"] = merge.rrf_k or DFLT_RRF_K
    n_retrieved = sum(len(one.hits) for one in gated.values())
    return request.result(selection, n_retrieved, corpus=sources, signals=signals, answerable=_answerable(gated))


def _named(corpora: Sequence[Any]) -> dict[str, Any]:
    if not corpora:
        raise InvalidInput("Give at least one corpus to discover in.")
    sources: dict[str, Any] = {}
    for each in corpora:
        corpus = opened(each)
        if corpus.name in sources:
            raise InvalidInput(f"The corpus {corpus.name!r} is given twice; each source needs a name of its own.")
        sources[corpus.name] = corpus
    return sources


def _floors(min_score: Any, names: list[str]) -> dict[str, Floor]:
    if min_score is None or min_score == AUTO:
        return dict.fromkeys(names, min_score)
    if isinstance(min_score, Mapping):
        return floors_by_name(min_score, names)
    raise InvalidInput(
        f"min_score={min_score!r} cannot be the floor of several corpora, whose scores are on different scales.",
        remedy="Use 'auto', or a mapping such as {" + f"{names[0]!r}: 0.4" + "}.",
    )


def _gate_all(sources: Mapping[str, Any], request: Request, floors: Mapping[str, Floor]) -> dict[str, Gated]:
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


def _kinds(corpus: Any) -> frozenset[str]:
    with corpus.store.snapshot() as snapshot:
        return frozenset(snapshot.kinds())


def _by_magnitude(hit: SearchHit, meta: Mapping[str, Any]) -> SearchHit:
    strength = magnitude(hit, meta)
    if strength == hit.score:
        return hit
    return replace(hit, score=strength)


def _common(found: Mapping[str, Hits]) -> dict[str, Any]:
    """How the sources' hits were made, for reading their magnitude: the same search ran in each."""
    for hits in found.values():
        return {key: hits.meta[key] for key in ("fusion", "reranked") if key in hits.meta}
    return {}


def _answerable(gated: Mapping[str, Gated]) -> dict[str, Any] | None:
    """The best source's answer; nothing if some source is uncalibrated, since it may be about the query."""
    answers = [{**one.answerable, "source": name} for name, one in gated.items() if one.answerable]
    return max(answers, key=_confidence) if len(answers) == len(gated) else None


def _confidence(answer: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """What passed its floor first, then probabilities, which say more than shares of probes, then the number."""
    probability = answer["probability"]
    value = answer["above_probes"] if probability is None else probability
    return answer["score"] >= answer["floor"], probability is not None, float(value)
