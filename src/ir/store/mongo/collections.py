"""Books in plain collections that other systems read: chunks, their embeddings, a graph, how to walk it.

These are not the collections of a corpus. Their names, fields and indexes belong to a pipeline that writes them and a
service that reads them; here they are written and read as those do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ir.errors import InvalidInput, NotFound
from ir.store.mongo.address import Address
from ir.store.mongo.connection import Connection, driver, translated

__all__ = ["COLLECTIONS", "BookCollections", "StoredBook", "Written"]

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
Document = dict[str, Any]
Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class StoredBook:
    """A book as the collections hold it, or are to hold it.

    ``chunks`` are in the order of the book, each with ``chunk_id`` and ``text``. ``embeddings`` are by model and chunk: a
    vector, and a hash of what it was made of. ``edges`` have ``source_id``, ``target_id``, ``relation`` and
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


@dataclass(frozen=True)
class Written:
    """How many documents were written and removed, and how many were there already."""

    written: Mapping[str, int]
    removed: Mapping[str, int]
    unchanged: Mapping[str, int]


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

    def _collection(self, name: str) -> Any:
        return self._connection.database[name]

    def make(self) -> None:
        """The collections with their indexes; what is there stays."""
        with translated(self.address):
            there = set(self._connection.database.list_collection_names())
            for name, indexes in COLLECTIONS.items():
                models = [driver().IndexModel(list(fields), unique=unique) for fields, unique in indexes]
                if models:
                    self._collection(name).create_indexes(models)
                elif name not in there:
                    self._connection.database.create_collection(name)

    # -- writing -----------------------------------------------------------------------------------------------

    def write(self, book: StoredBook, *, run_id: str, tell: Tell = lambda *_: None) -> Written:
        """Make the collections hold the book as it is now; what did not change is left alone.

        There is no transaction over collections. A chunk comes after its embedding and goes before it, so that nobody
        meets one without; the row of ``traversal_indexes`` comes last and says that the run is complete.
        """
        self._check(book)
        self.make()
        written: dict[str, int] = {}
        removed: dict[str, int] = {}
        unchanged: dict[str, int] = {}

        def note(name: str, new: int, gone: int, same: int) -> None:
            for counts, count in ((written, new), (removed, gone), (unchanged, same)):
                counts[name] = counts.get(name, 0) + count
            tell(name, new + same, None)

        with translated(self.address):
            for model, vectors in book.embeddings.items():
                note("chunk_embeddings", *self._write_embeddings(book, model, vectors))
            note("enriched_chunks", *self._write_chunks(book, run_id))
            for model in book.embeddings:
                note("chunk_embeddings", 0, self._drop_embeddings(book, model), 0)
            note("graph_nodes", *self._write_parts(book, "graph_nodes", book.nodes))
            note("graph_edges", *self._write_parts(book, "graph_edges", book.edges))
            self._note_run(book, run_id)
        return Written(written, removed, unchanged)

    def _check(self, book: StoredBook) -> None:
        seen: set[str] = set()
        for chunk in book.chunks:
            if chunk["chunk_id"] in seen:
                raise InvalidInput(f"The chunk {chunk['chunk_id']!r} of {book.book_id} comes twice.")
            seen.add(chunk["chunk_id"])
        for model, vectors in book.embeddings.items():
            missing = next((name for name in seen if name not in vectors), None)
            if missing is not None:
                raise InvalidInput(
                    f"The chunk {min(seen - vectors.keys())!r} of {book.book_id} has no embedding by {model}.",
                    remedy="Build the corpus again, so that every chunk has a vector.",
                )
            _common_size(((name, vector) for name, (vector, _) in vectors.items()), book.book_id, model)
        with translated(self.address):
            for names in _parts(sorted(seen)):
                theirs = self._collection("chunk_embeddings").find_one(
                    {
                        "chunk_id": {"$in": names},
                        "model_id": {"$in": list(book.embeddings)},
                        "$or": [{"ruleset_id": {"$ne": book.ruleset_id}}, {"book_id": {"$ne": book.book_id}}],
                    }
                )
                if theirs is not None:
                    raise InvalidInput(
                        f"The chunk {theirs['chunk_id']!r} belongs to {theirs['ruleset_id']}/{theirs['book_id']} in "
                        f"{self.label}: the ids of chunks must differ from book to book.",
                        remedy="Write the book to another database, or under the names that it has there.",
                    )

    def _write_embeddings(
        self, book: StoredBook, model: str, vectors: Mapping[str, tuple[Sequence[float], str]]
    ) -> tuple[int, int, int]:
        """Those whose text changed since, or that are of another size."""
        collection, query = self._collection("chunk_embeddings"), {**book.key, "model_id": model}
        size = len(next(iter(vectors.values()))[0]) if vectors else 0
        held = {row["chunk_id"]: row for row in collection.find(query, {"chunk_id": 1, "metadata.text_hash": 1})}
        same_size = not held or len((collection.find_one(query) or {}).get("embedding", ())) == size
        new = [
            name
            for name, (_, text_hash) in vectors.items()
            if not same_size or (held.get(name, {}).get("metadata") or {}).get("text_hash") != text_hash
        ]
        now, replace = datetime.now(UTC), driver().ReplaceOne
        for names in _parts(new):
            collection.bulk_write(
                [
                    replace(
                        {"chunk_id": name, "model_id": model},
                        {
                            "chunk_id": name,
                            **book.key,
                            "model_id": model,
                            "embedding": [float(value) for value in vectors[name][0]],
                            "metadata": {"text_hash": vectors[name][1], "created_at": now},
                        },
                        upsert=True,
                    )
                    for name in names
                ],
                ordered=False,
            )
        return len(new), 0, len(vectors) - len(new)

    def _drop_embeddings(self, book: StoredBook, model: str) -> int:
        collection, query = self._collection("chunk_embeddings"), {**book.key, "model_id": model}
        wanted = {chunk["chunk_id"] for chunk in book.chunks}
        gone = [row["_id"] for row in collection.find(query, {"chunk_id": 1}) if row["chunk_id"] not in wanted]
        return self._remove("chunk_embeddings", gone)

    def _write_chunks(self, book: StoredBook, run_id: str) -> tuple[int, int, int]:
        collection = self._collection("enriched_chunks")
        held: dict[str, Document] = {}
        twice = []
        for row in collection.find(book.key):
            if row["chunk_id"] in held:
                twice.append(row["_id"])
            held.setdefault(row["chunk_id"], row)
        rows = [{"chunk_id": chunk["chunk_id"], **book.key, **_fields(chunk)} for chunk in book.chunks]
        new = [row for row in rows if not _is_as(held.get(row["chunk_id"]), row)]
        for part in _parts(new):
            fresh = [{**row, "run_id": run_id} for row in part if row["chunk_id"] not in held]
            if fresh:
                collection.insert_many(fresh)
            changed = [
                driver().ReplaceOne({"_id": held[row["chunk_id"]]["_id"]}, {**row, "run_id": run_id})
                for row in part
                if row["chunk_id"] in held
            ]
            if changed:
                collection.bulk_write(changed, ordered=False)
        wanted = {row["chunk_id"] for row in rows}
        gone = [row["_id"] for name, row in held.items() if name not in wanted]
        return len(new), self._remove("enriched_chunks", [*gone, *twice]), len(rows) - len(new)

    def _write_parts(self, book: StoredBook, name: str, parts: Sequence[Document]) -> tuple[int, int, int]:
        """Nodes or edges: which of them are the same is told by all that they say."""
        collection = self._collection(name)
        held: dict[str, list[Any]] = {}
        for row in collection.find(book.key):
            held.setdefault(_said(row), []).append(row["_id"])
        new = []
        for part in parts:
            row = {**part, **book.key}
            same = held.get(_said(row))
            if same:
                same.pop()
            else:
                new.append(row)
        for rows in _parts(new):
            collection.insert_many([dict(row) for row in rows])
        gone = self._remove(name, [one for left in held.values() for one in left])
        return len(new), gone, len(parts) - len(new)

    def _note_run(self, book: StoredBook, run_id: str) -> None:
        counts = {"chunks": len(book.chunks), "nodes": len(book.nodes), "edges": len(book.edges)}
        about = {**counts, "model_ids": sorted(book.embeddings), "created_at": datetime.now(UTC)}
        self._collection("traversal_indexes").update_one({**book.key, "run_id": run_id}, {"$set": about}, upsert=True)

    def _remove(self, name: str, ids: Sequence[Any]) -> int:
        for part in _parts(ids):
            self._collection(name).delete_many({"_id": {"$in": list(part)}})
        return len(ids)

    def write_config(self, ruleset_id: str, version: str, told: Mapping[str, Any]) -> None:
        """Keep a traversal configuration under its ruleset and version."""
        self.make()
        now = datetime.now(UTC)
        fields = {key: value for key, value in told.items() if key not in ("ruleset_id", "version", "created_at")}
        with translated(self.address):
            self._collection("traversal_configs").update_one(
                {"ruleset_id": ruleset_id, "version": version},
                {"$set": {**fields, "updated_at": now}, "$setOnInsert": {"created_at": now}},
                upsert=True,
            )

    # -- reading -----------------------------------------------------------------------------------------------

    def books(self) -> list[tuple[str, str]]:
        """The ``(ruleset_id, book_id)`` of every book that has chunks."""
        with translated(self.address):
            pairs = self._collection("enriched_chunks").find({}, {"ruleset_id": 1, "book_id": 1})
            return sorted({(str(row.get("ruleset_id")), str(row.get("book_id"))) for row in pairs})

    def models(self, ruleset_id: str, book_id: str) -> list[str]:
        """The models by which a book is embedded."""
        with translated(self.address):
            found = self._collection("chunk_embeddings").distinct(
                "model_id", {"ruleset_id": ruleset_id, "book_id": book_id}
            )
        return sorted(map(str, found))

    def read(self, ruleset_id: str, book_id: str, *, models: Sequence[str] = ()) -> StoredBook:
        """A book with its embeddings by some models. Its chunks come by page, then as they were written."""
        key = {"ruleset_id": ruleset_id, "book_id": book_id}
        with translated(self.address):
            chunks = [self._chunk(row) for row in self._collection("enriched_chunks").find(key)]
            if not chunks:
                raise self._unknown(ruleset_id, book_id)
            chunks.sort(key=lambda row: (row["page"] is None, row["page"] or 0, str(row["_id"])))
            embeddings = {model: self._read_embeddings(key, model) for model in models}
            edges = [_edge(row) for row in self._collection("graph_edges").find(key)]
            nodes = [_without(row, "ruleset_id", "book_id") for row in self._collection("graph_nodes").find(key)]
        book = StoredBook(ruleset_id, book_id, [_without(row) for row in chunks], embeddings, edges, nodes)
        self._check_read(book)
        return book

    def _chunk(self, row: Document) -> Document:
        name, text = row.get("chunk_id"), row.get("text")
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidInput(f"A document of enriched_chunks in {self.label} has no chunk_id or no text: {name!r}.")
        page = row.get("page")
        return {**row, "page": int(page) if isinstance(page, (int, float)) else None}

    def _read_embeddings(self, key: Document, model: str) -> dict[str, tuple[Sequence[float], str]]:
        fields = {"chunk_id": 1, "embedding": 1, "metadata.text_hash": 1}
        rows = self._collection("chunk_embeddings").find({**key, "model_id": model}, fields)
        return {
            row["chunk_id"]: (row["embedding"], str((row.get("metadata") or {}).get("text_hash", ""))) for row in rows
        }

    def _check_read(self, book: StoredBook) -> None:
        names = [chunk["chunk_id"] for chunk in book.chunks]
        if len(set(names)) != len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise InvalidInput(
                f"The chunk {twice!r} of {book.ruleset_id}/{book.book_id} comes twice in {self.label}.",
                remedy="Remove what an earlier run left in enriched_chunks.",
            )
        for model, vectors in book.embeddings.items():
            if not vectors:
                known = ", ".join(self.models(book.ruleset_id, book.book_id)) or "none"
                raise NotFound(
                    f"{book.ruleset_id}/{book.book_id} has no embeddings by {model!r} in {self.label}; there are: {known}."
                )
            missing = next((name for name in names if name not in vectors), None)
            if missing is not None:
                raise InvalidInput(
                    f"The chunk {missing!r} of {book.ruleset_id}/{book.book_id} has no embedding by {model!r} in "
                    f"{self.label}.",
                    remedy="Run the pipeline that makes the embeddings again.",
                )
            _common_size(((name, vectors[name][0]) for name in names), book.book_id, model)

    def read_config(self, ruleset_id: str, version: str | None = None) -> Document:
        """A traversal configuration: that of a version, else the latest."""
        query = {"ruleset_id": ruleset_id, **({"version": version} if version is not None else {})}
        with translated(self.address):
            found = list(self._collection("traversal_configs").find(query))
            known = sorted(map(str, self._collection("traversal_configs").distinct("ruleset_id")))
        if not found:
            raise NotFound(
                f"There is no traversal configuration {version or ''} of {ruleset_id!r} in {self.label}; there are some "
                f"of: {', '.join(known) or 'nothing'}."
            )
        return _without(max(found, key=lambda row: _in_order(str(row.get("version", "")))))

    def _unknown(self, ruleset_id: str, book_id: str) -> NotFound:
        known = [f"{ruleset}/{book}" for ruleset, book in self.books()]
        return NotFound(
            f"There is no book {ruleset_id}/{book_id} in {self.label}; there are: {', '.join(known) or 'none'}."
        )


def _fields(chunk: Mapping[str, Any]) -> Document:
    return {name: chunk[name] if chunk.get(name) is not None else default for name, default in _CHUNK.items()}


def _is_as(held: Document | None, row: Document) -> bool:
    return held is not None and all(held.get(name) == value for name, value in row.items())


def _said(row: Mapping[str, Any]) -> str:
    return repr(sorted((key, repr(value)) for key, value in row.items() if key != "_id"))


def _without(row: Mapping[str, Any], *names: str) -> Document:
    return {key: value for key, value in row.items() if key != "_id" and key not in names}


def _edge(row: Mapping[str, Any]) -> Document:
    """An edge by the names of the collections; files call its ends otherwise, and somebody may have stored those."""
    source, target = row.get("source_id", row.get("source")), row.get("target_id", row.get("target"))
    if source is None or target is None:
        raise InvalidInput(f"An edge of graph_edges has no source or no target: {row.get('_id')}.")
    relation, about = str(row.get("relation", "")), row.get("metadata")
    return {
        "source_id": str(source),
        "target_id": str(target),
        "relation": relation,
        "metadata": dict(about) if isinstance(about, Mapping) else {},
    }


def _common_size(vectors: Iterable[tuple[str, Sequence[float]]], book: str, model: str) -> None:
    size: int | None = None
    first = ""
    for name, vector in vectors:
        if size is None:
            size, first = len(vector), name
        if len(vector) != size or not size:
            raise InvalidInput(
                f"The embedding of chunk {name!r} of {book} by {model!r} has {len(vector)} dimensions, that of "
                f"{first!r} {size}: one model makes vectors of one size.",
                remedy="Make the embeddings of that model again.",
            )


def _in_order(version: str) -> list[tuple[int, str]]:
    """So that v10 comes after v2."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.findall(r"\d+|\D+", version)]


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
