"""How does a book become passages that lead to each other?"""

from __future__ import annotations

from ir.book.boosts import GraphBoost
from ir.book.enrichment import Enrichment
from ir.book.mongo import MongoBook, load_from_mongo, store_to_mongo
from ir.book.naming import retrieve_candidates
from ir.book.retrieval import Retrieved, retrieve, score_parts
from ir.book.strategy import RELATIONS, Book
from ir.book.traversal import TraversalConfig, TraversalIndex

__all__ = [
    "RELATIONS",
    "Book",
    "Enrichment",
    "GraphBoost",
    "MongoBook",
    "Retrieved",
    "TraversalConfig",
    "TraversalIndex",
    "load_from_mongo",
    "retrieve",
    "retrieve_candidates",
    "score_parts",
    "store_to_mongo",
]
