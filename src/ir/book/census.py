"""What is in a corpus of books: its documents, passages and links, counted from what the store holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ir.book.elsewhere import Unresolved, unresolved_in
from ir.protocols import Store

__all__ = ["BookCensus", "book_census"]


@dataclass
class BookCensus:
    """``nodes`` by type, ``links`` by relation, ``kinds`` of passages, where one is known.

    ``unresolved`` are the references that lead nowhere, ``elsewhere`` how many lead to other books. ``queries`` counts
    questions that came with the books; ``unanswerable`` are those of them whose expected chunks are not here.
    """

    documents: list[str] = field(default_factory=list)
    nodes: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    unresolved: list[Unresolved] = field(default_factory=list)
    elsewhere: int = 0
    queries: int = 0
    unanswerable: list[str] = field(default_factory=list)


def book_census(store: Store) -> BookCensus:
    """Count a corpus; everything is read once."""
    found = BookCensus()
    asked: list[dict[str, Any]] = []
    chunks: set[str] = set()
    for nodes in store.iter_nodes():
        for node in nodes:
            found.nodes[node.type] += 1
            if node.type == "document":
                found.documents.append(node.id)
                asked += node.properties.get("queries", ())
            elif node.type == "chunk":
                chunks.add(node.id)
                if node.properties.get("content_kind"):
                    found.kinds[str(node.properties["content_kind"])] += 1
    led: set[tuple[str, str]] = set()
    for batch in store.iter_edges():
        for source, edges in batch:
            for edge in edges:
                found.links[edge.type] += 1
                if edge.corpus is not None:
                    found.elsewhere += 1
                    led.add((source, str(edge.properties.get("said", ""))))
    found.unresolved = [one for one in unresolved_in(store) if (one.chunk, one.said) not in led]
    found.queries = len(asked)
    found.unanswerable = [
        str(one.get("id", one["query_text"])) for one in asked if not chunks.intersection(one["expected_chunk_ids"])
    ]
    return found
