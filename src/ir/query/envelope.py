"""The answer of a composed query: results, and an envelope that tells what really ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ir.events import SINKS
from ir.query.expansion import ExpandedContext
from ir.query.saturation import REASON

__all__ = ["SINKS", "QueryAnswer", "QueryMeta", "QueryResult", "answer_schema"]

_TEXT = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}
_FLAG = {"type": "boolean"}


@dataclass(frozen=True)
class QueryResult:
    """A chunk. ``source_ranks`` has its rank in each list that it was in, ``similarity`` is by the distance metric."""

    chunk_id: str
    artifact_id: str
    rank: int
    score: float
    text: str
    symbol_key: str | None
    object_type: str | None
    chunk_level: str | None
    provenance: str | None
    path: str
    line_start: int | None
    line_end: int | None
    source_ranks: Mapping[str, int]
    similarity: float | None = None
    signature: str | None = None
    doc: str | None = None
    symbol_keys: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """In JSON's types, with stars for keys in its texts."""
        from ir.secrets.texts import for_show

        out: dict[str, Any] = {
            "chunkId": self.chunk_id,
            "symbolKey": self.symbol_key,
            "objectType": self.object_type,
            "chunkLevel": self.chunk_level,
            "provenance": self.provenance,
            "path": self.path,
            "lineStart": self.line_start,
            "lineEnd": self.line_end,
            "score": self.score,
            "sourceRanks": dict(self.source_ranks),
            "similarity": None if self.similarity is None else round(self.similarity, 6),
            "text": for_show(self.text),
        }
        for name, value in (("signature", self.signature), ("doc", self.doc)):
            if value is not None:
                out[name] = for_show(value)
        return out


@dataclass(frozen=True)
class QueryMeta:
    """What ran, not what was asked for. A value that could not be true is an error here, before anybody reads it."""

    ontology_version: str
    hybrid: bool = False
    reranked: bool = False
    skipped_rerank: str | None = None
    cache_hit: bool = False
    degraded: tuple[str, ...] = ()
    could_benefit_from_link_expansion: bool = False
    expanded_context: tuple[ExpandedContext, ...] = ()
    backend: str | None = None
    reranker: str | None = None
    branch: str = "main"
    timings: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(bool(self.ontology_version), "a query is answered from some version")
        _check(self.skipped_rerank in (None, REASON), f"skippedRerank is null or {REASON!r}")
        _check(set(self.degraded) <= set(SINKS), f"degraded names one of {SINKS}")
        _check(len(set(self.degraded)) == len(self.degraded), "degraded names each part once")
        _check(not (self.reranked and self.skipped_rerank), "what was skipped did not run")
        _check(not (self.reranked and "reranker" in self.degraded), "a reranker that failed did not rerank")
        _check(not (self.hybrid and {"dense", "keyword"} & set(self.degraded)), "one side alone is no hybrid")
        _check(not (self.expanded_context and "graphExpansion" in self.degraded), "a failed expansion gave nothing")
        _check(all(isfinite(ms) and ms >= 0 for ms in self.timings.values()), "times are not negative")

    def to_dict(self) -> dict[str, Any]:
        return {
            "ontologyVersion": self.ontology_version,
            "hybrid": self.hybrid,
            "reranked": self.reranked,
            "skippedRerank": self.skipped_rerank,
            "cacheHit": self.cache_hit,
            "degraded": list(self.degraded),
            "couldBenefitFromLinkExpansion": self.could_benefit_from_link_expansion,
            "expandedContext": [one.to_dict() for one in self.expanded_context],
            "backend": self.backend,
            "reranker": self.reranker,
            "branch": self.branch,
            "timings": {name: round(ms, 3) for name, ms in self.timings.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class QueryAnswer:
    """Results, best first, and how they came about."""

    results: tuple[QueryResult, ...]
    meta: QueryMeta

    def to_dict(self) -> dict[str, Any]:
        return {"results": [one.to_dict() for one in self.results], "_meta": self.meta.to_dict()}


def _check(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(f"This is no envelope of a query: {rule}.")


def answer_schema() -> dict[str, Any]:
    """The JSON Schema of :meth:`QueryAnswer.to_dict`."""
    whole = {"type": ["integer", "null"]}
    number = {"type": ["number", "null"]}
    result = {
        "chunkId": _TEXT,
        "symbolKey": _NULLABLE,
        "objectType": _NULLABLE,
        "chunkLevel": _NULLABLE,
        "provenance": _NULLABLE,
        "path": _TEXT,
        "lineStart": whole,
        "lineEnd": whole,
        "score": {"type": "number"},
        "sourceRanks": {"type": "object", "additionalProperties": {"type": "integer"}},
        "similarity": number,
        "text": _TEXT,
        "signature": _TEXT,
        "doc": _TEXT,
    }
    meta = {
        "ontologyVersion": _TEXT,
        "hybrid": _FLAG,
        "reranked": _FLAG,
        "skippedRerank": {"enum": [None, REASON]},
        "cacheHit": _FLAG,
        "degraded": {"type": "array", "items": {"enum": list(SINKS)}},
        "couldBenefitFromLinkExpansion": _FLAG,
        "expandedContext": {"type": "array", "items": _context_schema()},
        "backend": _NULLABLE,
        "reranker": _NULLABLE,
        "branch": _TEXT,
        "timings": {"type": "object", "additionalProperties": {"type": "number"}},
        "notes": {"type": "array", "items": _TEXT},
    }
    results = {"type": "array", "items": _object(result, optional=("signature", "doc"))}
    return _object({"results": results, "_meta": _object(meta)})


def _context_schema() -> dict[str, Any]:
    node = {
        "symbolKey": _TEXT,
        "objectType": _TEXT,
        "name": _TEXT,
        "path": _TEXT,
        "line": {"type": "integer"},
    }
    context = {
        "linkedNode": _object(node, optional=("path", "line")),
        "linkName": _TEXT,
        "direction": {"enum": ["out", "in"]},
        "resolution": _TEXT,
        "representativeChunkId": _NULLABLE,
        "linkedFromDocumentId": _TEXT,
    }
    return _object(context, optional=("resolution",))


def _object(properties: Mapping[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
