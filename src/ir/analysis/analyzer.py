"""The one analyzer: the same terms for index, query, highlights and explanations in every store."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.analysis.languages import LANGUAGES, Stems, without_accents
from ir.analysis.split import Kind, Pieces, ascii_pieces, is_unspaced, pieces, plain_words, run_pattern, without_hyphens
from ir.analysis.words import Vocabulary, words_of
from ir.base import embedding_text, lead_of
from ir.options import choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Analyzer", "Token", "analyzer_for", "document_numbers", "document_terms", "numbers_at_hand", "query_terms"]

#: Part of every analyzer's id: raise it with any change of what :meth:`Analyzer.terms` returns.
VERSION = 3
#: How often the headings of a text count, against once for the text itself.
HEADING_WEIGHT = 3
#: Longer words are cut, and marked with a hash of the rest: no language has such words, and indexes limit terms.
LONGEST_TERM = 200
_KEPT_PREFIX = 40
#: What may stand around a plain word without being part of it; ``+`` and ``#`` may be.
_AROUND_WORDS = "_.,;:!?'\"`()[]{}<>*|/\\=~^&%$@-"
#: Kinds of pieces that are terms as they stand.
_KEPT = (Kind.WHOLE, Kind.GRAM)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200c\u200d"))


class Token(NamedTuple):
    """A stretch ``text[start:end]`` of an analysed text, and the terms that it gives."""

    start: int
    end: int
    terms: tuple[str, ...]


class Analyzer:
    """Turns text into terms, by language and with an eye for identifiers.

    Plain words give their stem, stop words nothing; an identifier gives itself and the stems of its parts.
    Terms never hold white space.

    >>> Analyzer().terms("The parsers call getUserName")
    ['parser', 'call', 'getusernam', 'get', 'user', 'name']
    """

    def __init__(self, language: str = "english", identifiers: bool = True) -> None:
        self.language = choice("language", language, LANGUAGES)
        self.identifiers = bool(identifiers)
        self._words = _Words(self.language, self.identifiers)
        self._vocabulary = self._words.vocabulary()

    @property
    def id(self) -> str:
        """Names what the analyzer does: two analyzers with one id give the same terms."""
        return f"terms{VERSION}-{self.language}" + ("" if self.identifiers else "-words")

    def terms(self, text: str) -> list[str]:
        """The terms of ``text``, in the order in which they stand there."""
        return self.vocabulary().of_words(words_of(text))

    def vocabulary(self) -> Vocabulary:
        """The words met so far and their terms. It grows, and is replaced when it has grown too large."""
        if self._vocabulary.full:
            self._vocabulary = self._words.vocabulary()
        return self._vocabulary

    def tokens(self, text: str, *, only: Collection[str] | None = None) -> list[Token]:
        """The terms with their places; ``only`` leaves out the tokens with other terms than those.

        An identifier's token comes before, and covers, those of its parts.

        >>> Analyzer().tokens("a user_id", only={"user"})
        [Token(start=2, end=6, terms=('user',))]
        """
        pattern = run_pattern(text)
        if only is None:
            runs = [(match.group(), match.start()) for match in pattern.finditer(text)]
        else:
            # Most words are not asked for; those that are, are found out together.
            giving = self.vocabulary().giving(frozenset(only), {*pattern.findall(text)})
            found = pattern.finditer(text) if giving else ()
            runs = [(run, match.start()) for match in found if (run := match[0]) in giving]
        return [
            Token(at + start, at + end, (term,))
            for run, at in runs
            for start, end, term in self._words.places(run)
            if only is None or term in only
        ]

    def __repr__(self) -> str:
        return f"Analyzer(language={self.language!r}, identifiers={self.identifiers!r})"


#: So many runs have the places of their terms at hand.
_MOST_PLACES = 10_000


class _Words:
    """How a word becomes terms."""

    def __init__(self, language: str, identifiers: bool) -> None:
        self._language = language
        self._identifiers = identifiers
        self._stems = Stems(language)
        # Stemmers of other languages need the accents; English texts spell names with and without them.
        self._fold = language == "english"
        self._places: dict[str, list[tuple[int, int, str]]] = {}

    def vocabulary(self) -> Vocabulary:
        """A new one, without any words."""
        self._stems = Stems(self._language)
        return Vocabulary(self._terms)

    def _terms(self, words: Sequence[str]) -> list[Sequence[str]]:
        """The terms of each word."""
        plain = plain_words(words, _AROUND_WORDS, LONGEST_TERM) if self._identifiers else [""] * len(words)
        odd = self._pieces([word for word, core in zip(words, plain, strict=True) if not core])
        stems = self._stems
        stems.learn({*plain, *[text for found in odd for kind, texts in found for text in texts[kind in _KEPT :]]})
        others, stop_words = iter(odd), stems.stop_words
        return [
            (() if core in stop_words else (stems[core],)) if core else self._terms_of(next(others)) for core in plain
        ]

    def _terms_of(self, found: Sequence[Pieces]) -> list[str]:
        terms: list[str] = []
        for kind, texts in found:
            if kind is Kind.WORD:
                terms += [stem for text in texts if (stem := self._term(text, kind))]
            elif kind in _KEPT:
                terms += texts[:1]
                terms += map(self._stems.__getitem__, texts[1:])
            else:
                terms += map(self._stems.__getitem__, texts)
        return terms

    def places(self, run: str) -> list[tuple[int, int, str]]:
        """Where in a run each of its terms stands; that of runs met lately is at hand."""
        known = self._places.get(run)
        if known is None:
            if len(self._places) >= _MOST_PLACES:
                self._places = {}
            known = self._places[run] = self._find_places(run)
        return known

    def _find_places(self, run: str) -> list[tuple[int, int, str]]:
        found = []
        for start, end, kind in pieces(run, identifiers=self._identifiers):
            term = self._term(*normalised(run[start:end], kind, fold=self._fold))
            if term:
                found.append((start, end, term))
        return found

    def _pieces(self, words: Sequence[str]) -> list[list[Pieces]]:
        """The pieces of each word, in lower case."""
        quick = [word for word in words if self._identifiers and word.isascii() and len(word) <= LONGEST_TERM]
        found = dict(zip(quick, ascii_pieces(quick), strict=True))
        return [found[word] if word in found else self._careful_pieces(word) for word in words]

    def _careful_pieces(self, word: str) -> list[Pieces]:
        told = (
            normalised(run[start:end], kind, fold=self._fold)
            for run in run_pattern(word).findall(word)
            for start, end, kind in pieces(run, identifiers=self._identifiers)
        )
        return [(kind, [text]) for text, kind in told if text]

    def _term(self, text: str, kind: Kind) -> str:
        if not text or kind in _KEPT:
            return text
        stem = self._stems[text]  # first, because only then is it known whether it is a stop word
        return "" if kind is Kind.WORD and text in self._stems.stop_words else stem


def normalised(piece: str, kind: Kind, *, fold: bool) -> tuple[str, Kind]:
    """A piece in lower case, without what is not seen and, to ``fold``, without accents."""
    if piece.isascii():
        return bounded(piece.lower(), kind)
    text = _normal(piece, fold)
    if fold and kind is Kind.WORD and text != _normal(piece, False):
        kind = Kind.PART  # without its accent "thé" reads "the", but it is not a stop word
    return bounded(text, kind)


def bounded(text: str, kind: Kind) -> tuple[str, Kind]:
    """A compound as one word; an endless term cut."""
    if kind is Kind.COMPOUND:
        text = without_hyphens(text)
    if len(text) > LONGEST_TERM:
        import hashlib  # imported here: few texts need it

        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{text[:_KEPT_PREFIX]}~{digest}", Kind.WHOLE
    return text, kind


def _normal(piece: str, fold: bool) -> str:
    text = unicodedata.normalize("NFKC", piece).lower().translate(_INVISIBLE)
    if fold:
        text = without_accents(text)
    return "".join(text.split())


def analyzer_for(language: str = "english") -> Analyzer:
    """The analyzer of a language, made once per process."""
    return _made(language)


@lru_cache(maxsize=64)
def _made(language: str) -> Analyzer:
    return Analyzer(language)


def document_terms(analyzer: Analyzer, text: str, metadata: Mapping[str, Any]) -> list[str]:
    """The terms under which a surface is indexed: those of its headings, repeated for weight, then its own."""
    vocabulary, (numbers,) = document_numbers(analyzer, [(text, metadata)])
    return [vocabulary.terms[number] for number in numbers.tolist()]


def document_numbers(
    analyzer: Analyzer, surfaces: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[Vocabulary, list[Integers]]:
    """:func:`document_terms` of many surfaces, given as text and metadata, as numbers in a vocabulary."""
    vocabulary = analyzer.vocabulary()
    texts = _as_embedded(surfaces)
    numbers = vocabulary.of_texts(texts)
    headings = {at: heading for at, (_, metadata) in enumerate(surfaces) if (heading := lead_of(metadata))}
    for at, found in zip(headings, vocabulary.of_texts(list(headings.values())), strict=True):
        more = HEADING_WEIGHT - (texts[at] is not surfaces[at][0])  # an embedder sees the headings only once
        numbers[at] = np.concatenate([*[found] * more, numbers[at]])
    return vocabulary, numbers


def numbers_at_hand(
    analyzer: Analyzer, surfaces: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[Vocabulary, list[Integers]] | None:
    """:func:`document_numbers` of surfaces most of which were looked into just now, to embed them; else ``None``."""
    return document_numbers(analyzer, surfaces) if analyzer.vocabulary().has_at_hand(_as_embedded(surfaces)) else None


def _as_embedded(surfaces: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The texts as an embedder sees them, which may be one that has looked into them."""
    return [embedding_text(text, metadata) for text, metadata in surfaces]


def query_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with how often each occurs.

    >>> query_terms(analyzer_for(), "tests of tests")
    {'test': 2.0}
    >>> list(query_terms(analyzer_for(), "緑茶 猫"))
    ['緑茶', '猫']
    """
    counts: dict[str, float] = {}
    for term in analyzer.terms(query):
        counts[term] = counts.get(term, 0.0) + 1.0
    return counts if query.isascii() else _without_single(counts)


def _without_single(counts: dict[str, float]) -> dict[str, float]:
    """Without single characters of which there are pairs: a query for 緑茶 is not a query for everything with 茶."""
    paired = {letter for term in counts if len(term) == 2 and is_unspaced(term) for letter in term}
    return {term: count for term, count in counts.items() if term not in paired}
