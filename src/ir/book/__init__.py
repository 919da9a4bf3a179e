"""How does a book become passages that lead to each other?"""

from __future__ import annotations

from ir.book.enrichment import Enrichment
from ir.book.strategy import RELATIONS, Book

__all__ = ["RELATIONS", "Book", "Enrichment"]
