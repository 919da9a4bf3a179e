"""The ways in which a phrase can resemble a term, each with a score of its own.

A channel answers a lookup with the terms that it finds best and with its score for any term, so that what another
channel found is scored by this one too.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ir.analysis.languages import LANGUAGES, Stems
from ir.ground.keys import Keys
from ir.ground.postings import Postings, best_places, text_features
from ir.ground.surfaces import Surfaces
from ir.options import choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float32]

__all__ = [
    "PAIRS_FROM",
    "Answer",
    "Channel",
    "Exact",
    "Lookup",
    "OverSurfaces",
    "OverTerms",
    "Prior",
    "Spelling",
    "Words",
    "given_scores",
    "stems_of",
    "word_features",
]

#: The character n-grams of surfaces, those of very many surfaces, and those of definitions.
SURFACE_GRAMS, FEWER_GRAMS, DEFINITION_GRAMS = (2, 3), (3,), (3,)
#: Above so many characters bigrams are left out: they tell little apart, and cost as much as the rest.
MANY_CHARACTERS = 6_000_000
#: So much of a definition is compared by its characters; its words all count.
DEFINITION_CHARACTERS = 600
#: Pairs of words are numbered from here on, words below it, where there are both.
PAIRS_FROM = 1 << 31
#: A longer word has no stem, and after so many stems the memory of them begins anew.
LONGEST_WORD, _MOST_STEMS = 100, 500_000


class Lookup(NamedTuple):
    """A phrase, as given and folded. ``hidden`` is a surface that is left out, and ``hidden_usage`` are documents."""

    phrase: str
    folded: str
    hidden: int = -1
    hidden_usage: Any = None


class Answer(Protocol):
    """What a channel says about one lookup."""

    def best(self, depth: int) -> Numbers:
        """The numbers of about so many terms that score highest here."""

    def scores(self, terms: Numbers) -> Floats:
        """The score of each of these terms."""

    def why(self, term: int) -> str:
        """What of the term it was that scored, in a few words; empty if there is nothing to say."""


class Channel(Protocol):
    """One way to score terms."""

    name: str

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        """What is made of all lookups together, one thing for each."""

    def ask(self, lookup: Lookup, prepared: Any) -> Answer: ...


class OverSurfaces:
    """A score for each surface; a term has that of its best."""

    def __init__(self, surfaces: Surfaces, scores: Floats, rows: Numbers, hidden: int) -> None:
        self._surfaces = surfaces
        self._scores = scores
        self._rows = rows
        if hidden >= 0:
            scores[hidden] = 0

    def best(self, depth: int) -> Numbers:
        places = best_places(self._scores[self._rows], 3 * depth)
        return np.unique(self._surfaces.owners[self._rows[places]]).astype(np.int64)

    def scores(self, terms: Numbers) -> Floats:
        rows, offsets = self._surfaces.rows_of_terms(terms)
        best: Floats = np.maximum.reduceat(self._scores[rows], offsets) if len(rows) else np.zeros(0, np.float32)
        return best

    def why(self, term: int) -> str:
        first, end = int(self._surfaces.starts[term]), int(self._surfaces.starts[term + 1])
        at = first + int(np.argmax(self._scores[first:end]))
        return self._surfaces.texts[at] if self._scores[at] > 0 else ""


class OverTerms:
    """A score for each term."""

    def __init__(self, scores: Floats, rows: Numbers, why: str = "") -> None:
        self._scores = scores
        self._rows = rows
        self._why = why

    def best(self, depth: int) -> Numbers:
        return self._rows[best_places(self._scores[self._rows], depth)]

    def scores(self, terms: Numbers) -> Floats:
        return self._scores[terms]

    def why(self, term: int) -> str:
        return self._why if self._scores[term] > 0 else ""


class Few:
    """The few terms that score at all, with the reason."""

    def __init__(self, found: dict[int, tuple[float, str]]) -> None:
        self._found = found

    def best(self, depth: int) -> Numbers:
        best = sorted(self._found, key=lambda term: (-self._found[term][0], term))[:depth]
        return np.array(best, np.int64)

    def scores(self, terms: Numbers) -> Floats:
        none = (0.0, "")
        return np.array([self._found.get(int(term), none)[0] for term in terms], np.float32)

    def why(self, term: int) -> str:
        return self._found.get(term, (0.0, ""))[1]


def given_scores(found: dict[int, tuple[float, str]]) -> Answer:
    """An answer of a few terms: what each scores, and why."""
    return Few(found)


class _Plain:
    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        return [None] * len(lookups)


class Exact(_Plain):
    """Surfaces that are spelt like the phrase, with or without the spaces."""

    name = "surfaces"
    #: What a surface scores that is only the same without spaces.
    SQUEEZED = 0.8

    def __init__(self, surfaces: Surfaces, squeezed: Keys) -> None:
        self._surfaces = surfaces
        self._squeezed = squeezed

    @staticmethod
    def squeezed(texts: Sequence[str]) -> Keys:
        return Keys.of((text.replace(" ", ""), row) for row, text in enumerate(texts) if " " in text)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        surfaces, tight = self._surfaces, lookup.folded.replace(" ", "")
        found: dict[int, tuple[float, str]] = {}
        for row in {*surfaces.rows_of(tight), *map(int, self._squeezed[tight])} - {lookup.hidden}:
            if surfaces.texts[row].replace(" ", "") == tight:
                found[int(surfaces.owners[row])] = (self.SQUEEZED, surfaces.texts[row])
        for row in surfaces.rows_of(lookup.folded):
            if row != lookup.hidden:
                found[int(surfaces.owners[row])] = (1.0, lookup.folded)
        return Few(found)


class Spelling(_Plain):
    """Character n-grams: the same word with other endings, joined words, slips of the pen."""

    def __init__(self, name: str, postings: Postings, sizes: tuple[int, ...], surfaces: Surfaces | None) -> None:
        self.name = name
        self._postings = postings
        self._sizes = sizes
        self._surfaces = surfaces

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        features = (text_features([lookup.folded[:2000]], self._sizes) >> np.uint64(32)).astype(np.uint32)
        return _answer(self._postings, features, self._surfaces, lookup)


class Words:
    """Words that are the same but for their endings."""

    def __init__(self, name: str, postings: Postings, stems: Stems, surfaces: Surfaces | None) -> None:
        self.name = name
        self._postings = postings
        self._stems = stems
        self._surfaces = surfaces

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        features, rows = word_features([lookup.folded for lookup in lookups], self._stems)
        ends = np.searchsorted(rows, np.arange(1, len(lookups) + 1))
        return np.split(features, ends[:-1]) if len(lookups) else []

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        return _answer(self._postings, prepared, self._surfaces, lookup)


def _answer(postings: Postings, features: NDArray[np.uint32], surfaces: Surfaces | None, lookup: Lookup) -> Answer:
    scores, rows = postings.scan(features, np.zeros(postings.size, np.float32))
    if surfaces is None:
        return OverTerms(scores, rows, "definition")
    return OverSurfaces(surfaces, scores, rows, lookup.hidden)


def word_features(
    texts: Sequence[str], stems: Stems, *, pairs: bool = False
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The stems of the words of each text, as hashes, and the text that each is of; with ``pairs`` also those of two
    words that stand together, numbered from :data:`PAIRS_FROM` on.

    A stop word counts like any other: a name may be nothing else.
    """
    distinct: set[str] = set()
    for text in texts:
        distinct.update(text.split())
    if len(stems) > _MOST_STEMS:
        stems.clear()
    stems.learn([word for word in distinct if len(word) <= LONGEST_WORD])
    known = {
        word: zlib.crc32((stems[word] if len(word) <= LONGEST_WORD else word).encode("utf-8", "replace"))
        for word in distinct
    }
    features = array("I")
    counts = np.zeros(len(texts), np.int64)
    for at, text in enumerate(texts):
        words = [known[word] for word in text.split()]
        if pairs:
            together = [(31 * left + right) % PAIRS_FROM + PAIRS_FROM for left, right in pairwise(words)]
            words = [word % PAIRS_FROM for word in words] + together
        features.extend(words)
        counts[at] = len(words)
    return np.frombuffer(features, np.uint32), np.repeat(np.arange(len(texts), dtype=np.uint32), counts)


@lru_cache(maxsize=8)
def stems_of(language: str) -> Stems:
    """The stems of a language, which remember the words they met."""
    return Stems(choice("language", language, LANGUAGES))


class Prior(_Plain):
    """How much a term is used, whatever the phrase."""

    name = "prior"

    def __init__(self, counts: NDArray[np.int64]) -> None:
        logs = np.log1p(np.asarray(counts, np.float32))
        self._scores: Floats = (logs / max(float(logs.max(initial=0.0)), 1e-9)).astype(np.float32)
        self._best = np.sort(best_places(self._scores, 100))

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        return OverTerms(self._scores, self._best)
