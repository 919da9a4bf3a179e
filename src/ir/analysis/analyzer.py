"""The one analyzer: the same terms for index, query, highlights and explanations in every store."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ir.analysis.languages import LANGUAGES, stemmer_for
from ir.analysis.split import Kind, ascii_pieces, is_plain, pieces, run_pattern, without_hyphens
from ir.base import heading_of
from ir.options import choice

__all__ = ["Analyzer", "Token", "analyzer_for", "document_terms", "query_terms"]

#: Part of every analyzer's id: raise it with any change of what :meth:`Analyzer.terms` returns.
VERSION = 1
#: How often the headings of a text count, against once for the text itself.
HEADING_WEIGHT = 3
#: Longer words are cut and marked with a hash of the rest: no language has such words, and indexes limit terms.
LONGEST_TERM = 200
_KEPT_PREFIX = 40
#: Longer words hardly ever come twice.
_LONGEST_REMEMBERED = 64
_MOST_REMEMBERED = 500_000
#: What may stand around a plain word without being part of it; ``+`` and ``#`` may be.
_AROUND_WORDS = "_.,;:!?'\"`()[]{}<>*|/\\=~^&%$@-"
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
        self._memory = _Memory(self.language, self.identifiers)

    @property
    def id(self) -> str:
        """Names what the analyzer does: two analyzers with one id give the same terms."""
        return f"terms{VERSION}-{self.language}" + ("" if self.identifiers else "-words")

    def terms(self, text: str) -> list[str]:
        """The terms of ``text``, in the order in which they stand there."""
        # No run holds white space, and splitting at it is far quicker than matching a pattern.
        return list(chain.from_iterable(map(self._memory.__getitem__, text.split())))

    def tokens(self, text: str, *, only: Collection[str] | None = None) -> list[Token]:
        """The terms with their places; ``only`` leaves out the tokens with other terms than those.

        An identifier's token comes before, and covers, those of its parts.

        >>> Analyzer().tokens("a user_id", only={"user"})
        [Token(start=2, end=6, terms=('user',))]
        """
        found = []
        wanted = None if only is None else frozenset(only)
        for match in run_pattern(text).finditer(text):
            run, at = match.group(), match.start()
            if wanted is not None and wanted.isdisjoint(self._memory[run]):
                continue
            for start, end, term in self._memory.places(run):
                if wanted is None or term in wanted:
                    found.append(Token(at + start, at + end, (term,)))
        return found

    def __repr__(self) -> str:
        return f"Analyzer(language={self.language!r}, identifiers={self.identifiers!r})"


class _Memory(dict[str, tuple[str, ...]]):
    """What each distinct word gives, punctuation and all. A dict, so that a known word costs no Python call."""

    def __init__(self, language: str, identifiers: bool) -> None:
        super().__init__()
        self._identifiers = identifiers
        self._words = _Stems(language, stop_words=True)
        self._parts = _Stems(language, stop_words=False)
        # Stemmers of other languages need the accents; English texts spell names with and without them.
        self._fold = language == "english"

    def __missing__(self, word: str) -> tuple[str, ...]:
        if self._identifiers and word.isascii():
            terms = tuple(filter(None, [self._stemmed(text, kind) for text, kind in _ASCII_PIECES[word]]))
        else:
            runs = run_pattern(word).findall(word)
            terms = tuple(term for run in runs for _, _, term in self.places(run))
        _remember(self, word, terms)
        return terms

    def places(self, run: str) -> list[tuple[int, int, str]]:
        found = []
        for start, end, kind in pieces(run, identifiers=self._identifiers):
            term = self._stemmed(*normalised(run[start:end], kind, fold=self._fold))
            if term:
                found.append((start, end, term))
        return found

    def _stemmed(self, text: str, kind: Kind) -> str:
        if kind is Kind.WHOLE or kind is Kind.GRAM or not text:
            return text
        return self._words[text] if kind is Kind.WORD else self._parts[text]


class _Stems(dict[str, str]):
    """The stem of each distinct word, or nothing for a stop word."""

    def __init__(self, language: str, *, stop_words: bool) -> None:
        super().__init__()
        self._stem = stemmer_for(language, stop_words=stop_words)

    def __missing__(self, text: str) -> str:
        stems = self._stem(text)
        stem = stems[0] if stems else ""
        _remember(self, text, stem)
        return stem


class _AsciiPieces(dict[str, tuple[tuple[str, Kind], ...]]):
    """The pieces of each distinct ASCII word. They are the same in every language, so all analyzers share them."""

    def __missing__(self, word: str) -> tuple[tuple[str, Kind], ...]:
        found: tuple[tuple[str, Kind], ...]
        core = word.strip(_AROUND_WORDS)
        if len(core) <= _LONGEST_REMEMBERED and is_plain(core):
            found = ((core.lower(), Kind.WORD),)
        else:
            runs = run_pattern(word).findall(word)
            if runs == [word]:
                found = tuple([bounded(text, kind) for text, kind in ascii_pieces(word)])
            else:
                found = tuple(chain.from_iterable(map(self.__getitem__, runs)))
        _remember(self, word, found)
        return found


_ASCII_PIECES = _AsciiPieces()


def unstemmed(word: str) -> list[str]:
    """What stands in a word between spaces: words and parts as they are, in lower case, and wholes."""
    if word.isascii():
        return [text for text, _ in _ASCII_PIECES[word] if text]
    return _unstemmed_analyzer().terms(word)


@lru_cache(maxsize=1)
def _unstemmed_analyzer() -> Analyzer:
    return Analyzer("none")


def _remember(memory: dict[str, Any], word: str, value: Any) -> None:
    if len(word) <= _LONGEST_REMEMBERED:
        if len(memory) >= _MOST_REMEMBERED:
            memory.clear()
        memory[word] = value


def normalised(piece: str, kind: Kind, *, fold: bool) -> tuple[str, Kind]:
    """A piece in lower case, without what is not seen and, to ``fold``, without accents."""
    return bounded(piece.lower() if piece.isascii() else _normal(piece, fold), kind)


def bounded(text: str, kind: Kind) -> tuple[str, Kind]:
    """A compound as one word; an endless term cut."""
    if kind is Kind.COMPOUND:
        text = without_hyphens(text)
    if len(text) > LONGEST_TERM:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{text[:_KEPT_PREFIX]}~{digest}", Kind.WHOLE
    return text, kind


def _normal(piece: str, fold: bool) -> str:
    text = unicodedata.normalize("NFKC", piece).lower().translate(_INVISIBLE)
    if fold:
        letters = unicodedata.normalize("NFKD", text)
        if any(letter.isascii() for letter in letters):
            text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return "".join(text.split())


@lru_cache(maxsize=64)
def analyzer_for(language: str = "english") -> Analyzer:
    """The analyzer of a language, made once per process."""
    return Analyzer(language)


def document_terms(analyzer: Analyzer, text: str, metadata: Mapping[str, Any]) -> list[str]:
    """The terms under which a surface is indexed: those of its headings, repeated for weight, then its own."""
    heading = heading_of(metadata)
    if not heading:
        return analyzer.terms(text)
    return analyzer.terms(heading) * HEADING_WEIGHT + analyzer.terms(text)


def query_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with how often each occurs.

    >>> query_terms(analyzer_for(), "tests of tests")
    {'test': 2.0}
    """
    return {term: float(count) for term, count in Counter(analyzer.terms(query)).items()}
