"""Routing by chapters: a question is held against a summary of each chapter, and only the best are searched.

A record's chapter is its ``chapter``, else the first heading of its ``section_path`` that tells it from other parts of
the same document. Its summary is what the corpus was given (``chapter_summaries`` among its settings, by title), else
its headings and the first sentence of each section; the vector of that is the mean of its records' vectors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.base import Row
from ir.protocols import Snapshot
from ir.retrieve.bm25 import Bm25
from ir.retrieve.whole import Whole, kept, min_max, whole_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs
    from ir.retrieve.channels import Question

__all__ = ["Chapters", "Route", "chapter_of", "chapters_of", "route"]

#: So much of a chapter is in its summary.
_MOST_CHARACTERS = 4_000
#: What the words of a summary count against its vector.
_WORDS = 0.4
_SENTENCE = re.compile(r"(?<=[.!?])\s")


class Route(NamedTuple):
    """The records of the chapters that a question fits best, and the titles of these, best first."""

    refs: Refs
    titles: tuple[str, ...]
    of: int


@dataclass(frozen=True)
class Chapters:
    """The chapters of a version: titles, places of their records, and what a question is held against."""

    titles: Sequence[str]
    places: Sequence[NDArray[np.int64]]
    summaries: Sequence[str]
    words: Bm25
    vectors: NDArray[np.float32] | None

    def scores(self, words: str, vector: NDArray[np.float32] | None) -> NDArray[np.float64]:
        lexical = min_max(self.words.scores(words))
        if self.vectors is None or vector is None or not vector.any():
            return lexical
        return _WORDS * lexical + (1.0 - _WORDS) * min_max((self.vectors @ vector).astype(np.float64))


def route(corpus: Any, snapshot: Snapshot, question: Question, most: int) -> Route | None:
    """Where to search; ``None`` where there are no chapters to choose from."""
    whole = whole_of(corpus, snapshot, "chapters")
    chapters = chapters_of(corpus, snapshot, question.space)
    if len(chapters.titles) < 2 or most >= len(chapters.titles):
        return None
    order = np.argsort(-chapters.scores(question.words, question.vector), kind="stable")[:most].tolist()
    places = np.sort(np.concatenate([chapters.places[number] for number in order]))
    return Route(whole.refs[places], tuple(chapters.titles[number] for number in order), len(chapters.titles))


def chapters_of(corpus: Any, snapshot: Snapshot, space: str | None = None) -> Chapters:
    """The chapters of a corpus, in the order in which they come."""
    return kept(corpus, snapshot, f"chapters:{space or ''}", lambda: _read(corpus, snapshot, space))


def _read(corpus: Any, snapshot: Snapshot, space: str | None) -> Chapters:
    whole = whole_of(corpus, snapshot, "chapters")
    given = snapshot.config().get("chapter_summaries") or {}
    parts: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(_keys(whole)):
        if key is not None:
            parts.setdefault(key, []).append(place)
    titles = [title for _, title in parts]
    places = [np.array(one, dtype=np.int64) for one in parts.values()]
    summaries = [_summary(title, [whole.rows[at] for at in one], given) for (_, title), one in parts.items()]
    return Chapters(titles, places, summaries, Bm25(summaries), _vectors(snapshot, whole, places, space))


def _keys(whole: Whole) -> list[tuple[str, str] | None]:
    """The document and the chapter of each record; ``None`` for one without."""
    levels: dict[str, int] = {}
    firsts: dict[str, list[set[str]]] = {}
    for row in whole.rows:
        seen = firsts.setdefault(_document(row), [])
        for level, title in enumerate(_path(row)):
            if level == len(seen):
                seen.append(set())
            seen[level].add(title)
    for document, seen in firsts.items():
        levels[document] = next((level for level, titles in enumerate(seen) if len(titles) > 1), 0)
    found = [(_document(row), chapter_of(row.metadata, levels[_document(row)])) for row in whole.rows]
    several: dict[str, set[str]] = {}
    for document, chapter in found:
        if chapter is not None:
            several.setdefault(document, set()).add(chapter)
    # A document that is all of one chapter is an entry of it, beside others; chapters of two books are two.
    return [
        None if chapter is None else (document if len(several[document]) > 1 else "", chapter)
        for document, chapter in found
    ]


def chapter_of(metadata: Mapping[str, Any], level: int = 0) -> str | None:
    """
    >>> chapter_of({"section_path": ["Rules", "Combat", "Cover"]}, 1), chapter_of({"chapter": "Magic"}), chapter_of({})
    ('Combat', 'Magic', None)
    """
    told = metadata.get("chapter")
    if isinstance(told, (str, int)) and str(told).strip():
        return str(told)
    path = metadata.get("section_path")
    if not isinstance(path, (list, tuple)) or not path:
        return None
    return str(path[min(level, len(path) - 1)])


def _document(row: Row) -> str:
    book = row.metadata.get("book")
    return book if isinstance(book, str) else row.artifact_id.partition("#")[0]


def _path(row: Row) -> Sequence[str]:
    path = row.metadata.get("section_path")
    return [str(one) for one in path] if isinstance(path, (list, tuple)) else ()


def _summary(title: str, rows: Sequence[Row], given: Mapping[str, Any]) -> str:
    if isinstance(given.get(title), str):
        return f"{title}\n{given[title]}"
    lines = dict.fromkeys([title])
    for row in rows:
        heading = _path(row)[-1] if _path(row) else str(row.metadata.get("title") or "")
        lines.setdefault(heading)
        lines.setdefault(_first_sentence(row.text))
    return "\n".join(filter(None, lines))[:_MOST_CHARACTERS]


def _first_sentence(text: str) -> str:
    body = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return _SENTENCE.split(body.strip(), 1)[0][:300]


def _vectors(
    snapshot: Snapshot, whole: Whole, places: Sequence[NDArray[np.int64]], space: str | None
) -> NDArray[np.float32] | None:
    dim = snapshot.spaces().get(space or snapshot.default_space)
    if dim is None:
        return None
    rows = np.zeros((len(places), dim), dtype=np.float32)
    for number, at in enumerate(places):
        refs = whole.refs[at]
        found = [one for one in (snapshot.vectors(refs, space) if space else snapshot.vectors(refs)) if one is not None]
        if found:
            mean = np.mean(found, axis=0, dtype=np.float32)
            rows[number] = mean / (np.linalg.norm(mean) or 1.0)
    return rows
