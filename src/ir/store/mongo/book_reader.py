"""Reading a book from the collections, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ir.errors import InvalidInput, NotFound
from ir.store.mongo.stored_book import Collection, Document, StoredBook, check_sizes

__all__ = ["read_book", "read_config", "stored_books", "stored_models"]


def stored_books(collection: Collection) -> list[tuple[str, str]]:
    """The ``(ruleset_id, book_id)`` of every book that has chunks."""
    pairs = collection("enriched_chunks").find({}, {"ruleset_id": 1, "book_id": 1})
    return sorted({(str(row.get("ruleset_id")), str(row.get("book_id"))) for row in pairs})


def stored_models(collection: Collection, key: Document) -> list[str]:
    """The models by which a book is embedded."""
    return sorted(map(str, collection("chunk_embeddings").distinct("model_id", key)))


def read_book(collection: Collection, ruleset_id: str, book_id: str, models: Sequence[str], label: str) -> StoredBook:
    """A book with its embeddings by some models: a chunk without one is an error that names it."""
    key = {"ruleset_id": ruleset_id, "book_id": book_id}
    chunks = [_chunk(row, label) for row in collection("enriched_chunks").find(key)]
    if not chunks:
        known = ", ".join("/".join(pair) for pair in stored_books(collection)) or "none"
        raise NotFound(f"There is no book {ruleset_id}/{book_id} in {label}; there are: {known}.")
    chunks.sort(key=lambda row: (row["page"] is None, row["page"] or 0, str(row["_id"])))
    edges = [_edge(row) for row in collection("graph_edges").find(key)]
    nodes = [_node(row) for row in collection("graph_nodes").find(key)]
    embeddings = {model: _embeddings(collection, key, model) for model in models}
    book = StoredBook(ruleset_id, book_id, [_without_id(row) for row in chunks], embeddings, edges, nodes)
    _check(book, collection, label)
    return book


def read_config(collection: Collection, ruleset_id: str, version: str | None, label: str) -> Document:
    """A traversal configuration: that of a version, else the latest, where v10 comes after v2."""
    configs = collection("traversal_configs")
    found = list(configs.find({"ruleset_id": ruleset_id, **({} if version is None else {"version": version})}))
    if not found:
        known = ", ".join(sorted(map(str, configs.distinct("ruleset_id")))) or "none"
        which = "" if version is None else f" {version!r}"
        raise NotFound(
            f"There is no traversal configuration{which} of {ruleset_id!r} in {label}; there are those of: {known}."
        )
    return _without_id(max(found, key=lambda row: _in_order(str(row.get("version", "")))))


def _chunk(row: Document, label: str) -> Document:
    name, text, page = row.get("chunk_id"), row.get("text"), row.get("page")
    if not isinstance(name, str) or not name or not isinstance(text, str):
        raise InvalidInput(f"A chunk in enriched_chunks of {label} has no chunk_id or no text: {row.get('_id')}.")
    return {**row, "page": int(page) if isinstance(page, (int, float)) else None}


def _embeddings(collection: Collection, key: Document, model: str) -> dict[str, tuple[Sequence[float], str]]:
    fields = {"chunk_id": 1, "embedding": 1, "metadata.text_hash": 1}
    found = {}
    for row in collection("chunk_embeddings").find({**key, "model_id": model}, fields):
        told = row.get("metadata") or {}
        found[row["chunk_id"]] = (row["embedding"], str(told.get("text_hash") or ""))
    return found


def _check(book: StoredBook, collection: Collection, label: str) -> None:
    seen: set[str] = set()
    for chunk in book.chunks:
        if chunk["chunk_id"] in seen:
            raise InvalidInput(
                f"The chunk {chunk['chunk_id']!r} of {book.name} comes twice in {label}.",
                remedy="Remove what an earlier run left in enriched_chunks.",
            )
        seen.add(chunk["chunk_id"])
    for model, vectors in book.embeddings.items():
        if not vectors:
            known = ", ".join(stored_models(collection, book.key)) or "none"
            raise NotFound(f"{book.name} has no embeddings by {model!r} in {label}; there are those by: {known}.")
        missing = next((chunk["chunk_id"] for chunk in book.chunks if chunk["chunk_id"] not in vectors), None)
        if missing is not None:
            raise InvalidInput(
                f"The chunk {missing!r} of {book.name} has no embedding by {model!r} in {label}.",
                remedy="Run the pipeline that makes the embeddings again.",
            )
        check_sizes(((chunk["chunk_id"], vectors[chunk["chunk_id"]][0]) for chunk in book.chunks), book, model)


def _edge(row: Mapping[str, Any]) -> Document:
    """An edge by the names of the collections; files call its ends otherwise, and somebody may have stored those."""
    source, target = row.get("source_id", row.get("source")), row.get("target_id", row.get("target"))
    if source is None or target is None:
        raise InvalidInput(f"An edge in graph_edges has no source or no target: {row.get('_id')}.")
    ends = {"source_id": str(source), "target_id": str(target)}
    return {**ends, "relation": str(row.get("relation", "")), "metadata": _about(row)}


def _node(row: Mapping[str, Any]) -> Document:
    name = row.get("node_id", row.get("id"))
    if name is None:
        raise InvalidInput(f"A node in graph_nodes has no node_id: {row.get('_id')}.")
    known = ("_id", "node_id", "id", "node_type", "type", "ruleset_id", "book_id", "metadata", "run_id")
    beside = {key: value for key, value in row.items() if key not in known}
    kind = str(row.get("node_type") or row.get("type") or "entity")
    return {"node_id": str(name), "node_type": kind, "metadata": {**beside, **_about(row)}}


def _about(row: Mapping[str, Any]) -> Document:
    told = row.get("metadata")
    return dict(told) if isinstance(told, Mapping) else {}


def _without_id(row: Mapping[str, Any]) -> Document:
    return {key: value for key, value in row.items() if key != "_id"}


def _in_order(version: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in re.findall(r"\d+|\D+", version)]
