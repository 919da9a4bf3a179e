"""Books as a corpus: texts, pages and PDF files, or what another pipeline has made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ir.book.enrichment import Enrichment
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
from ir.book.strategy import Book, book_of
from ir.errors import SourceError
from ir.sources import CorpusSource
from ir.sources.files import FileScope
from ir.sources.skipped import Skipped

__all__ = ["MAX_BYTES", "BookScope", "Dropped", "book_files", "name_of", "new_run_id"]

#: What is read of a folder; a file that is named is read whatever it is called.
_BOOKS = r"(?i)\.(md|markdown|mdx|mkd|html?|xhtml|pdf|txt|text|rst|adoc|asciidoc)$"
#: Books are large.
MAX_BYTES = 500_000_000
_SUFFIXES = (ENRICHED, GRAPH, QUERIES)
_NO_RULES = "none"
#: So many files are named in an error.
_NAMED = 5


@dataclass(frozen=True)
class Dropped:
    """An edge of a given graph that leads to or from a node that nobody declared."""

    file: str
    source: str
    relation: str
    target: str
    unknown: str


def name_of(path: Path) -> str:
    """What the book of a file or folder is called, unless somebody says otherwise.

    >>> name_of(Path("a/core.enriched.json")), name_of(Path("a/Player Core.pdf"))
    ('core', 'Player Core')
    """
    suffix = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix)), None)
    return stem_of(path, suffix) if suffix else book_of(path.name)


def new_run_id() -> str:
    """The name of a run: when it began, to the second, in UTC."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def book_files(
    paths: Sequence[str | Path] | str | Path,
    *,
    name: str | None = None,
    rules: str | None = None,
    similar: float | None = None,
    run_id: str | None = None,
    chunk_size: int | None = None,
    max_bytes: int | None = None,
    strategy: Any = None,
    **kwargs: Any,
) -> CorpusSource:
    """Files of books, or folders of them, as one corpus; see :class:`Book`.

    ``rules`` is a file of rules (:class:`Enrichment`); without one those of the package hold, ``"none"`` is for none.
    """
    places = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not places:
        raise SourceError("There is no book to read.", remedy="Name a file or a folder.")
    scope = BookScope(places, max_bytes=max_bytes or MAX_BYTES)
    named = name or name_of(Path(places[0]))
    if len(places) == 1 and scope.is_one_file:
        scope.book = named
    enrichment = Enrichment() if rules == _NO_RULES else Enrichment.read(rules) if rules else Enrichment.default()
    options = {} if chunk_size is None else {"chunk_size": chunk_size, "overlap": chunk_size // 6}
    chosen = strategy or Book(
        enrichment=enrichment,
        run_id=run_id or new_run_id(),
        similar=similar,
        workspace=named,
        refusal=scope.refusal,
        **options,
    )
    return _BookSource(named, scope, chosen, **kwargs)


@dataclass
class _BookSource(CorpusSource):
    """A source that says that it is a book."""

    kind: str = "book"


@dataclass
class _Read:
    """What the last walk found: files of text by id, and books that are given in chunks."""

    texts: dict[str, tuple[FileScope, str]] = field(default_factory=dict)
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    passed_over: int = 0


class BookScope(Mapping[str, Any]):
    """The books of some files and folders: id → raw item. Iterating looks at all of them anew.

    A file is known by its name, one of several folders by the folder's name too. Files of the reference pipeline
    (``*.enriched.json``, ``*.graph.json``, ``*.evaluation_queries.json``) become one item for each document; those of
    the newest run are read where there are several. ``dropped`` are edges that lead nowhere.
    """

    def __init__(self, paths: Sequence[str | Path], *, max_bytes: int = MAX_BYTES) -> None:
        self.paths = [Path(path).expanduser().absolute() for path in paths]
        self.book: str | None = None
        self._max_bytes = max_bytes
        self._read: _Read | None = None
        for path in self.paths:
            if not path.exists():
                raise SourceError(f"There is no file or folder {str(path)!r}.", remedy="Check the path.")

    @property
    def is_one_file(self) -> bool:
        """Whether it is one book by itself: a single file that is not several books in one."""
        path = self.paths[0]
        return len(self.paths) == 1 and path.is_file() and stem_of(path, ENRICHED) != MERGED

    @property
    def dropped(self) -> list[Dropped]:
        return list(self._known().dropped)

    @property
    def passed_over(self) -> int:
        return self._known().passed_over

    def __iter__(self) -> Iterator[str]:
        self._read = self._walk()
        return iter([*self._read.texts, *self._read.given])

    def __len__(self) -> int:
        known = self._known()
        return len(known.texts) + len(known.given)

    def __contains__(self, key: object) -> bool:
        known = self._known()
        return key in known.texts or key in known.given

    def __getitem__(self, key: str) -> dict[str, Any]:
        known = self._known()
        if key in known.given:
            raw = dict(known.given[key])
        else:
            scope, inner = known.texts[key]
            raw = scope[inner]
        if self.book is not None:
            raw["book"] = self.book
        return raw

    def stat_signal(self, key: str) -> str | None:
        found = self._known().texts.get(key)
        signal = None if found is None else found[0].stat_signal(found[1])
        return None if signal is None else f"{signal}:{self.book or ''}"

    def size_of(self, key: str) -> int | None:
        found = self._known().texts.get(key)
        return None if found is None else found[0].size_of(found[1])

    def skipped(self) -> list[Skipped]:
        """What could not be used, and why."""
        known = self._known()
        names = {(id(scope), inner): key for key, (scope, inner) in known.texts.items()}
        scopes = {id(scope): scope for scope, _ in known.texts.values()}
        told = [
            Skipped(names.get((number, one.id), one.id), one.reason, one.below, refused=one.refused)
            for number, scope in scopes.items()
            for one in scope.skipped()
        ]
        return list({one.id: one for one in [*known.skipped, *told]}.values())

    def why_empty(self) -> str | None:
        """Why there is nothing here, as far as the last walk knows; ``None`` if there is something."""
        if len(self):
            return None
        places = ", ".join(str(path) for path in self.paths)
        return f"there is no Markdown, HTML, PDF or text file in {places}, and no *{ENRICHED}"

    def refusal(self) -> SourceError:
        """What to say where a book was wanted and nothing came of it."""
        told = self.skipped()
        if not told:
            empty = self.why_empty()
            if empty:
                return SourceError(f"Nothing was read: {empty}.", remedy="Check the path.")
            return SourceError("Nothing was read: the book is empty.", remedy="Check the file.")
        why = "; ".join(f"{one.id}: {one.reason}" for one in told[:_NAMED])
        more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        return SourceError(f"Nothing could be read of it. {why}{more}.", remedy="Give a file that can be read.")

    def _known(self) -> _Read:
        if self._read is None:
            self._read = self._walk()
        return self._read

    def _walk(self) -> _Read:
        found = _Read()
        given: list[Path] = []
        several = len(self.paths) > 1
        for path in self.paths:
            if path.is_file() and path.name.endswith(_SUFFIXES):
                given.append(path)
                continue
            if path.is_file() and path.suffix.lower() == ".json":
                raise SourceError(
                    f"{path} is not called as the file of a book is.",
                    remedy=f"Books in JSON are called NAME{ENRICHED}, with NAME{GRAPH} beside them.",
                )
            given += [] if path.is_file() else _reference_files(path)
            scope = FileScope(path, pattern=_BOOKS, max_bytes=self._max_bytes)
            for inner in scope:
                key = f"{path.name}/{inner}" if several and path.is_dir() else inner
                if key in found.texts:
                    raise SourceError(
                        f"Two books are called {key!r}.", remedy="Rename one, or give each a corpus by --book."
                    )
                found.texts[key] = (scope, inner)
            found.skipped += scope.skipped()
            found.passed_over += scope.passed_over
        found.given, found.dropped = _given(given)
        # A book of which the chunks are given is not read once more from its source.
        told = {key.casefold() for key in found.given} | {_stem(path).casefold() for path in given}
        found.texts = {
            key: place
            for key, place in found.texts.items()
            if key.casefold() not in told and book_of(key).casefold() not in told
        }
        return found


# -- files of the reference pipeline ---------------------------------------------------------------------------------


def _reference_files(folder: Path) -> list[Path]:
    """The files of the pipeline below a folder; of several runs in one place those of the newest."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if Path(root).name == "runs" and folders:
            folders[:] = folders[-1:]
        found += [Path(root, name) for name in sorted(names) if name.endswith(_SUFFIXES)]
    return found


def _stem(path: Path) -> str:
    return stem_of(path, next(suffix for suffix in _SUFFIXES if path.name.endswith(suffix)))


def _given(paths: Sequence[Path]) -> tuple[dict[str, dict[str, Any]], list[Dropped]]:
    """The books of these files as raw items, and the edges that were dropped."""
    books = _books([path for path in paths if path.name.endswith(ENRICHED)])
    graphs = [read_graph(path) for path in _beside(paths, GRAPH)]
    queries = {path: read_queries(path) for path in _beside(paths, QUERIES)}
    if not books and paths:
        raise SourceError(
            f"{paths[0]} says nothing without its chunks.",
            remedy=f"Name {_stem(paths[0])}{ENRICHED} too, or the folder that holds both.",
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
