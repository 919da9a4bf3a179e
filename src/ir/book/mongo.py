"""Books that other systems keep in MongoDB: a corpus is written to their collections, and they are read as a source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record, embedding_text
from ir.errors import CorpusBusy, EmbedderError, InvalidInput
from ir.links import Edge, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Store
    from ir.store.mongo.collections import Document, StoredBook, Tell, Written

__all__ = ["MongoBook", "StoredVectors", "load_from_mongo", "store_to_mongo"]

#: What a chunk's metadata may say that the collections have a field for.
_FIELDS = ("page", "content_kind", "tags", "traits", "section_path", "is_rule_bearing")


# -- to the collections ------------------------------------------------------------------------------------------------


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
    """Write the books of a corpus to the collections, each as it is now; what did not change is left alone.

    ``book_id`` names one of the books, or the only one; without it each is written under its own name. ``models`` says
    by which names the spaces of vectors are stored, ``{space: model_id}``; without it all spaces are, by the names of
    their embedders. What was written is told by book.
    """
    from ir.store.mongo.collections import BookCollections

    version = store.version
    books = _books(store, ruleset_id, book_id, _models(store, models))
    if store.version != version:
        raise CorpusBusy("The corpus changed while it was read.", remedy="Wait for the build to end, then try again.")
    run = run_id or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    with BookCollections(mongo_uri) as collections:
        return {book.book_id: collections.write(book, run_id=run, tell=tell) for book in books}


def _models(store: Store, given: Mapping[str, str] | None) -> dict[str, str]:
    """The model that each space is stored by."""
    if given is not None:
        return dict(given)
    config = store.get_config()
    told = {store.default_space: config, **(config.get("spaces") or {})}
    filled = [space for space, dim in store.spaces().items() if dim is not None]
    return {space: str(told.get(space, {}).get("embedder_id") or space) for space in filled}


def _books(store: Store, ruleset_id: str, book_id: str | None, models: Mapping[str, str]) -> list[StoredBook]:
    from ir.store.mongo.collections import StoredBook

    records = [record for page in store.iter_records() for record in page]
    name = str(store.get_config().get("name") or "book")
    parts: dict[str, list[Record]] = {}
    for record in records:
        parts.setdefault(str(record.metadata.get("book") or name), []).append(record)
    if book_id is not None:
        if book_id not in parts and len(parts) > 1:
            raise InvalidInput(f"There is no book {book_id!r} in the corpus; there are: {', '.join(sorted(parts))}.")
        parts = {book_id: parts[book_id] if book_id in parts else records}
    nodes = {node.id: node for page in store.iter_nodes() for node in page}
    edges = dict(entry for page in store.iter_edges() for entry in page)
    vectors = {model: store.get_vectors([one.id for one in records], space=space) for space, model in models.items()}
    found = []
    for book, held in parts.items():
        chunks = {_chunk_id(record): record for record in held}
        own_nodes, own_edges = _graph(chunks, nodes, edges)
        found.append(
            StoredBook(
                ruleset_id,
                book,
                [_chunk(key, chunks[key]) for key in _in_order(chunks, edges)],
                {
                    model: {
                        key: (by_id[record.id].tolist(), _text_hash(record))
                        for key, record in chunks.items()
                        if record.id in by_id
                    }
                    for model, by_id in vectors.items()
                },
                [_edge(edge) for edge in own_edges],
                [_node(node) for node in own_nodes],
            )
        )
    return found


def _chunk_id(record: Record) -> str:
    """What the graph calls the chunk of a record."""
    return str(record.metadata.get("chunk") or record.id)


def _text_hash(record: Record) -> str:
    """Of what was embedded: the headings above a text are part of it."""
    return hashlib.sha256(embedding_text(record.text, record.metadata).encode()).hexdigest()


def _chunk(chunk_id: str, record: Record) -> Document:
    about = {name: record.metadata[name] for name in _FIELDS if record.metadata.get(name) is not None}
    return {"chunk_id": chunk_id, "text": record.text, **about}


def _in_order(chunks: Mapping[str, Record], edges: Mapping[str, Sequence[Edge]]) -> list[str]:
    """Along the links from each chunk to the next; what those do not lead to comes by page and place."""
    after = {
        key: edge.target
        for key in chunks
        for edge in edges.get(key, ())
        if edge.type == "next" and edge.target in chunks
    }
    led_to = set(after.values())
    places = sorted(chunks, key=lambda key: (chunks[key].metadata.get("page") or 0, _place(chunks[key]), key))
    found: dict[str, None] = {}
    for first in [*(key for key in places if key not in led_to), *places]:
        at: str | None = first
        while at is not None and at not in found:
            found[at] = None
            at = after.get(at)
    return list(found)


def _place(record: Record) -> tuple[str, int]:
    return record.artifact_id, record.surface_index


def _graph(
    chunks: Mapping[str, Record], nodes: Mapping[str, Node], edges: Mapping[str, Sequence[Edge]]
) -> tuple[list[Node], list[Edge]]:
    """The nodes of a book (its chunks, what contains them, what those lead to) and the edges out of the first two."""
    above: dict[str, list[str]] = {}
    for source, out in edges.items():
        for edge in out:
            if edge.type == "contains" and edge.corpus is None:
                above.setdefault(edge.target, []).append(source)
    own = dict.fromkeys(chunks)
    waiting = list(own)
    while waiting:
        for container in above.get(waiting.pop(), ()):
            if container not in own:
                own[container] = None
                waiting.append(container)
    drawn = [edge for node in own for edge in edges.get(node, ())]
    touched = {**own, **dict.fromkeys(edge.target for edge in drawn if edge.corpus is None)}
    return [nodes[node] for node in touched if node in nodes], drawn


def _edge(edge: Edge) -> Document:
    about = {**edge.properties, **({} if edge.corpus is None else {"corpus": edge.corpus})}
    return {"source_id": edge.source, "target_id": edge.target, "relation": edge.type, "metadata": about}


def _node(node: Node) -> Document:
    return {"node_id": node.id, "node_type": node.type, "metadata": dict(node.properties)}


# -- from the collections ----------------------------------------------------------------------------------------------


def load_from_mongo(
    ruleset_id: str, book_id: str, model_id: str | None = None, mongo_uri: str | None = None
) -> MongoBook:
    """A book as the collections hold it, with its embeddings by a model; without one, its chunks and graph alone.

    A chunk without an embedding is an error that names it, as are embeddings of different sizes.
    """
    from ir.store.mongo.collections import BookCollections

    with BookCollections(mongo_uri) as collections:
        stored = collections.read(ruleset_id, book_id, models=[] if model_id is None else [model_id])
    vectors = stored.embeddings.get(model_id or "", {})
    names = [chunk["chunk_id"] for chunk in stored.chunks]
    return MongoBook(
        ruleset_id,
        book_id,
        model_id,
        list(stored.chunks),
        np.array([vectors[name][0] for name in names], dtype=np.float32) if vectors else None,
        list(stored.edges),
        list(stored.nodes),
        [chunk["chunk_id"] for chunk in stored.chunks if vectors and _is_stale(chunk, vectors[chunk["chunk_id"]][1])],
    )


def _is_stale(chunk: Document, text_hash: str) -> bool:
    """Whether an embedding was made of another text, as far as its hash tells: headings may have been part of it."""
    headings = [" > ".join(chunk.get("section_path") or ()), *(chunk.get("section_path") or ())]
    texts = [chunk["text"], *(f"{heading}\n{chunk['text']}" for heading in headings)]
    known = {hashlib.sha256(text.encode()).hexdigest() for text in texts}
    return bool(text_hash) and text_hash not in known


@dataclass(frozen=True)
class MongoBook:
    """A book that was loaded: row ``n`` of ``embeddings`` is of chunk ``n``. ``stale`` are chunks whose text changed."""

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
        nodes = [{"id": node["node_id"], "type": node.get("node_type"), **_about(node)} for node in self.nodes]
        return {"nodes": nodes, "edges": self.edges}

    def embedder(self, queries: Any = None) -> StoredVectors:
        """An embedder that knows the texts of the chunks; ``queries`` is one for all other texts, by the same model."""
        if self.embeddings is None:
            raise InvalidInput("The book was loaded without embeddings.", remedy="Load it with model_id=….")
        return StoredVectors(
            f"mongo:{self.model_id}", [chunk["text"] for chunk in self.chunks], self.embeddings, queries
        )


def _about(node: Mapping[str, Any]) -> dict[str, Any]:
    told = node.get("metadata")
    return dict(told) if isinstance(told, Mapping) else {}


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
        return np.array([next(made) if place is None else self._rows[place] for place in places], dtype=np.float32)

    def _place(self, text: str) -> int | None:
        """A chunk's text is embedded with the headings above it, which are lines of their own."""
        while text not in self._places and "\n" in text:
            text = text.partition("\n")[2]
        return self._places.get(text)

    def _other(self, texts: Iterable[str], input_type: str) -> NDArray[np.float32]:
        from ir.embed import make_embedder

        if self._queries is None:
            raise EmbedderError(
                f"Only the vectors of chunks are known of {self.id!r}; there is none of {next(iter(texts))[:80]!r}.",
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
