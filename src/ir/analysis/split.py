"""Text taken apart: runs of letters, and the words, identifier parts and grams inside each run.

A *run* is what stands between spaces and punctuation, with the connectors of identifiers kept inside it
(``snake_case``, ``kebab-case``, ``a.b.c``). Its pieces are found once per distinct run and then remembered by the
analyzer, so this file may be careful rather than fast; only the two run patterns see every character of a corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "Kind",
    "Piece",
    "Pieces",
    "ascii_pieces",
    "is_unspaced",
    "pieces",
    "plain_words",
    "run_pattern",
    "without_hyphens",
]


class Kind(Enum):
    """What a piece is, which decides how it becomes a term."""

    WORD = "word"  # stemmed, and dropped if it is a stop word
    PART = "part"  # of an identifier: stemmed, never dropped
    WHOLE = "whole"  # identifier with dots or underscores: lower-cased only
    COMPOUND = "compound"  # words joined by case or hyphens: stemmed as one, as "e-mails" and "emails" are
    GRAM = "gram"  # one or two letters of a script without spaces: kept


class Piece(NamedTuple):
    """A stretch of a run."""

    start: int
    end: int
    kind: Kind


#: The pieces of one run as texts, and the kind of the first: after a compound or a whole come its parts, words are
#: followed by words.
Pieces = tuple[Kind, list[str]]


# Combining marks and joiners belong to the word that they stand in, but Python's \w leaves them out.
_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a4d"
    "\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3c-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d82\u0d83\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u180b-\u180d\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
)
_HYPHENS = "-\u2010\u2011"
_APOSTROPHES = "'\u2019\u02bc\uff07"
_CONNECTORS = re.escape(f"_.{_HYPHENS}{_APOSTROPHES}")

_ASCII_RUN = re.compile(r"[A-Za-z0-9]\w*(?:[.'\-]\w+)*(?:\+\+|#(?!\w))?", re.ASCII)
_RUN = rf"[^\W_][\w{_MARKS}]*(?:[{_CONNECTORS}][\w{_MARKS}]+)*(?:\+\+|#(?!\w))?"

# Scripts written without spaces between words, and Hangul, whose particles cling to the word.
_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff"
    "\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00016fe0-\U0001b2ff\U00020000-\U0003ffff]+"
)
# One letter may be several characters here: half-width and decomposed kana have a separate mark, and a syllable
# of decomposed Hangul its vowel and its end. Only together are they normalised to what others write as one.
_LETTER = re.compile("(?s:.)[\u1160-\u11ff\u3099\u309a\uff9e\uff9f]*")
_SEGMENT = re.compile(rf"[^{_CONNECTORS}+#]+")
_HYPHEN = re.compile(rf"[{re.escape(_HYPHENS)}]")
_PLAIN_LINE = re.compile(r"^(?:[A-Z]?[a-z]+|[A-Z]+s?|[0-9]+)$", re.MULTILINE)
_CASED = re.compile(r"[0-9]+|[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")
_CASED_OR_LINE = re.compile(rf"{_CASED.pattern}|\n")
_ASCII_RUN_OR_LINE = re.compile(rf"{_ASCII_RUN.pattern}|\n", re.ASCII)
_BORDER = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")

#: Endings after an apostrophe that say nothing about the topic.
_CLITICS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})
#: ``C++``, ``C#``, ``F#``: a sign that makes another name of a very short one.
_SIGNS = frozenset({"++", "#"})
_LONGEST_BEFORE_SIGN = 2
#: A run with more parts than this, and shorter ones, is a checksum or encoded data, not a name.
_MOST_TINY_PARTS = 8


def run_pattern(text: str) -> re.Pattern[str]:
    """The pattern whose matches are the runs of ``text``: the quick one if the text is plain ASCII."""
    return _ASCII_RUN if text.isascii() else _large(_RUN)


@cache
def _large(pattern: str) -> re.Pattern[str]:
    """A pattern that is compiled on first use, because that takes milliseconds."""
    return re.compile(pattern)


@cache
def _signs_around(signs: str) -> re.Pattern[str]:
    """The given signs at the beginning and at the end of a line."""
    some = f"[{re.escape(signs)}]+"
    return re.compile(f"^{some}|{some}$", re.MULTILINE)


def without_hyphens(text: str) -> str:
    return _HYPHEN.sub("", text)


def pieces(run: str, *, identifiers: bool = True) -> list[Piece]:
    """The pieces of one run; where there is a whole, it comes before its parts.

    >>> [("getUserName"[p.start:p.end], p.kind.value) for p in pieces("getUserName")]
    [('getUserName', 'compound'), ('get', 'part'), ('User', 'part'), ('Name', 'part')]
    """
    if run.isascii() or not _large(_UNSPACED).search(run):
        return list(_spaced(run, 0, len(run), identifiers))
    found: list[Piece] = []
    at = 0
    for match in _large(_UNSPACED).finditer(run):
        found += _spaced(run, at, match.start(), identifiers)
        found += _grams(run, *match.span())
        at = match.end()
    found += _spaced(run, at, len(run), identifiers)
    return found


def is_unspaced(text: str) -> bool:
    """Whether all of a text is of scripts that are written without spaces.

    >>> is_unspaced("緑茶"), is_unspaced("ça")
    (True, False)
    """
    return bool(_large(_UNSPACED).fullmatch(text))


def plain_words(words: Sequence[str], around: str, longest: int) -> list[str]:
    """For each word the plain ASCII word or number, in lower case, that it is but for signs around it; else nothing.

    >>> plain_words(["(Trees),", "getUserName", "42", "--", "endless"], "(),-", longest=6)
    ['trees', '', '42', '', '']
    """
    if not words:
        return []
    bare = _signs_around(around).sub("", "\n".join(words))
    # Plain words are blanked out, so that only the others are left.
    return [
        "" if other or len(core) > longest else core
        for core, other in zip(bare.lower().split("\n"), _PLAIN_LINE.sub("", bare).split("\n"), strict=True)
    ]


def ascii_pieces(words: Sequence[str]) -> list[list[Pieces]]:
    """For each ASCII word what :func:`pieces` gives for its runs, as texts in lower case, compounds as one word.

    >>> [[texts for kind, texts in found] for found in ascii_pieces(["getUserName()", "a/b"])]
    [[['getusername', 'get', 'user', 'name']], [['a'], ['b']]]
    """
    runs = _by_line(_ASCII_RUN_OR_LINE, words)
    cores = [run.rstrip("_.-") for found in runs for run in found]
    told = zip(cores, _by_line(_CASED_OR_LINE, cores), strict=True)
    return [[_run_pieces(run, *next(told)) for run in found] for found in runs]


def _by_line(pattern: re.Pattern[str], lines: Sequence[str]) -> list[list[str]]:
    """The matches in each of the lines; the pattern also matches the ends of lines."""
    found: list[str] = []
    out = [found] if lines else []
    for match in pattern.findall("\n".join(lines)):
        if match == "\n":
            found = []
            out.append(found)
        else:
            found.append(match)
    return out


def _run_pieces(run: str, core: str, parts: list[str]) -> Pieces:
    """The pieces of a run, given without the signs that end it, and with the words inside."""
    if "'" in core or not core[-1].isalnum():
        found = [(run[start:end].lower(), kind) for start, end, kind in pieces(run)]
        return found[0][1], [without_hyphens(text) if kind is Kind.COMPOUND else text for text, kind in found]
    lower = core.lower()
    if len(parts) == 1 and len(parts[0]) == len(core):
        return Kind.WORD, [lower]
    if "_" not in core and "." not in core and ("-" in core or core.isalpha()):
        kind, whole = Kind.COMPOUND, lower.replace("-", "")
    else:
        kind, whole = Kind.WHOLE, lower
    if len(parts) > _MOST_TINY_PARTS and len(core) < 3 * len(parts):
        return kind, [whole]
    return kind, [whole, *map(str.lower, parts)]


def _grams(run: str, start: int, end: int) -> Iterator[Piece]:
    """Every two neighbouring letters, and every letter: one alone may be a word, as 茶 is."""
    cuts = [*(letter.start() for letter in _LETTER.finditer(run, start, end)), end]
    for at, first in enumerate(cuts[:-1]):
        for last in reversed(cuts[at + 1 : at + 3]):
            yield Piece(first, last, Kind.GRAM)


def _spaced(run: str, start: int, end: int, identifiers: bool) -> Iterator[Piece]:
    """The pieces of ``run[start:end]``, where words are divided by spaces and connectors."""
    segments = [match.span() for match in _SEGMENT.finditer(run, start, end)]
    if len(segments) > 1 and run[segments[-1][0] - 1] in _APOSTROPHES and run[slice(*segments[-1])].lower() in _CLITICS:
        del segments[-1]
    if not segments:
        return
    first, last = segments[0][0], segments[-1][1]
    signed = last - first <= _LONGEST_BEFORE_SIGN and run[last:end] in _SIGNS
    if signed:
        last = end
    connectors = {sign for left, right in pairwise(segments) for sign in run[left[1] : right[0]]}
    parts = [part for segment in segments for part in _parts(run, *segment)]
    if not identifiers or (len(parts) == len(segments) and connectors <= set(_APOSTROPHES) and not signed):
        yield from (Piece(*segment, Kind.WORD) for segment in segments)
        return
    joined = connectors <= set(_HYPHENS) and (bool(connectors) or run[first:last].isalpha())
    yield Piece(first, last, Kind.COMPOUND if joined else Kind.WHOLE)
    if len(parts) <= _MOST_TINY_PARTS or last - first >= 3 * len(parts):
        yield from (Piece(*part, Kind.PART) for part in parts if part != (first, last))


def _parts(run: str, start: int, end: int) -> list[tuple[int, int]]:
    """The words of a segment, divided where the case or the kind of character changes."""
    segment = run[start:end]
    if segment.isascii():
        return [(start + match.start(), start + match.end()) for match in _CASED.finditer(segment)]
    cuts = [0, *(match.start() for match in _BORDER.finditer(segment)), len(segment)]
    cuts += [at for at in range(1, len(segment)) if segment[at].isupper() and segment[at - 1].islower()]
    return [(start + left, start + right) for left, right in pairwise(sorted(set(cuts)))]
