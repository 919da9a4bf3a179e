"""The files that another pipeline made of books, brought together: chunks with their graph and questions about them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir.book.files import (
    ENRICHED,
    GRAPH,
    MERGED,
    QUERIES,
    Enriched,
    GivenGraph,
    read_enriched,
    read_graph,
    read_queries,
    stem_of,
)
from ir.errors import SourceError

__all__ = ["SUFFIXES", "Dropped", "document_of", "given_books", "reference_files"]

SUFFIXES = (ENRICHED, GRAPH, QUERIES)


@dataclass(frozen=True)
class Dropped:
    """An edge of a given graph that leads to or from a node that nobody declared."""

    file: str
    source: str
    relation: str
    target: str
    unknown: str


def reference_files(folder: Path) -> list[Path]:
    """The files of the pipeline below a folder; of several runs in one place those of the newest."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if Path(root).name == "runs" and folders:
            folders[:] = folders[-1:]
        found += [Path(root, name) for name in sorted(names) if name.endswith(SUFFIXES)]
    return found


def document_of(path: Path) -> str:
    """The document that a file of the pipeline is about, by its name."""
    return stem_of(path, next(suffix for suffix in SUFFIXES if path.name.endswith(suffix)))


def given_books(paths: Sequence[Path]) -> tuple[dict[str, dict[str, Any]], list[Dropped]]:
    """The books of these files as raw items, and the edges that were dropped."""
    books = _books([path for path in paths if path.name.endswith(ENRICHED)])
    graphs = [read_graph(path) for path in _beside(paths, GRAPH)]
    queries = {path: read_queries(path) for path in _beside(paths, QUERIES)}
    if not books and paths:
        raise SourceError(
            f"{paths[0]} says nothing without its chunks.",
            remedy=f"Name {document_of(paths[0])}{ENRICHED} too, or the folder that holds both.",
        )
    items = {name: _raw(book) for name, book in books.items()}
    dropped = _give_graphs(items, books, graphs)
    for path, asked in queries.items():
        owner = _owner(path, QUERIES, books)
        if owner is not None:
            items[owner]["_queries"] = asked
    return items, dropped


def _beside(paths: Sequence[Path], suffix: str) -> list[Path]:
    """The files of a kind: those that were named, and those that belong to the chunks that were."""
    named = [path for path in paths if path.name.endswith(suffix)]
    chunks = [path for path in paths if path.name.endswith(ENRICHED)]
    more = [path.with_name(stem_of(path, ENRICHED) + suffix) for path in chunks]
    return list(dict.fromkeys([*named, *(path for path in more if path.is_file())]))


def _books(paths: Sequence[Path]) -> dict[str, Enriched]:
    """Books by document. A merged file repeats the others, and adds what they have not."""
    single = [path for path in paths if stem_of(path, ENRICHED) != MERGED]
    merged = [path for path in paths if stem_of(path, ENRICHED) == MERGED]
    found: dict[str, Enriched] = {}
    places: dict[str, tuple[str, str]] = {}
    for path in (*single, *merged):
        for book in read_enriched(path):
            repeats = path in merged and single and all(chunk["id"] in places for chunk in book.chunks)
            for chunk in book.chunks:
                seen = places.get(chunk["id"])
                if seen is not None and not (repeats and seen[1] == chunk["text"]):
                    raise SourceError(
                        f"The chunk id {chunk['id']!r} comes twice: in {seen[0]} and in {path} at {chunk['at']}.",
                        remedy="Each chunk of a corpus needs an id of its own; or give each book a corpus by --book.",
                    )
                places.setdefault(chunk["id"], (str(path), chunk["text"]))
            if repeats:
                continue
            if book.document in found:
                raise SourceError(
                    f"Two files hold the document {book.document!r}: {found[book.document].file} and {path}."
                )
            found[book.document] = book
    return found


def _raw(book: Enriched) -> dict[str, Any]:
    raw: dict[str, Any] = {"_chunks": [dict(chunk) for chunk in book.chunks], "title": book.title or book.document}
    if book.book:
        raw["book"] = book.book
    if book.run_id:
        raw["run_id"] = book.run_id
    if book.summaries:
        raw["_summaries"] = dict(book.summaries)
    if book.vectors:
        raw["_vectors"] = True
    return raw


def _owner(path: Path, suffix: str, books: Mapping[str, Enriched]) -> str | None:
    """The document that a file belongs to: the one of its name, else that of the chunks beside it."""
    stem = stem_of(path, suffix)
    if stem in books:
        return stem
    beside = str(path.with_name(stem + ENRICHED))
    return next((name for name, book in books.items() if book.file == beside), next(iter(books), None))


def _give_graphs(
    items: dict[str, dict[str, Any]], books: Mapping[str, Enriched], graphs: Sequence[GivenGraph]
) -> list[Dropped]:
    """Share nodes and edges out among the books; edges with an end that nobody declared are dropped and told."""
    home = {chunk["id"]: name for name, book in books.items() for chunk in book.chunks} | {name: name for name in books}
    nodes: dict[str, Mapping[str, Any]] = {}
    for graph in sorted(graphs, key=lambda one: Path(one.file).name.startswith(MERGED)):
        owner = _owner(Path(graph.file), GRAPH, books)
        for node_id, node in graph.nodes.items():
            nodes.setdefault(node_id, node)
            home.setdefault(node_id, str(owner))
        if not graph.declares:
            for source, _, target, corpus, _ in graph.edges:
                for end in (source, *([] if corpus else [target])):
                    nodes.setdefault(end, {"id": end})
                    home.setdefault(end, str(owner))
    dropped: dict[tuple[str, str, str], Dropped] = {}
    drawn: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {name: {} for name in books}
    unresolved: dict[str, dict[tuple[str, str, str], None]] = {name: {} for name in books}
    for graph in graphs:
        for edge in graph.edges:
            source, relation, target, corpus, _ = edge
            unknown = source if source not in home else target if corpus is None and target not in home else None
            if unknown is None:
                drawn[home[source]].setdefault((source, relation, target, corpus), edge)
            else:
                told = Dropped(graph.file, source, relation, target, unknown)
                dropped.setdefault((source, relation, target), told)
        for one in graph.unresolved:
            if one[0] in home:
                unresolved[home[one[0]]].setdefault(one)
    for name in books:
        own = [{**node, "id": key} for key, node in nodes.items() if home[key] == name]
        if graphs:
            items[name]["_graph"] = {
                "nodes": own,
                "edges": [list(edge) for edge in drawn[name].values()],
                "unresolved": [list(one) for one in unresolved[name]],
            }
    return list(dropped.values())
