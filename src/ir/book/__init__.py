"""How does a book become passages that lead to each other?"""

from __future__ import annotations

from ir.book.boosts import GraphBoost
from ir.book.enrichment import Enrichment
from ir.book.mongo import MongoBook, load_from_mongo, store_to_mongo
from ir.book.strategy import RELATIONS, Book
from ir.book.traversal import TraversalConfig, TraversalIndex, retrieve_candidates

__all__ = [
    "RELATIONS",
    "Book",
    "Enrichment",
    "GraphBoost",
    "MongoBook",
    "TraversalConfig",
    "TraversalIndex",
    "load_from_mongo",
    "retrieve_candidates",
    "store_to_mongo",
]
