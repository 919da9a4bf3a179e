"""Books in plain collections that other systems read: chunks, their embeddings, a graph, how to walk it.

These are not the collections of a corpus. Their names, fields and indexes belong to a pipeline that writes them and a
service that reads them; here they are written and read as those do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ir.errors import InvalidInput
from ir.store.mongo import book_reader
from ir.store.mongo.address import Address
from ir.store.mongo.book_writer import BookWriter
from ir.store.mongo.connection import Connection, driver, translated
from ir.store.mongo.stored_book import Document, StoredBook, Tell, Written

__all__ = ["COLLECTIONS", "BookCollections"]

#: The collections, with the fields of their indexes and whether those are unique.
COLLECTIONS: Mapping[str, Sequence[tuple[Sequence[tuple[str, int]], bool]]] = {
    "enriched_chunks": (),
    "chunk_embeddings": (
        ((("ruleset_id", 1), ("book_id", 1), ("model_id", 1)), False),
        ((("chunk_id", 1), ("model_id", 1)), True),
    ),
    "graph_edges": (
        ((("ruleset_id", 1), ("book_id", 1)), False),
        ((("source_id", 1),), False),
        ((("target_id", 1),), False),
    ),
    "graph_nodes": (),
    "traversal_configs": (((("ruleset_id", 1), ("version", -1)), True),),
    "traversal_indexes": (((("ruleset_id", 1), ("book_id", 1), ("run_id", 1)), True),),
}


class BookCollections:
    """The collections in one database. ``address`` is ``mongodb://host/database``; ``MONGODB_URI`` if none is given."""

    def __init__(self, address: str | Address | None = None) -> None:
        driver()
        found = address or os.environ.get("MONGODB_URI")
        if not found:
            raise InvalidInput(
                "It is not said which MongoDB holds the books.",
                remedy="Give its address, as mongodb://host/database, or put it into MONGODB_URI.",
            )
        self.address = Address.parse(found) if isinstance(found, str) else found
        self._connection = Connection(self.address)

    def __enter__(self) -> BookCollections:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def label(self) -> str:
        """The address as it may be shown."""
        return self.address.label.rpartition("/")[0]

    def collection(self, name: str) -> Any:
        """One of them, as the driver has it."""
        return self._connection.database[name]

    def check(self) -> None:
        """An error now, if the server cannot be reached: not after hours of work for what is to be written there."""
        with translated(self.address):
            self._connection.database.list_collection_names()

    def make(self) -> None:
        """The collections with their indexes; what is there stays."""
        with translated(self.address):
            there = set(self._connection.database.list_collection_names())
            for name, indexes in COLLECTIONS.items():
                models = [driver().IndexModel(list(fields), unique=unique) for fields, unique in indexes]
                if models:
                    self.collection(name).create_indexes(models)
                elif name not in there:
                    self._connection.database.create_collection(name)

    def write(self, book: StoredBook, *, run_id: str, tell: Tell = lambda *_: None) -> Written:
        """Make the collections hold the book as it is now; what did not change is left alone."""
        self.make()
        with translated(self.address):
            return BookWriter(self.collection, book, run_id, self.label).write(tell)

    def write_config(self, ruleset_id: str, version: str, told: Mapping[str, Any]) -> None:
        """Keep a traversal configuration under its ruleset and version."""
        self.make()
        now, dated = datetime.now(UTC), ("ruleset_id", "version", "created_at", "updated_at")
        fields = {key: value for key, value in told.items() if key not in dated}
        with translated(self.address):
            self.collection("traversal_configs").update_one(
                {"ruleset_id": ruleset_id, "version": version},
                {"$set": {**fields, "updated_at": now}, "$setOnInsert": {"created_at": now}},
                upsert=True,
            )

    def read(self, ruleset_id: str, book_id: str, *, models: Sequence[str] = ()) -> StoredBook:
        """A book with its embeddings by some models. Its chunks come by page, then as they were written."""
        with translated(self.address):
            return book_reader.read_book(self.collection, ruleset_id, book_id, models, self.label)

    def read_config(self, ruleset_id: str, version: str | None = None) -> Document:
        """A traversal configuration: that of a version, else the latest."""
        with translated(self.address):
            return book_reader.read_config(self.collection, ruleset_id, version, self.label)

    def books(self) -> list[tuple[str, str]]:
        """The ``(ruleset_id, book_id)`` of every book that has chunks."""
        with translated(self.address):
            return book_reader.stored_books(self.collection)

    def models(self, ruleset_id: str, book_id: str) -> list[str]:
        """The models by which a book is embedded."""
        key = {"ruleset_id": ruleset_id, "book_id": book_id}
        with translated(self.address):
            return book_reader.stored_models(self.collection, key)
