"""A corpus of books as the files of the reference pipeline: to look at, to evaluate, to read again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ir.base import POINTER_KEYS, Record
from ir.book.elsewhere import WORKSPACE, unresolved_in
from ir.book.files import ENRICHED, GRAPH, MERGED, QUERIES
from ir.config.files import write_atomic
from ir.errors import InvalidInput
from ir.links import Edge, Node
from ir.protocols import Store

__all__ = ["write_files"]

#: Fields that stand beside the text of a chunk; the rest of what is known of it is its ``metadata``.
_BESIDE = ("page", "content_kind", "is_rule_bearing", "tags", "traits", "section_path", "run_id")
_UNFIT = re.compile(r"[^\w.()-]+")


def write_files(store: Store, folder: Path, run_id: str) -> Path:
    """Write what a corpus holds below ``folder``; the folder of this run."""
    target = folder / "outputs" / "runs" / _UNFIT.sub("-", run_id) / "enriched"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"Nothing can be written to {folder}: {error.strerror}.", remedy="Choose another folder by --files."
        ) from error
    documents = {node.id: node for nodes in store.iter_nodes() for node in nodes if node.type == "document"}
    homes, chunks = _chunks(store, documents)
    nodes, pages = _nodes(store, homes, documents)
    edges, unresolved = _edges(store, homes)
    whole: dict[str, list[Any]] = {"chunks": [], "nodes": [], "edges": [], "unresolved": []}
    titles: dict[str, str] = {}
    summaries: dict[str, Any] = {}
    for document, node in documents.items():
        name = target / _file_name(document)
        about = _about(document, node, chunks[document], pages.get(document, {}), run_id)
        _write(name, ENRICHED, {**about, "chunks": [_without_home(one) for one in chunks[document]]})
        graph = {part: held.get(document, []) for part, held in (("nodes", nodes), ("edges", edges))}
        _write(name, GRAPH, {"run_id": run_id, **graph, "unresolved": unresolved.get(document, [])})
        if node.properties.get("queries"):
            _write(name, QUERIES, {"document": document, "run_id": run_id, "queries": node.properties["queries"]})
        titles[document] = about["title"]
        summaries[document] = about.get("page_summaries", {})
        whole["chunks"] += chunks[document]
        whole["nodes"] += graph["nodes"]
        whole["edges"] += graph["edges"]
        whole["unresolved"] += unresolved.get(document, [])
    told = {"document": MERGED, "run_id": run_id, "titles": titles, "page_summaries": summaries}
    _write(target / MERGED, ENRICHED, {**told, "chunks": whole["chunks"]})
    shared = list({node["id"]: node for node in whole["nodes"]}.values())
    _write(
        target / MERGED,
        GRAPH,
        {"run_id": run_id, "nodes": shared, "edges": whole["edges"], "unresolved": whole["unresolved"]},
    )
    return target


def _file_name(document: str) -> str:
    return _UNFIT.sub("-", document).strip("-.") or "book"


def _chunks(store: Store, documents: Mapping[str, Node]) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """The document of each node that is known so far, and the chunks of each document."""
    homes = {document: document for document in documents}
    for _, entry in store.ledger_items():
        homes.update(dict.fromkeys(entry.get("record_ids", ()), entry.get("item", entry["artifact_id"])))
    found: dict[str, list[dict[str, Any]]] = {document: [] for document in documents}
    for records in store.iter_records():
        for record in records:
            home = homes.get(record.id, record.artifact_id)
            chunk = _chunk(record, home)
            homes[chunk["id"]] = home
            homes.setdefault(record.artifact_id, home)
            found.setdefault(home, []).append(chunk)
    return homes, found


def _chunk(record: Record, document: str) -> dict[str, Any]:
    about = dict(record.metadata)
    chunk = str(about.pop("chunk", record.id))
    told: dict[str, Any] = {"id": chunk, "text": record.text, "document": document}
    if chunk != record.artifact_id:
        told["artifact_id"] = record.artifact_id
    told["kind"] = record.surface_kind
    told |= {name: about.pop(name, None) for name in _BESIDE}
    told |= {name: told[name] or [] for name in ("tags", "traits", "section_path")}
    # Where the file was on this machine is nobody else's business, and nothing to open there.
    told["metadata"] = {key: value for key, value in about.items() if key not in POINTER_KEYS}
    return told


def _without_home(chunk: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in chunk.items() if key != "document"}


def _about(
    document: str, node: Node, chunks: Sequence[Mapping[str, Any]], summaries: Mapping[str, str], run_id: str
) -> dict[str, Any]:
    about: dict[str, Any] = {"document": document, "title": node.properties.get("title", document), "run_id": run_id}
    books = {chunk["metadata"].get("book") for chunk in chunks} - {None}
    if len(books) == 1:
        about["book"] = books.pop()
    return {**about, "page_summaries": dict(summaries)} if summaries else about


def _nodes(
    store: Store, homes: dict[str, str], documents: Mapping[str, Node]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, str]]]:
    """The nodes of each document as JSON has them, and the summaries of its pages.

    An entity that several documents share is in each of them.
    """
    pages: dict[str, dict[str, str]] = {}
    declared: dict[str, list[str]] = {}
    for _, entry in store.ledger_items():
        for node_id in entry.get("nodes", ()):
            declared.setdefault(node_id, []).append(entry["artifact_id"])
            homes.setdefault(node_id, entry["artifact_id"])
    found: dict[str, list[dict[str, Any]]] = {}
    for nodes in store.iter_nodes():
        for node in nodes:
            about = {key: value for key, value in node.properties.items() if key not in ("queries", "page_summary")}
            name = about.get("name") or about.get("title")
            told = {"id": node.id, "type": node.type, "name": name, "properties": about}
            for item in declared.get(node.id, [homes.get(node.id, next(iter(documents), ""))]):
                found.setdefault(item, []).append(told)
                if node.properties.get("page_summary"):
                    pages.setdefault(item, {})[str(about.get("page"))] = node.properties["page_summary"]
    return found, pages


def _edges(
    store: Store, homes: Mapping[str, str]
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, list[dict[str, str]]]]:
    """The edges of each document, and the references that its own corpus does not answer."""
    unresolved: dict[str, list[dict[str, str]]] = {}
    names: set[tuple[str, str]] = set()
    for one in unresolved_in(store):
        names.add((one.chunk, one.name))
        unresolved.setdefault(one.item, []).append({"source": one.chunk, "target": one.name, "said": one.said})
    found: dict[str, list[dict[str, Any]]] = {}
    for batch in store.iter_edges():
        for source, edges in batch:
            kept = [edge for edge in edges if not _is_unresolved(edge, names)]
            found.setdefault(homes.get(source, ""), []).extend(map(_edge, kept))
    return found, unresolved


def _is_unresolved(edge: Edge, names: set[tuple[str, str]]) -> bool:
    return edge.properties.get("resolution") == WORKSPACE or (edge.source, edge.target) in names


def _edge(edge: Edge) -> dict[str, Any]:
    told: dict[str, Any] = {"source": edge.source, "target": edge.target, "relation": edge.type}
    if edge.corpus is not None:
        told["corpus"] = edge.corpus
    return {**told, "properties": dict(edge.properties)}


def _write(stem: Path, suffix: str, told: Mapping[str, Any]) -> None:
    write_atomic(stem.with_name(stem.name + suffix), "".join(_pieces(told)))


def _pieces(told: Mapping[str, Any]) -> Iterable[str]:
    yield from json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(told)
    yield "\n"
