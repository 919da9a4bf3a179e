"""Books as a corpus: texts, pages and PDF files, or what another pipeline has made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ir.book.bundle import SUFFIXES, Dropped, document_of, given_books, reference_files
from ir.book.enrichment import Enrichment
from ir.book.files import ENRICHED, GRAPH, MERGED, stem_of
from ir.book.strategy import Book, book_of
from ir.errors import SourceError
from ir.sources import CorpusSource
from ir.sources.files import FileScope
from ir.sources.loaded import LoadedScope
from ir.sources.records import load_jsonl
from ir.sources.skipped import Skipped

__all__ = ["MAX_BYTES", "BookFiles", "BookScope", "book_files", "name_of", "new_run_id"]

#: What is read of a folder; a file that is named is read whatever it is called.
_BOOKS = r"(?i)\.(md|markdown|mdx|mkd|html?|xhtml|pdf|txt|text|rst|adoc|asciidoc)$"
#: Entries, one to a line, as collections of rules are often given.
_ENTRIES = ".jsonl"
#: Books are large.
MAX_BYTES = 500_000_000
_NO_RULES = "none"
#: So many books, and so many characters at each of some places, are looked at to tell their language.
_SAMPLED = 2
_SAMPLE = 1000
_UNLOCK = "Save it without the password first (qpdf --decrypt, for one)."
#: So many files are named in an error.
_NAMED = 5


def name_of(path: Path) -> str:
    """What the book of a file or folder is called, unless somebody says otherwise.

    >>> name_of(Path("a/core.enriched.json")), name_of(Path("a/Player Core.pdf"))
    ('core', 'Player Core')
    """
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
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
    kind = BookScope if _are_given(places) else BookFiles
    scope = kind(places, max_bytes=max_bytes or MAX_BYTES)
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


def _are_given(places: Sequence[str | Path]) -> bool:
    """Whether files of another pipeline are among these, or below them, or files of entries."""
    paths = [Path(place).expanduser() for place in places]
    return any(
        path.name.endswith(SUFFIXES) or path.suffix.lower() == _ENTRIES or (path.is_dir() and reference_files(path))
        for path in paths
    )


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
    the newest run are read where there are several. A file of JSON lines is a book of entries: each line is an item
    with an ``id``, its ``text``, and perhaps ``title``, ``chapter``, ``tags`` and ``links``. ``dropped`` are edges that
    lead nowhere.
    """

    def __init__(self, paths: Sequence[str | Path], *, max_bytes: int = MAX_BYTES) -> None:
        self.paths = [Path(path).expanduser().absolute() for path in paths]
        self.book: str | None = None
        self._max_bytes = max_bytes
        self._read: _Read | None = None
        #: What was read to see what it is like, until it is asked for: a book is large, and reading it takes long.
        self._sampled: dict[str, tuple[str | None, dict[str, Any]]] = {}
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
            sampled = self._sampled.pop(key, None)
            raw = scope[inner] if sampled is None or sampled[0] != scope.stat_signal(inner) else sampled[1]
        if self.book is not None:
            raw["book"] = self.book
        return raw

    def samples(self) -> list[str]:
        """Some texts of the first books, to tell their language by."""
        found: list[str] = []
        known = self._known()
        for key in islice(self, _SAMPLED):
            try:
                raw = self[key]
            except KeyError:  # the build says why
                continue
            if key in known.texts:
                scope, inner = known.texts[key]
                self._sampled[key] = (scope.stat_signal(inner), raw)
            texts = [chunk["text"] for chunk in raw["_chunks"]] if "_chunks" in raw else [str(raw.get("text", ""))]
            whole = "\n".join(texts[:: max(1, len(texts) // 50)])
            step = max(_SAMPLE, len(whole) // 50)
            found += [whole[start : start + _SAMPLE] for start in range(0, len(whole), step)]
        return found

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
        locked = any("password" in one.reason for one in told)
        return SourceError(
            f"Nothing could be read of it. {why}{more}.", remedy=_UNLOCK if locked else "Give a file that can be read."
        )

    def _known(self) -> _Read:
        if self._read is None:
            self._read = self._walk()
        return self._read

    def _walk(self) -> _Read:
        found = _Read()
        given: list[Path] = []
        entries: dict[str, dict[str, Any]] = {}
        several = len(self.paths) > 1
        for path in self.paths:
            if path.is_file() and path.name.endswith(SUFFIXES):
                given.append(path)
                continue
            if path.is_file() and path.suffix.lower() == ".json":
                raise SourceError(
                    f"{path} is not called as the file of a book is.",
                    remedy=f"Books in JSON are called NAME{ENRICHED}, with NAME{GRAPH} beside them.",
                )
            if path.is_file() and path.suffix.lower() == _ENTRIES:
                entries |= LoadedScope(load_jsonl(path))
                continue
            given += [] if path.is_file() else reference_files(path)
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
        found.given, found.dropped = given_books(given)
        # A book of which the chunks are given is not read once more from its source.
        told = {key.casefold() for key in found.given} | {document_of(path).casefold() for path in given}
        found.texts = {
            key: place
            for key, place in found.texts.items()
            if key.casefold() not in told and book_of(key).casefold() not in told
        }
        found.given |= entries
        return found


class BookFiles(BookScope):
    """Books of which none is given in chunks: whether files changed can be told without reading them."""

    def stat_signal(self, key: str) -> str | None:
        """Size and time of change, and what the book is called."""
        found = self._known().texts.get(key)
        signal = None if found is None else found[0].stat_signal(found[1])
        return None if signal is None else f"{signal}:{self.book or ''}"
