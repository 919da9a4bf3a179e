"""Which languages are known, and how a word of each becomes its stem."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from typing import Any

from ir.options import LANGUAGES, choice

__all__ = ["LANGUAGES", "WITH_STOP_WORDS", "Stems", "stemmer_for", "without_accents"]

WITH_STOP_WORDS = (
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
)
# The built-in English list has articles and prepositions only, the others have pronouns and auxiliaries too.
_MORE_ENGLISH = """
    about all also am any been being both can could did do does doing each from had has have having he her here hers
    herself him himself his how i itself just me more most my myself other our ours ourselves own same she should so
    some than them themselves too very we were what when where which who whom whose why would you your yours yourself
    yourselves
"""
#: Languages whose accents are often left out in writing and seldom tell words apart. Their stemmers need them, so it is
#: the stems that lose them. Elsewhere such signs make other letters, or the stemmer removes them, as the German,
#: Italian and Spanish ones do.
_ACCENTS_LEFT_OUT = ("french", "portuguese")

#: Lower-cased words with spaces between them to their stems.
Stemmer = Callable[[str], "list[str]"]


def stemmer_for(language: str, *, stop_words: bool) -> Stemmer:
    """The stemmer of a language, for words with spaces between them; with ``stop_words`` it leaves those out."""
    choice("language", language, LANGUAGES)
    if language == "none":
        return str.split
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder: Any = TextAnalyzerBuilder(Tokenizer.whitespace())
    if stop_words:
        builder = _without_stop_words(builder, language)
    analyze: Stemmer = builder.filter(Filter.stemmer(language)).build().analyze
    return analyze


def _without_stop_words(builder: Any, language: str) -> Any:
    from tantivy import Filter

    if language in WITH_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    if language == "english":
        builder = builder.filter(Filter.custom_stopword(_MORE_ENGLISH.split()))
    return builder


class Stems(dict[str, str]):
    """The stem of each lower-cased word of a language, and which of those met are ``stop_words``."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.stop_words: set[str] = set()
        self._stem = stemmer_for(language, stop_words=False)
        self._fold = language in _ACCENTS_LEFT_OUT
        self._kept = _stop_filter(language)

    def __missing__(self, word: str) -> str:
        self.learn([word])
        return self[word]

    def learn(self, words: Collection[str]) -> None:
        """Find the stems of all those words, none of which holds white space, at once."""
        new = [word for word in words if word and word not in self]
        if not new:
            return
        line = " ".join(new)
        stems = self._stem(line)
        if self._fold and not line.isascii():
            stems = [stem if stem.isascii() else without_accents(stem) for stem in stems]
        self.update(zip(new, stems, strict=True))
        self.stop_words.update(set(new).difference(self._kept(line)))


def without_accents(text: str) -> str:
    """The letters without their signs; a text without any plain letter stays, for there the signs are part of letters.

    >>> without_accents("fenêtre"), without_accents("й")
    ('fenetre', 'й')
    """
    letters = unicodedata.normalize("NFKD", text)
    if not any(letter.isascii() for letter in letters):
        return text
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _stop_filter(language: str) -> Stemmer:
    """From words with spaces between them, those that are not stop words."""
    if language not in WITH_STOP_WORDS:
        return str.split
    from tantivy import TextAnalyzerBuilder, Tokenizer

    kept: Stemmer = _without_stop_words(TextAnalyzerBuilder(Tokenizer.whitespace()), language).build().analyze
    return kept
