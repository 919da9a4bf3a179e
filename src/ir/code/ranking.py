"""Ranking code: what a question about code says beside its meaning and its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.code import paths
from ir.code.asked import Asked, asked_in, stemmed
from ir.code.paths import name_parts, named_after

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs
    from ir.retrieve import Pool

    Values = NDArray[np.float64]

__all__ = ["CodeRanking"]

#: What a definition counts whose name shares words with the question, and one that has an owner.
_PARTLY, _OWNED = 0.9, 0.8
#: What the name of a folder counts against that of the file.
_FOLDER = 0.5
#: How much less a part of names tells that all files of the pool have, as a prefix of all types is.
_USUAL, _LEAST_USUAL = 0.5, 0.2
#: So many further chunks of a file speak for it, each half as loud as the one before.
_FURTHER = 3
#: A name that more definitions have than this does not say which one is meant.
_MOST_DEFINITIONS = 20


@dataclass(frozen=True)
class CodeRanking:
    """Adds to the scores of a pool; a weight of 0, or a factor of 1, switches a part off.

    ``definition``: the chunk defines what the question names. ``path``: the words of the question are the name of the
    file, or of its folder. ``coherence``: other good chunks of the same file. ``tests`` (and examples), ``shims``,
    ``reexports``, ``declarations`` and ``prose`` are factors for files that are seldom what is asked for, unless the
    question says so. ``decay`` is the factor of the second chunk of a file, of the third once more, and so on.
    ``fetch``: whether a definition that the question names is fetched if no channel found it.
    """

    definition: float = 0.5
    path: float = 0.7
    coherence: float = 0.3
    tests: float = 0.3
    shims: float = 0.6
    reexports: float = 0.8
    declarations: float = 0.7
    prose: float = 0.7
    decay: float = 0.5
    fetch: bool = True

    @property
    def __name__(self) -> str:
        return "code"

    def __call__(self, pool: Pool) -> Values:
        """What is added to each score, all parts together."""
        return np.asarray(sum(self.parts(pool).values(), np.zeros(len(pool))))

    def parts(self, pool: Pool) -> dict[str, Values]:
        """What each part adds to each score, one after the other."""
        scores = np.asarray(pool.scores, dtype=np.float64)
        top = float(scores.max()) if len(scores) else 0.0
        if top <= 0:
            return {}
        files = _Files(pool)
        asked = asked_in(pool.query)
        names = _Names(pool, asked, files)
        told: dict[str, Values] = {}

        def now(name: str, values: Values) -> None:
            nonlocal scores
            told[f"code.{name}"] = values - scores
            scores = values

        if self.definition:
            now("definition", scores + self.definition * top * names.defined())
        if self.path:
            now("path", scores + self.path * top * files.spread(names.of_path))
        if self.coherence:
            now("coherence", scores + self.coherence * files.further(scores))
        now("prior", scores * files.spread(lambda path: self._prior(path, asked)) * self._inner_tests(pool, asked))
        if self.decay != 1:
            now("decay", files.decayed(scores, self.decay))
        return told

    def missing(self, pool: Pool) -> Refs:
        """The records that define a name of the question, if nobody among the candidates does."""
        names = asked_in(pool.query).names if self.fetch else frozenset()
        if not names or any(_last(symbol) in names for row in pool.rows for symbol in _symbols(row)):
            return np.empty(0, dtype=np.int64)
        from ir.code.lookups import records_defining

        return records_defining(pool, sorted(names), _MOST_DEFINITIONS)

    def _prior(self, path: str, asked: Asked) -> float:
        factor = 1.0
        if (not asked.tests and paths.is_test_path(path)) or (not asked.examples and paths.is_example(path)):
            factor *= self.tests
        if not asked.shims and paths.is_shim(path):
            factor *= self.shims
        if paths.is_reexport(path):
            factor *= self.reexports
        if paths.is_declaration(path):
            factor *= self.declarations
        if not asked.documents and not paths.is_code(path):
            factor *= self.prose
        return factor

    def _inner_tests(self, pool: Pool, asked: Asked) -> Values:
        """The factor of chunks that are tests within a file of other things, as in Rust."""
        if asked.tests:
            return np.ones(len(pool))
        return np.array([self.tests if _is_inner_test(row) else 1.0 for row in pool.rows])


class _Files:
    """The candidates of a pool by their files."""

    def __init__(self, pool: Pool) -> None:
        self._paths = pool.artifact_ids
        self.places: dict[str, list[int]] = {}
        for place, path in enumerate(self._paths):
            self.places.setdefault(path, []).append(place)

    def spread(self, value: Any) -> Values:
        """What a function says of each file, for each of its candidates."""
        known = {path: value(path) for path in self.places}
        return np.array([known[path] for path in self._paths], dtype=np.float64)

    def further(self, scores: Values) -> Values:
        """What the next best chunks of the same file add: a half of the second, a quarter of the third."""
        added = np.zeros(len(scores))
        for places in self.places.values():
            best = sorted((float(scores[place]) for place in places), reverse=True)
            added[places] = sum(score / 2**number for number, score in enumerate(best[1 : 1 + _FURTHER], start=1))
        return added

    def decayed(self, scores: Values, factor: float) -> Values:
        """The scores, with less for each further chunk of a file: the first results are of several files."""
        less = scores.copy()
        for places in self.places.values():
            for number, place in enumerate(sorted(places, key=lambda place: -scores[place])):
                less[place] *= factor**number
        return less


class _Names:
    """The names of files and definitions beside those of a question."""

    def __init__(self, pool: Pool, asked: Asked, files: _Files) -> None:
        self._rows = pool.rows
        self._asked = asked
        self._weights = _weights(pool, asked)
        self._usual = _usual(files.places)
        self._shares: dict[str, float] = {}

    def defined(self) -> Values:
        """How much of what is asked for each candidate defines."""
        return np.array([max(map(self._of_symbol, _symbols(row)), default=0.0) for row in self._rows])

    def of_path(self, path: str) -> float:
        """How much the name of a file, and less so that of its folder, is what is asked for."""
        stem, folders = named_after(path)
        if self._asked.named(stem):
            return 1.0
        own = self._share(stem)
        return min(1.0, own + _FOLDER * self._share(folders[-1])) if folders else own

    def _of_symbol(self, symbol: str) -> float:
        last = _last(symbol)
        named = self._asked.named(last)
        if named:
            return named if last == symbol or self._asked.named(symbol) else named * _OWNED
        return _PARTLY * self._share(last)

    def _share(self, name: str) -> float:
        if name not in self._shares:
            found = self._asked.share(name_parts(name), self._weights, self._usual) if self._weights else 0.0
            self._shares[name] = found
        return self._shares[name]


def _weights(pool: Pool, asked: Asked) -> dict[str, float]:
    """How much each word of a question tells: rare ones more, as in BM25; the rarest has 1."""
    if not asked.words:
        return {}
    from ir.analysis import analyzer_for

    analyzer = analyzer_for(pool.snapshot.config().get("language") or "english")
    terms = {word: (analyzer.terms(form) or [form])[0] for word, form in asked.forms.items()}
    stats = pool.snapshot.term_stats(sorted(set(terms.values())))
    rarity = {
        word: max(0.05, log(1 + stats.documents / (1 + stats.frequencies.get(term, 0)))) for word, term in terms.items()
    }
    most = max(rarity.values())
    return {word: value / most for word, value in rarity.items()}


def _usual(files: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """What a part of a file's name tells if several files have it: less, down to a fifth."""
    if len(files) < 2:
        return {}
    having = Counter(stem for path in files for stem in {stemmed(part) for part in name_parts(named_after(path)[0])})
    return {
        stem: max(_LEAST_USUAL, 1 - _USUAL * log(count) / log(1 + len(files)))
        for stem, count in having.items()
        if count > 1
    }


def _symbols(row: Any) -> Sequence[str]:
    found = row.metadata.get("symbols")
    return [symbol for symbol in found if isinstance(symbol, str)] if isinstance(found, list) else ()


def _last(symbol: str) -> str:
    return symbol.rsplit(".", 1)[-1]


def _is_inner_test(row: Any) -> bool:
    symbols = _symbols(row)
    return bool(symbols) and all(symbol.split(".", 1)[0] in ("tests", "test") for symbol in symbols)
