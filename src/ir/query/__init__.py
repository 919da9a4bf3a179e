"""How is a composed query answered, and what really ran?

:func:`ontology_query` is the door: dense and keyword search side by side, fused, perhaps reranked, with what the
results are linked to, from a cache that knows the version of the corpus.
"""

from ir.query.cache import QueryKey, VersionedCache
from ir.query.envelope import QueryAnswer, QueryMeta, QueryResult
from ir.query.events import METRICS, Event, listen
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
