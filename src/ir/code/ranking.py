"""Ranking code: what a question about code says beside its meaning and its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.code.linking import is_test_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.retrieve import Pool

__all__ = ["CodeRanking"]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
#: Words of a question that say nothing about what is asked for.
_IDLE = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "get",
        "gets",
        "handle",
        "handled",
        "handles",
        "handling",
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
        "made",
        "make",
        "makes",
        "manage",
        "managed",
        "manages",
        "of",
        "on",
        "or",
        "set",
        "sets",
        "that",
        "the",
        "their",
        "they",
        "this",
        "to",
        "use",
        "used",
        "uses",
        "using",
        "was",
        "we",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "with",
        "work",
        "works",
        "implementation",
        "implemented",
        "implement",
        "code",
        "function",
        "class",
        "method",
        "logic",
    ]
)
_TESTING = frozenset(["test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "mock", "mocks"])
_SHOWING = frozenset(["example", "examples", "demo", "sample", "samples", "benchmark", "benchmarks", "tutorial"])
_EXAMPLES = re.compile(r"(^|/)(examples?|demos?|samples?|benchmarks?|docs?_src|fixtures?)/")
_SHIMS = re.compile(r"(^|/)(_?compat[^/]*|legacy|deprecated|_vendor|vendor(ed)?|third_party)(/|\.[a-z]+$)")
_REEXPORTS = re.compile(r"(^|/)(__init__\.pyi?|package-info\.java|mod\.rs|index\.(js|ts|mjs|cjs)|__main__\.py)$")


@dataclass(frozen=True)
class CodeRanking:
    """Adds to the scores of a pool; each part can be switched off by giving it 0, or 1 for a factor.

    ``definition``: the chunk defines what the question names. ``stem``: the words of the question are the name of the
    file or its folder. ``coherence``: other good chunks of the same file. ``tests``, ``shims``, ``reexports`` and
    ``declarations`` are factors for files that are seldom what is asked for.
    """

    definition: float = 0.5
    stem: float = 0.5
    coherence: float = 0.3
    tests: float = 0.3
    shims: float = 0.6
    reexports: float = 0.6
    declarations: float = 0.7

    @property
    def __name__(self) -> str:
        return "code"

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        asked = _asked(pool.query)
        base = np.asarray(pool.scores, dtype=np.float64)
        top = float(base.max()) if len(base) else 0.0
        if top <= 0:
            return np.zeros(len(base))
        rows = pool.rows
        added = np.zeros(len(base))
        if self.definition:
            added += self.definition * top * np.array([_defines(asked, row.metadata) for row in rows])
        if self.stem:
            stems = {path: _named_like(asked, path) for path in {row.artifact_id for row in rows}}
            added += self.stem * top * np.array([stems[row.artifact_id] for row in rows])
        scores = base + added
        if self.coherence:
            scores = scores + self.coherence * _coherence(rows, scores)
        factors = {path: self._prior(path, asked) for path in {row.artifact_id for row in rows}}
        scores = scores * np.array([factors[row.artifact_id] for row in rows])
        return np.asarray(scores - base)

    def _prior(self, path: str, asked: _Asked) -> float:
        factor = 1.0
        if not asked.words & _TESTING and is_test_path(path):
            factor *= self.tests
        if not asked.words & _SHOWING and _EXAMPLES.search(path):
            factor *= self.tests
        if _SHIMS.search(path):
            factor *= self.shims
        if _REEXPORTS.search(path):
            factor *= self.reexports
        if path.endswith(".d.ts"):
            factor *= self.declarations
        return factor


@dataclass(frozen=True)
class _Asked:
    """A question: its identifiers as they are written, and its words."""

    identifiers: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=256)
def _asked(query: str) -> _Asked:
    found = re.findall(r"[A-Za-z_][A-Za-z0-9_]*(?:[.:#/]+[A-Za-z_][A-Za-z0-9_]*)*", query)
    identifiers: set[str] = set()
    alone = len(found) == 1
    for word in found:
        last = re.split(r"[.:#/]+", word)[-1]
        if (
            alone
            or last != word
            or "_" in word
            or re.search(r"[a-z][A-Z]", word)
            or (word[:1].isupper() and word != word.capitalize())
        ):
            identifiers |= {word.lower(), last.lower()}
        elif word[:1].isupper() and not query.startswith(word):
            identifiers.add(word.lower())
    words = {_stemmed(part) for word in found for part in _parts(word)}
    return _Asked(frozenset(identifiers), frozenset(words - {_stemmed(word) for word in _IDLE} - {""}))


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(name)]


@lru_cache(maxsize=8192)
def _stemmed(word: str) -> str:
    word = word.lower()
    for suffix in ("ations", "ation", "ings", "ing", "ers", "er", "ors", "or", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def _defines(asked: _Asked, metadata: Mapping[str, Any]) -> float:
    """How much of what is asked for a chunk defines."""
    best = 0.0
    for symbol in metadata.get("symbols") or ():
        last = symbol.rsplit(".", 1)[-1]
        if last.lower() in asked.identifiers:
            best = max(best, 1.0 if symbol.lower() in asked.identifiers or "." not in symbol else 0.8)
            continue
        best = max(best, 0.8 * _overlap(asked.words, _parts(last)))
    return best


def _overlap(words: frozenset[str], parts: Sequence[str]) -> float:
    """How much of a name is in the question, and how much of the question is in the name."""
    stems = {_stemmed(part) for part in parts if len(part) > 1}
    if not stems or not words:
        return 0.0
    both = len(stems & words)
    if not both:
        return 0.0
    return (both / len(stems)) * (0.4 + 0.6 * both / len(words))


def _named_like(asked: _Asked, path: str) -> float:
    """How much the name of a file, and less so that of its folder, is what is asked for."""
    parts = path.rsplit(".", 1)[0].split("/")
    stem = parts[-1]
    if stem.lower() in asked.identifiers:
        return 1.0
    own = _overlap(asked.words, _parts(stem))
    above = _overlap(asked.words, _parts(parts[-2])) if len(parts) > 1 else 0.0
    return min(1.0, own + 0.3 * above)


def _coherence(rows: Sequence[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the next best chunks of the same file add: a half of the second, a quarter of the third."""
    by_file: dict[str, list[int]] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        by_file.setdefault(rows[place].artifact_id, []).append(place)
    added = np.zeros(len(scores))
    for places in by_file.values():
        more = sum(float(scores[place]) / 2**number for number, place in enumerate(places[1:4], start=1))
        added[places] = more
    return added
