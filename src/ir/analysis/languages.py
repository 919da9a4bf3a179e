"""Which languages are known, and how a word of each becomes its stem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.options import choice

__all__ = ["LANGUAGES", "WITH_STOP_WORDS", "stemmer_for"]

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
_STEMS_ONLY = ("arabic", "greek", "romanian", "tamil", "turkish")

#: What ``language`` may be; ``"none"`` neither stems nor drops stop words.
LANGUAGES: tuple[str, ...] = (*sorted((*WITH_STOP_WORDS, *_STEMS_ONLY)), "none")

#: A lower-cased word to its stem, or to nothing if it is a stop word.
Stemmer = Callable[[str], "list[str]"]


def stemmer_for(language: str, *, stop_words: bool) -> Stemmer:
    """The stemmer of a language; with ``stop_words`` it gives nothing for those."""
    choice("language", language, LANGUAGES)
    if language == "none":
        return lambda word: [word]
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder: Any = TextAnalyzerBuilder(Tokenizer.raw())
    if stop_words and language in WITH_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
        if language == "english":
            builder = builder.filter(Filter.custom_stopword(_MORE_ENGLISH.split()))
    analyze: Stemmer = builder.filter(Filter.stemmer(language)).build().analyze
    return analyze
