"""A corpus as books: what of it goes to the collections that other systems read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ir.base import Record, embedding_text
from ir.errors import CorpusBusy
from ir.links import Edge, Node
from ir.store.mongo.stored_book import Document, StoredBook

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["books_of", "run_of", "text_hash"]

#: What a chunk's metadata may say that the collections have a field for.
_FIELDS = ("page", "content_kind", "tags", "traits", "section_path", "is_rule_bearing", "run_id")
#: What a node says that is for searches here alone, and may be long.
_OWN = ("queries", "page_summary")


def books_of(
    store: Store, ruleset_id: str, book_id: str | None = None, models: Mapping[str, str] | None = None
) -> list[StoredBook]:
    """The books of a corpus; see :func:`ir.book.mongo.store_to_mongo`."""
    version = store.version
    records = [record for page in store.iter_records() for record in page]
    nodes = {node.id: node for page in store.iter_nodes() for node in page}
    edges = dict(entry for page in store.iter_edges() for entry in page)
    spaces = _models(store) if models is None else models
    vectors = {model: store.get_vectors([one.id for one in records], space=space) for space, model in spaces.items()}
    parts = _parted(records, book_id, str(store.get_config().get("name") or "book"))
    if store.version != version:
        raise CorpusBusy("The corpus changed while it was read.", remedy="Wait for the build to end, then try again.")
    known = nodes.keys() | {record.artifact_id for record in records} | {_chunk_id(record) for record in records}
    return [_book(ruleset_id, name, part, nodes, edges, vectors, known) for name, part in parts.items()]


def run_of(settings: Mapping[str, Any], book: StoredBook) -> str:
    """The latest run that changed a book, by the settings of its corpus or by its chunks; else this moment."""
    runs = [str(chunk["run_id"]) for chunk in book.chunks if chunk.get("run_id")]
    return str(settings.get("run_id") or max(runs, default="") or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _models(store: Store) -> dict[str, str]:
    """The model that each space is stored by; a space that is still being filled by a better model waits."""
    config = store.get_config()
    told = {**(config.get("spaces") or {}), store.default_space: config}
    upgrade = config.get("upgrade") or {}
    filling = {upgrade.get("fast"), upgrade.get("better")} - {store.default_space}
    filled = [
        space
        for space, dim in store.spaces().items()
        if dim is not None and not (space in filling and store.unembedded(space=space, limit=1))
    ]
    return {space: str(told.get(space, {}).get("embedder_id") or space) for space in filled or [store.default_space]}


def _parted(records: Sequence[Record], book_id: str | None, name: str) -> dict[str, list[Record]]:
    parts: dict[str, list[Record]] = {}
    for record in records:
        parts.setdefault(str(record.metadata.get("book") or name), []).append(record)
    return parts if book_id is None else {book_id: parts.get(book_id, list(records))}


def _book(
    ruleset_id: str,
    name: str,
    records: Sequence[Record],
    nodes: Mapping[str, Node],
    edges: Mapping[str, Sequence[Edge]],
    vectors: Mapping[str, Mapping[str, Any]],
    known: set[str],
) -> StoredBook:
    chunks = {_chunk_id(record): record for record in records}
    own = _with_containers(chunks, edges)
    drawn = [edge for node in own for edge in edges.get(node, ()) if edge.corpus is not None or edge.target in known]
    touched = {**own, **dict.fromkeys(edge.target for edge in drawn if edge.corpus is None)}
    embeddings = {
        model: {
            key: (by_id[record.id].tolist(), text_hash(embedding_text(record.text, record.metadata)))
            for key, record in chunks.items()
            if record.id in by_id
        }
        for model, by_id in vectors.items()
    }
    ordered = [_chunk(key, chunks[key]) for key in _in_order(chunks, edges)]
    return StoredBook(
        ruleset_id,
        name,
        ordered,
        embeddings,
        [_edge(edge) for edge in drawn],
        [_node(nodes[node]) for node in touched if node in nodes],
    )


def _chunk_id(record: Record) -> str:
    """What the graph calls the chunk of a record."""
    return str(record.metadata.get("chunk") or record.id)


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


def _with_containers(chunks: Mapping[str, Record], edges: Mapping[str, Sequence[Edge]]) -> dict[str, None]:
    """The chunks of a book, their artifacts, and what contains those."""
    above: dict[str, list[str]] = {}
    for source, out in edges.items():
        for edge in out:
            if edge.type == "contains" and edge.corpus is None:
                above.setdefault(edge.target, []).append(source)
    own = dict.fromkeys([*chunks, *(record.artifact_id for record in chunks.values())])
    waiting = list(own)
    while waiting:
        for container in above.get(waiting.pop(), ()):
            if container not in own:
                own[container] = None
                waiting.append(container)
    return own


def _edge(edge: Edge) -> Document:
    about = {**edge.properties, **({} if edge.corpus is None else {"corpus": edge.corpus})}
    return {"source_id": edge.source, "target_id": edge.target, "relation": edge.type, "metadata": about}


def _node(node: Node) -> Document:
    about = {key: value for key, value in node.properties.items() if key not in _OWN}
    return {"node_id": node.id, "node_type": node.type, "metadata": about}
