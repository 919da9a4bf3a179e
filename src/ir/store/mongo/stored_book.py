"""A book as the collections of other systems hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir.errors import InvalidInput

__all__ = ["Collection", "Document", "StoredBook", "Tell", "Written", "check_sizes"]

Document = dict[str, Any]
#: Gives a collection by its name, as the driver has it.
Collection = Callable[[str], Any]
#: Told of each collection how many documents of the book it holds by now.
Tell = Callable[[str, int], None]


@dataclass(frozen=True)
class StoredBook:
    """A book as the collections hold it, or are to hold it.

    ``chunks`` are in the order of the book, each with ``chunk_id`` and ``text``. ``embeddings`` are by model and chunk:
    a vector, and a hash of what it was made of. ``edges`` have ``source_id``, ``target_id``, ``relation`` and
    ``metadata``; ``nodes`` have ``node_id``, ``node_type`` and ``metadata``.
    """

    ruleset_id: str
    book_id: str
    chunks: Sequence[Document]
    embeddings: Mapping[str, Mapping[str, tuple[Sequence[float], str]]] = field(default_factory=dict)
    edges: Sequence[Document] = ()
    nodes: Sequence[Document] = ()

    @property
    def key(self) -> Document:
        return {"ruleset_id": self.ruleset_id, "book_id": self.book_id}

    @property
    def name(self) -> str:
        return f"{self.ruleset_id}/{self.book_id}"


@dataclass(frozen=True)
class Written:
    """How many documents of each collection were written and removed, and how many were there already."""

    written: Mapping[str, int]
    removed: Mapping[str, int]
    unchanged: Mapping[str, int]


def check_sizes(vectors: Iterable[tuple[str, Sequence[float]]], book: StoredBook, model: str) -> None:
    """Refuse vectors of different sizes: they are not of one model."""
    first: tuple[str, int] | None = None
    for name, vector in vectors:
        first = first or (name, len(vector))
        if len(vector) != first[1] or not vector:
            raise InvalidInput(
                f"The embedding of chunk {name!r} of {book.name} by {model!r} has {len(vector)} dimensions, that of "
                f"{first[0]!r} {first[1]}: one model makes vectors of one size.",
                remedy="Make the embeddings of that model again.",
            )
