"""Phrases from free text: what a vocabulary says verbatim, and then the chunks that are left."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir.ground.vocabulary import Vocabulary

__all__ = ["phrases_in"]

#: The words of a verbatim term, at most, and of a chunk.
_LONGEST, _CHUNK = 6, 4
_SHORTEST = 2
_WORD = re.compile(r"[^\s,;.!?()\[\]{}\"“”„«»|]+(?:\.[^\s,;.!?()\[\]{}\"]+)*")
_BREAK = re.compile(r"[,;.!?()\[\]{}\"“”„«»|\n]")
#: Words that join phrases and are none.
_BETWEEN = frozenset(
    [
        "a",
        "about",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "like",
        "may",
        "me",
        "might",
        "more",
        "most",
        "my",
        "need",
        "no",
        "not",
        "of",
        "off",
        "on",
        "onto",
        "or",
        "our",
        "over",
        "please",
        "shall",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "under",
        "up",
        "us",
        "use",
        "uses",
        "using",
        "very",
        "want",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whose",
        "why",
        "will",
        "with",
        "within",
        "without",
        "would",
        "you",
        "your",
    ]
)


def phrases_in(text: str, vocabulary: Vocabulary) -> list[str]:
    """The phrases of a text, in the order in which they stand there, each once.

    >>> from ir.ground import Vocabulary
    >>> vocabulary = Vocabulary.of(["machine-learning", "tea"], embedders=())
    >>> phrases_in("I want to use machine learning for a fast tea shop.", vocabulary)
    ['machine learning', 'fast', 'tea', 'shop']
    """
    words = [(found.group(), found.start(), found.end()) for found in _WORD.finditer(text)]
    taken = _verbatim(words, text, vocabulary)
    found: list[tuple[int, str]] = [(words[first][1], _between(text, words, first, end)) for first, end in taken]
    covered = {at for first, end in taken for at in range(first, end)}
    chunk: list[int] = []
    for at, (word, start, _) in enumerate(words):
        apart = bool(chunk) and _BREAK.search(text, words[chunk[-1]][2], start) is not None
        ends = at in covered or word.lower() in _BETWEEN
        if chunk and (apart or ends or len(chunk) == _CHUNK):
            found.append((words[chunk[0]][1], _between(text, words, chunk[0], chunk[-1] + 1)))
            chunk = []
        if not ends:
            chunk.append(at)
    if chunk:
        found.append((words[chunk[0]][1], _between(text, words, chunk[0], chunk[-1] + 1)))
    phrases = [phrase for _, phrase in sorted(found) if len(phrase) >= _SHORTEST or _is_known(phrase, vocabulary)]
    return list(dict.fromkeys(phrases))


def _verbatim(words: list[tuple[str, int, int]], text: str, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """The longest stretches of words that are names or aliases, from the left."""
    found = []
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            if length == 1 and words[at][0].lower() in _BETWEEN:
                continue
            if _is_known(_between(text, words, at, at + length), vocabulary):
                found.append((at, at + length))
                at += length - 1
                break
        at += 1
    return found


def _between(text: str, words: list[tuple[str, int, int]], first: int, end: int) -> str:
    return " ".join(text[words[first][1] : words[end - 1][2]].split())


def _is_known(phrase: str, vocabulary: Vocabulary) -> bool:
    folded = vocabulary.folding(phrase)
    return bool(folded) and bool(vocabulary.index.surfaces.rows_of(folded))
