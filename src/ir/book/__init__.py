"""How does a book become passages that lead to each other?"""

from __future__ import annotations

from ir.book.boosts import GraphBoost
from ir.book.enrichment import Enrichment
from ir.book.naming import retrieve_candidates
from ir.book.retrieval import Retrieved, retrieve
from ir.book.strategy import RELATIONS, Book
from ir.book.traversal import TraversalConfig, TraversalIndex

__all__ = [
    "RELATIONS",
    "Book",
    "Enrichment",
    "GraphBoost",
    "Retrieved",
    "TraversalConfig",
    "TraversalIndex",
    "retrieve",
    "retrieve_candidates",
]
