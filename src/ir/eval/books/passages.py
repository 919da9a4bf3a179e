"""The passages of some corpora of books, as evaluation looks them up: by id, by place, by what they say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.base import Record, SearchHit
    from ir.index import Corpus

__all__ = ["Passage", "Passages", "plain", "words"]

_WORD = re.compile(r"[^\W_]+")
#: Where a word is broken at the end of a line.
_BROKEN = re.compile("[\u00ad\ufffe]")
_ENDINGS = re.compile(r"\.(pdf|md|markdown|html?|txt|epub|json)$")


def words(text: str) -> list[str]:
    """
    >>> words("It’s the Fire\u00adball—8d6!")
    ['it', 's', 'the', 'fireball', '8d6']
    """
    return _WORD.findall(_BROKEN.sub("", unicodedata.normalize("NFKC", text)).casefold())


def plain(text: str) -> str:
    """The words of a text with one space around each, so that a run of words is a part of it."""
    return f" {' '.join(words(text))} "


def book_name(name: str) -> str:
    """What a book is called, whatever its file is called.

    >>> book_name("Player_Core.pdf") == book_name("rules/player-core")
    True
    """
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
    return " ".join(words(_ENDINGS.sub("", last).replace("_", " ")))


@dataclass(frozen=True, eq=False)
class Passage:
    """A chunk: ``id`` is the one that gold names it by, ``record`` the one that its store has."""

    id: str
    record: str
    artifact: str
    corpus: str
    book: str
    section: tuple[str, ...]
    page: str | None
    label: str | None
    text: str
    #: Where it stands among all.
    at: int

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        return tuple(" ".join(words(part)) for part in self.section)

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        """The book and the section, which a re-chunked book still has."""
        return self.book, self.headings

    def on_page(self, page: str) -> bool:
        return page in (self.page, self.label)

    def under(self, section: Sequence[str]) -> bool:
        """Whether it stands under these headings, or deeper below them."""
        wanted = tuple(" ".join(words(part)) for part in section)
        most = len(self.headings) - len(wanted)
        return any(self.headings[at : at + len(wanted)] == wanted for at in range(most + 1))


class Passages:
    """All passages of some corpora."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.all = list(passages)
        self.by_id: dict[str, list[Passage]] = {}
        self.by_artifact: dict[str, list[Passage]] = {}
        self._by_record: dict[tuple[str, str], Passage] = {}
        self.books: dict[str, list[Passage]] = {}
        for one in self.all:
            self.by_id.setdefault(one.id, []).append(one)
            self.by_artifact.setdefault(one.artifact, []).append(one)
            self.books.setdefault(one.book, []).append(one)
            self._by_record[one.corpus, one.record] = one
        self._called = {book_name(name): name for name in reversed(self.books)}

    def __len__(self) -> int:
        return len(self.all)

    @classmethod
    def of(cls, corpora: Sequence[Corpus]) -> Passages:
        """Read them, in the order of the books as far as that is known."""
        return cls(_read(corpora))

    def book(self, name: str | None) -> str | None:
        """The book that somebody means by a name; ``None`` if there is none."""
        if name is None:
            return None
        return name if name in self.books else self._called.get(book_name(name))

    def of_hit(self, hit: SearchHit, corpus: str) -> Passage | None:
        """The passage that was found; ``None`` if the corpus has changed meanwhile."""
        from ir.base import Record

        record = Record.make_id(hit.artifact_id, hit.surface_kind, int(hit.surface_index or 0))
        return self._by_record.get((corpus, record))

    def of_record(self, corpus: str, record: str) -> Passage | None:
        return self._by_record.get((corpus, record))


def _read(corpora: Sequence[Corpus]) -> Iterator[Passage]:
    at = 0
    for corpus in corpora:
        records = [record for batch in corpus.store.iter_records() for record in batch]
        for record in sorted(records, key=_order):
            yield _passage(record, corpus.name, at)
            at += 1


def _order(record: Record) -> tuple[Any, ...]:
    start = record.metadata.get("start")
    return (str(record.metadata.get("book", "")), start if isinstance(start, int) else 0, record.surface_index)


def _passage(record: Record, corpus: str, at: int) -> Passage:
    about: Mapping[str, Any] = record.metadata
    path = about.get("section_path")
    section = tuple(str(part) for part in path) if isinstance(path, (list, tuple)) else ()
    page, label = about.get("page"), about.get("page_label")
    return Passage(
        id=str(about.get("chunk") or record.id),
        record=record.id,
        artifact=record.artifact_id,
        corpus=corpus,
        book=str(about.get("book") or corpus),
        section=section,
        page=None if page is None else str(page),
        label=None if label is None else str(label),
        text=record.text,
        at=at,
    )
