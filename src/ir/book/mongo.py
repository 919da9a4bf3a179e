"""Books that other systems keep in MongoDB: a corpus is written to their collections, and they are read as a source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.book.enrichment import Enrichment
from ir.book.strategy import Book
from ir.book.traversal import TraversalConfig
from ir.book.traversal_settings import traversal_to_dict
from ir.errors import EmbedderError, InvalidInput
from ir.sources import CorpusSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Store
    from ir.store.mongo.stored_book import Document, Tell, Written

__all__ = ["MongoBook", "StoredVectors", "load_from_mongo", "store_to_mongo", "write_traversal"]

_TOLD = ("text", "page", "content_kind", "tags", "traits", "is_rule_bearing", "run_id")


def store_to_mongo(
    store: Store,
    mongo_uri: str | None = None,
    *,
    ruleset_id: str,
    book_id: str | None = None,
    models: Mapping[str, str] | None = None,
    run_id: str | None = None,
    tell: Tell = lambda *_: None,
) -> dict[str, Written]:
    """Write the books of a corpus, and how to walk them, to the collections; what did not change is left alone.

    ``mongo_uri`` is ``mongodb://host/database``, else what ``MONGODB_URI`` says. ``book_id`` is one of the books, or a
    name for all of the corpus; without it each is written under its own name. ``models`` says by which names the spaces
    of vectors are stored, ``{space: model_id}``; without it all are, by the names of their embedders. What was written
    is told by book.
    """
    from ir.store.mongo.collections import BookCollections
    from ir.store.mongo.export import books_of, run_of

    with BookCollections(mongo_uri) as collections:
        books = books_of(store, ruleset_id, book_id, models)
        settings = store.get_config()
        walks = settings.get("traversal")
        if walks:
            collections.write_config(ruleset_id, str(walks.get("version") or "v1"), walks)
        return {
            book.book_id: collections.write(book, run_id=run_id or run_of(settings, book), tell=tell) for book in books
        }


def load_from_mongo(
    ruleset_id: str, book_id: str, model_id: str | None = None, mongo_uri: str | None = None
) -> MongoBook:
    """A book as the collections hold it, with its embeddings by a model; without one, its chunks and graph alone.

    ``mongo_uri`` is ``mongodb://host/database``, else what ``MONGODB_URI`` says. A chunk without an embedding is an
    error that names it, as are embeddings of different sizes.
    """
    from ir.store.mongo.collections import BookCollections
    from ir.store.mongo.export import text_hash

    with BookCollections(mongo_uri) as collections:
        stored = collections.read(ruleset_id, book_id, models=[] if model_id is None else [model_id])
    vectors = stored.embeddings.get(model_id or "", {})
    titles = [str(node["metadata"].get("title") or "") for node in stored.nodes if node["node_type"] == "document"]
    rows = [vectors[chunk["chunk_id"]] for chunk in stored.chunks] if vectors else []
    stale = [
        chunk["chunk_id"]
        for chunk, (_, made_of) in zip(stored.chunks, rows, strict=False)
        if made_of and made_of not in map(text_hash, _read_as(chunk, titles))
    ]
    return MongoBook(
        ruleset_id,
        book_id,
        model_id,
        list(stored.chunks),
        np.array([vector for vector, _ in rows], dtype=np.float32) if rows else None,
        list(stored.edges),
        list(stored.nodes),
        stale,
    )


def write_traversal(config: TraversalConfig, mongo_uri: str | None = None) -> None:
    """Keep a traversal configuration there, under its ruleset and version; ``load_from_mongo`` of it reads it back."""
    from ir.store.mongo.collections import BookCollections

    with BookCollections(mongo_uri) as collections:
        collections.write_config(config.ruleset_id, config.version, traversal_to_dict(config))


def _read_as(chunk: Document, titles: Sequence[str]) -> list[str]:
    """The texts that an embedder may have been given for a chunk: with what headings, depends on who gave it."""
    path = [str(title) for title in chunk.get("section_path") or ()]
    paths = [path[start:] for start in range(len(path))]
    headings = [" > ".join(part) for part in (*paths, *([title, *path] for title in titles))]
    return [chunk["text"], *(f"{heading}\n{chunk['text']}" for heading in headings)]


@dataclass(frozen=True)
class MongoBook:
    """A book that was loaded: row ``n`` of ``embeddings`` is of chunk ``n``.

    ``stale`` are chunks whose embedding was made of another text, as far as its hash tells.
    """

    ruleset_id: str
    book_id: str
    model_id: str | None
    chunks: list[Document]
    embeddings: NDArray[np.float32] | None = field(repr=False)
    edges: list[Document] = field(repr=False)
    nodes: list[Document] = field(repr=False)
    stale: list[str] = field(default_factory=list)

    @cached_property
    def chunk_ids(self) -> list[str]:
        return [chunk["chunk_id"] for chunk in self.chunks]

    @cached_property
    def chunk_id_to_index(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.chunk_ids)}

    @cached_property
    def graph_adjacency(self) -> dict[str, set[str]]:
        """What is linked to what, in either direction."""
        adjacency: dict[str, set[str]] = {}
        for edge in self.edges:
            adjacency.setdefault(edge["source_id"], set()).add(edge["target_id"])
            adjacency.setdefault(edge["target_id"], set()).add(edge["source_id"])
        return adjacency

    @property
    def graph(self) -> dict[str, Any]:
        """``{nodes, edges}``, as :meth:`ir.book.TraversalIndex.build` takes it with the ``chunks``."""
        nodes = [{"id": node["node_id"], "type": node["node_type"], **node["metadata"]} for node in self.nodes]
        return {"nodes": nodes, "edges": self.edges}

    @cached_property
    def dropped(self) -> list[Document]:
        """The edges with an end that is no node of the book; where no nodes are stored, nothing can be unknown."""
        known = {node["node_id"] for node in self.nodes} | set(self.chunk_ids) | {self.book_id}
        if not self.nodes:
            return []
        return [edge for edge in self.edges if not {edge["source_id"], *_target_of(edge)} <= known]

    def source(self, name: str | None = None) -> CorpusSource:
        """What :func:`ir.build` takes: the chunks stay as they are cut, and the graph as it was drawn."""
        dropped = {id(edge) for edge in self.dropped}
        chunks = [
            {
                "id": chunk["chunk_id"],
                "section_path": [str(title) for title in chunk.get("section_path") or ()],
                **{key: chunk[key] for key in _TOLD if chunk.get(key) is not None},
            }
            for chunk in self.chunks
        ]
        nodes = [{"id": one["node_id"], "type": one["node_type"], "properties": one["metadata"]} for one in self.nodes]
        edges = [_drawn(edge) for edge in self.edges if id(edge) not in dropped]
        graph = {"nodes": nodes, "edges": edges}
        raw = {"_chunks": chunks, "_graph": graph, "title": self.book_id, "book": self.book_id}
        return CorpusSource(name or self.book_id, {self.book_id: raw}, Book(enrichment=Enrichment()))

    def embedder(self, queries: Any = None) -> StoredVectors:
        """An embedder that knows the texts of the chunks; ``queries`` is one for all other texts, by the same model."""
        if self.embeddings is None:
            raise InvalidInput("The book was loaded without embeddings.", remedy="Load it with model_id=….")
        texts = [chunk["text"] for chunk in self.chunks]
        return StoredVectors(f"mongo:{self.model_id}", texts, self.embeddings, queries)


def _target_of(edge: Document) -> list[str]:
    return [] if edge["metadata"].get("corpus") else [edge["target_id"]]


def _drawn(edge: Document) -> list[Any]:
    about = {key: value for key, value in edge["metadata"].items() if key != "corpus"}
    return [edge["source_id"], edge["relation"], edge["target_id"], edge["metadata"].get("corpus"), about]


class StoredVectors:
    """The vectors that somebody made of some texts, as an embedder of those texts."""

    def __init__(self, name: str, texts: Sequence[str], rows: NDArray[np.float32], queries: Any = None) -> None:
        self.id = name
        self._rows = rows
        self._places = {text: place for place, text in enumerate(texts)}
        self._queries = queries
        self._asked: Any = None
        self.fingerprint = hashlib.blake2b(rows.tobytes(), digest_size=16).hexdigest()

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        places = [self._place(text) for text in texts] if input_type == "document" else [None] * len(texts)
        others = [text for text, place in zip(texts, places, strict=True) if place is None]
        made = iter(self._other(others, input_type) if others else ())
        rows = [next(made) if place is None else self._rows[place] for place in places]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self._rows.shape[1])

    def _place(self, text: str) -> int | None:
        """A chunk's text is embedded with the headings above it, which are lines of their own."""
        while text not in self._places and "\n" in text:
            text = text.partition("\n")[2]
        return self._places.get(text)

    def _other(self, texts: Sequence[str], input_type: str) -> NDArray[np.float32]:
        from ir.embed import make_embedder

        if self._queries is None:
            raise EmbedderError(
                f"Only the vectors of chunks are known of {self.id!r}; there is none of {texts[0][:80]!r}.",
                remedy="Name the model that made them: embedder(queries=…).",
            )
        if self._asked is None:
            self._asked = make_embedder(self._queries)[0]
        found: NDArray[np.float32] = np.asarray(self._asked(list(texts), input_type=input_type), dtype=np.float32)
        if found.shape[1] != self._rows.shape[1]:
            raise EmbedderError(
                f"{self._queries!r} makes vectors of {found.shape[1]} dimensions, those of {self.id!r} have "
                f"{self._rows.shape[1]}: it is another model."
            )
        return found
