"""Making the collections hold a book as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from ir.errors import InvalidInput
from ir.store.mongo.connection import driver
from ir.store.mongo.stored_book import Collection, Document, StoredBook, Tell, Written, check_sizes

__all__ = ["BookWriter"]

#: What is said of every chunk, and what it is where nobody said anything.
_CHUNK: Mapping[str, Any] = {
    "text": "",
    "page": None,
    "content_kind": None,
    "tags": [],
    "traits": [],
    "section_path": [],
    "is_rule_bearing": None,
}
_BATCH = 500
#: About so many embeddings of texts that did not change are compared with those that are stored.
_COMPARED = 8
_LARGEST = 2**63


class BookWriter:
    """Writes what differs, and removes what is gone.

    There is no transaction over collections. A chunk comes after its embedding and goes before it, so that nobody meets
    one without; the row of ``traversal_indexes`` comes last and says that the run is complete.
    """

    def __init__(self, collection: Collection, book: StoredBook, run_id: str, label: str) -> None:
        self._collection = collection
        self._label = label
        self._book = book
        self._run_id = run_id
        self._names = {str(chunk["chunk_id"]) for chunk in book.chunks}
        self._written: dict[str, int] = {}
        self._removed: dict[str, int] = {}
        self._unchanged: dict[str, int] = {}

    def write(self, tell: Tell) -> Written:
        book = self._book
        self._check()
        for model, vectors in book.embeddings.items():
            self._write_embeddings(model, vectors)
        tell("chunk_embeddings", sum(map(len, book.embeddings.values())))
        self._write_chunks()
        tell("enriched_chunks", len(book.chunks))
        for model in book.embeddings:
            self._drop_embeddings(model)
        for name, parts in (("graph_nodes", book.nodes), ("graph_edges", book.edges)):
            self._write_parts(name, parts)
            tell(name, len(parts))
        self._note_run()
        return Written(self._written, self._removed, self._unchanged)

    # -- what may not be written ---------------------------------------------------------------------------------

    def _check(self) -> None:
        book = self._book
        if len(self._names) != len(book.chunks):
            names = sorted(str(chunk["chunk_id"]) for chunk in book.chunks)
            twice = next(name for name, other in pairwise(names) if name == other)
            raise InvalidInput(f"The chunk {twice!r} of {book.name} comes twice.")
        for model, vectors in book.embeddings.items():
            missing = self._names - vectors.keys()
            if missing:
                raise InvalidInput(
                    f"The chunk {min(missing)!r} of {book.name} has no embedding by {model!r}.",
                    remedy="Build the corpus again, so that every chunk has a vector.",
                )
            check_sizes(((name, vector) for name, (vector, _) in vectors.items()), book, model)
        for part in _parts(sorted(self._names)):
            self._check_owner(part)

    def _check_owner(self, names: Sequence[str]) -> None:
        """One chunk has one embedding by a model, whatever book it is of: another book's must not be overwritten."""
        book = self._book
        theirs = self._collection("chunk_embeddings").find_one(
            {
                "chunk_id": {"$in": list(names)},
                "model_id": {"$in": list(book.embeddings)},
                "$or": [{"ruleset_id": {"$ne": book.ruleset_id}}, {"book_id": {"$ne": book.book_id}}],
            }
        )
        if theirs is not None:
            raise InvalidInput(
                f"The chunk {theirs['chunk_id']!r} belongs to {theirs['ruleset_id']}/{theirs['book_id']} in "
                f"{self._label}: the ids of chunks must differ from book to book.",
                remedy="Write the book to another database, or under the names that it has there.",
            )

    # -- each collection -----------------------------------------------------------------------------------------

    def _write_embeddings(self, model: str, vectors: Mapping[str, tuple[Sequence[float], str]]) -> None:
        """Those whose text changed since; all, if the model of that name is another one by now."""
        collection, query = self._collection("chunk_embeddings"), {**self._book.key, "model_id": model}
        hashes: dict[str, Any] = {}
        for row in collection.find(query, {"chunk_id": 1, "metadata.text_hash": 1}):
            hashes[row["chunk_id"]] = (row.get("metadata") or {}).get("text_hash")
        same = [name for name, (_, text_hash) in vectors.items() if hashes.get(name) == text_hash]
        sample = {"chunk_id": {"$in": same[:: len(same) // _COMPARED + 1]}}
        if not all(_is_near(row["embedding"], vectors[row["chunk_id"]][0]) for row in collection.find(query | sample)):
            same = []
        kept = set(same)
        new = [name for name in vectors if name not in kept]
        now, replace = datetime.now(UTC), driver().ReplaceOne
        for names in _parts(new):
            rows = [
                {
                    "chunk_id": name,
                    **self._book.key,
                    "model_id": model,
                    "embedding": [float(value) for value in vectors[name][0]],
                    "metadata": {"text_hash": vectors[name][1], "created_at": now},
                }
                for name in names
            ]
            collection.bulk_write(
                [replace({"chunk_id": row["chunk_id"], "model_id": model}, row, upsert=True) for row in rows],
                ordered=False,
            )
        self._count("chunk_embeddings", len(new), len(vectors) - len(new))

    def _drop_embeddings(self, model: str) -> None:
        collection, query = self._collection("chunk_embeddings"), {**self._book.key, "model_id": model}
        rows = collection.find(query, {"chunk_id": 1})
        self._remove("chunk_embeddings", [row["_id"] for row in rows if row["chunk_id"] not in self._names])

    def _write_chunks(self) -> None:
        """A chunk that is as it was keeps the run that made it."""
        collection = self._collection("enriched_chunks")
        held: dict[str, Document] = {}
        gone = []
        for row in collection.find(self._book.key):
            if row["chunk_id"] in held or row["chunk_id"] not in self._names:
                gone.append(row["_id"])
            else:
                held[row["chunk_id"]] = row
        new, changed = [], []
        for chunk in self._book.chunks:
            row = {"chunk_id": chunk["chunk_id"], **self._book.key, **_fields(chunk)}
            before = held.get(row["chunk_id"])
            dated = {**row, "run_id": str(chunk.get("run_id") or self._run_id)}
            if before is None:
                new.append(dated)
            elif any(before.get(name) != value for name, value in row.items()):
                changed.append(driver().ReplaceOne({"_id": before["_id"]}, dated))
        for rows in _parts(new):
            collection.insert_many(rows)
        for changes in _parts(changed):
            collection.bulk_write(changes, ordered=False)
        written = len(new) + len(changed)
        self._count("enriched_chunks", written, len(self._book.chunks) - written)
        self._remove("enriched_chunks", gone)

    def _write_parts(self, name: str, parts: Sequence[Document]) -> None:
        """Nodes or edges: which of them are the same is told by all that they say."""
        collection = self._collection(name)
        held: dict[str, list[Any]] = {}
        for row in collection.find(self._book.key):
            held.setdefault(_said(row), []).append(row["_id"])
        new = []
        for part in parts:
            row = {**_storable(part), **self._book.key}
            same = held.get(_said(row))
            if same:
                same.pop()
            else:
                new.append(row)
        for rows in _parts(new):
            collection.insert_many(rows)
        self._count(name, len(new), len(parts) - len(new))
        self._remove(name, [one for left in held.values() for one in left])

    def _note_run(self) -> None:
        book = self._book
        counts = {"chunks": len(book.chunks), "nodes": len(book.nodes), "edges": len(book.edges)}
        about = {**counts, "model_ids": sorted(book.embeddings), "created_at": datetime.now(UTC)}
        runs = self._collection("traversal_indexes")
        runs.update_one({**book.key, "run_id": self._run_id}, {"$set": about}, upsert=True)

    def _count(self, name: str, written: int, unchanged: int) -> None:
        self._written[name] = self._written.get(name, 0) + written
        self._unchanged[name] = self._unchanged.get(name, 0) + unchanged

    def _remove(self, name: str, ids: Sequence[Any]) -> None:
        for part in _parts(ids):
            self._collection(name).delete_many({"_id": {"$in": list(part)}})
        self._removed[name] = self._removed.get(name, 0) + len(ids)


def _fields(chunk: Mapping[str, Any]) -> Document:
    return {name: chunk[name] if chunk.get(name) is not None else default for name, default in _CHUNK.items()}


def _is_near(stored: Sequence[float], vector: Sequence[float]) -> bool:
    """Whether both are what one model makes of one text; machines differ in the last digits."""
    return len(stored) == len(vector) and bool(np.allclose(stored, vector, atol=1e-3))


def _said(row: Mapping[str, Any]) -> str:
    return repr(sorted((key, repr(value)) for key, value in row.items() if key != "_id"))


def _storable(value: Any) -> Any:
    """With numbers that a document can hold; larger ones are written as texts."""
    if isinstance(value, Mapping):
        return {str(key): _storable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(one) for one in value]
    return str(value) if isinstance(value, int) and not -_LARGEST <= value < _LARGEST else value


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
