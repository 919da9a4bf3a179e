"""What a question about code asks for: the names in it as they are written, and its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ir.code.paths import name_parts

__all__ = ["Asked", "asked_in", "stemmed"]

_NAME = r"[A-Za-z_$][\w$]*"
_NAMES = re.compile(rf"{_NAME}(?:(?:\.|::|#|->|/){_NAME})*")
_JOINTS = re.compile(r"\.|::|#|->|/")
#: Humps within a word, or capitals before a word: nobody writes plain words so.
_HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "er", "ors", "or", "ies", "ed", "es", "s", "e", "y")
#: Words that say nothing about what is asked for.
_IDLE = frozenset(
    """
    a an and any are as at be been before but by can could did do does each every for from get gets had has have here
    how i if in into is it its let made make makes me more my no not of off on one or our out over own per same set sets
    should so some such than that the their them then there these they this those to too two under up us was we were
    what when where whether which while who whose why will with without would you your
    handle handled handles handling manage managed manages management use used uses using work works working
    implement implementation implemented implements code class function functions logic method methods
    """.split()  # noqa: SIM905
)
_TESTING = frozenset(["test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "mock", "mocks"])
_SHOWING = frozenset(["example", "examples", "demo", "sample", "samples", "benchmark", "benchmarks", "tutorial"])
_READING = frozenset(["readme", "documentation", "docs", "doc", "guide", "changelog", "manifest", "license"])
_OLD = frozenset(["compat", "compatibility", "legacy", "deprecated", "vendor", "vendored", "generated"])
#: A name of two words of which one is in the question is half of what is asked for, and so on; but not by halves.
_COVERAGE = 0.5
#: In a question of more words than this, each is in some name by chance, and names count less.
_FEW = 6
#: A part that begins like a word of the question, as `config` does, counts nearly as that word.
_LIKE = 0.7
_LEAST_LIKE = 4
_LEAST_WITHIN = 3
#: What is not explained by words of the question in a run of letters, before it counts as something else.
_SLACK = 0.25


@lru_cache(maxsize=16384)
def stemmed(word: str) -> str:
    """A word without its ending, by a coarse rule: names of code hold nouns of verbs, and the other way round.

    >>> stemmed("routing"), stemmed("router"), stemmed("routes")
    ('rout', 'rout', 'rout')
    """
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@dataclass(frozen=True)
class Asked:
    """A question as names and words.

    ``names`` are written as code is (``getUser``, ``a.b``, or alone), ``types`` as types may be (``Blueprint`` in a
    sentence); ``words`` are the stems of what else counts, and ``forms`` how each was written.
    """

    names: frozenset[str]
    types: frozenset[str]
    words: tuple[str, ...]
    forms: Mapping[str, str]
    said: frozenset[str]

    @property
    def tests(self) -> bool:
        return bool(self.said & _TESTING)

    @property
    def examples(self) -> bool:
        return bool(self.said & _SHOWING)

    @property
    def documents(self) -> bool:
        return bool(self.said & _READING)

    @property
    def shims(self) -> bool:
        return bool(self.said & _OLD)

    def named(self, name: str) -> float:
        """Whether a name is asked for as it is written (1), or in other letters (less)."""
        if name in self.names or name in self.types:
            return 1.0
        return 0.7 if name.lower() in self._lower else 0.0

    @property
    def _lower(self) -> frozenset[str]:
        return _lowered(self.names)

    def share(self, parts: Sequence[str], weights: Mapping[str, float], usual: Mapping[str, float]) -> float:
        """How much of a name is in the question, and how much of the question is in the name.

        ``weights`` say how much each word of the question tells, ``usual`` how much less a part of a name tells that
        many names have.
        """
        both: set[str] = set()
        rest = 0.0
        for part in dict.fromkeys(parts):
            if len(part) < 2:
                continue
            stem = stemmed(part)
            if stem in weights:
                both.add(stem)
                continue
            within, left = _within(part, self.words)
            like = _like(stem, self.words) if len(within) < 2 else None
            if like is not None:
                both.add(like)
                rest += 1 - _LIKE
                continue
            both.update(within)
            if not within:
                rest += usual.get(stem, 1.0)
            elif left > _SLACK:
                rest += left * len(within)
        if not both:
            return 0.0
        found = sum(weights[word] for word in both)
        few = min(1.0, _FEW / len(self.words))
        return float(few * found / (found + rest) * (found / sum(weights.values())) ** _COVERAGE)


@lru_cache(maxsize=256)
def asked_in(query: str) -> Asked:
    """What a question asks for.

    >>> asked = asked_in("how does Blueprint call register_route")
    >>> sorted(asked.names), sorted(asked.types), asked.words
    (['register_route'], ['Blueprint'], ('blueprint', 'call', 'regist', 'rout'))
    """
    found = _NAMES.findall(query)
    names: set[str] = set()
    types: set[str] = set()
    for word in found:
        last = _JOINTS.split(word)[-1]
        if len(found) == 1 or last != word or "_" in word.strip("_") or _HUMPS.search(word):
            names |= {word, last}
        elif word[0].isupper() and not word.isupper() and word.lower() not in _IDLE:
            types.add(word)
    parts = [part for word in found for part in name_parts(word)]
    forms: dict[str, str] = {}
    for part in parts:
        if len(part) > 1 and part not in _IDLE:
            forms.setdefault(stemmed(part), part)
    return Asked(frozenset(names), frozenset(types), tuple(forms), forms, frozenset(parts))


@lru_cache(maxsize=256)
def _lowered(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


@lru_cache(maxsize=16384)
def _like(stem: str, words: tuple[str, ...]) -> str | None:
    """The word of a question that a part of a name is short for, or the other way round."""
    for word in words:
        if min(len(word), len(stem)) >= _LEAST_LIKE and (word.startswith(stem) or stem.startswith(word)):
            return word
    return None


@lru_cache(maxsize=16384)
def _within(part: str, words: tuple[str, ...]) -> tuple[tuple[str, ...], float]:
    """The words of a question that a run of letters is made of (``ratelimit``), and the share that they leave."""
    if len(part) < 2 * _LEAST_WITHIN:
        return (), 1.0
    left = part
    found = []
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _LEAST_WITHIN and word in left:
            found.append(word)
            left = left.replace(word, " ", 1)
    return tuple(found), len(left.replace(" ", "")) / len(part)
