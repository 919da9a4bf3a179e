"""How is a composed query answered, and what really ran?

:func:`ontology_query` is the door: dense and keyword search side by side, fused, perhaps reranked, with what the
results are linked to, from a cache that knows the version of the corpus. Names are loaded when they are first used:
a command that only asks what may be asked needs no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.events import METRICS, Event, listen
    from ir.query.cache import QueryKey, VersionedCache
    from ir.query.envelope import QueryAnswer, QueryMeta, QueryResult
    from ir.query.expansion import ExpandedContext, expand
    from ir.query.hybrid import HybridQueryOptions
    from ir.query.parameters import OntologyQuery
    from ir.query.pipeline import Answers, Parts, ontology_query

__all__ = [
    "METRICS",
    "Answers",
    "Event",
    "ExpandedContext",
    "HybridQueryOptions",
    "OntologyQuery",
    "Parts",
    "QueryAnswer",
    "QueryKey",
    "QueryMeta",
    "QueryResult",
    "VersionedCache",
    "expand",
    "listen",
    "ontology_query",
]

_HOMES = {
    "Answers": "ir.query.pipeline",
    "Event": "ir.events",
    "ExpandedContext": "ir.query.expansion",
    "HybridQueryOptions": "ir.query.hybrid",
    "METRICS": "ir.events",
    "OntologyQuery": "ir.query.parameters",
    "Parts": "ir.query.pipeline",
    "QueryAnswer": "ir.query.envelope",
    "QueryKey": "ir.query.cache",
    "QueryMeta": "ir.query.envelope",
    "QueryResult": "ir.query.envelope",
    "VersionedCache": "ir.query.cache",
    "expand": "ir.query.expansion",
    "listen": "ir.events",
    "ontology_query": "ir.query.pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
