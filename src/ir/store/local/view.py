"""A generation opened for searching."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.filters import matches
from ir.protocols import Ranking, TermStats, Where
from ir.store.bm25 import idf
from ir.store.checks import fits
from ir.store.local.files import is_intact
from ir.store.local.filtering import FilterQuery, filter_query
from ir.store.local.forward import Forward, NarrowedWords, Weights, hash_of
from ir.store.local.generation import FORWARD, LEXICAL, Manifest
from ir.store.local.lexical import LexicalReader
from ir.store.local.pin import Pin
from ir.store.local.segment import Narrowed
from ir.store.local.space import Space, open_spaces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector
    from ir.store.local.state import State

    Mask = NDArray[np.bool_]

__all__ = ["Damaged", "View"]

_REMEMBERED_FILTERS = 64
#: So many terms of queries have their hash and their idf at hand.
_REMEMBERED_TERMS = 10_000
#: So many of them have their rows put side by side.
_NARROWED_FILTERS = 4
#: Up to so many records have their words put side by side.
_NARROWED_WORDS = 20_000
#: How many more records than needed are ranked when a filter can only be applied afterwards.
_SLACK = 1.5


class Damaged(Exception):
    """A generation's files are not those that were written."""


class _Passing:
    """The records that pass one ``Where``: a query if terms can tell; a mask, and the rows by themselves, on demand."""

    def __init__(self, query: FilterQuery | None) -> None:
        self.query = query
        self.mask: Mask | None = None
        self.ranked = 0
        self.asked: dict[int, int] = {}
        self.narrowed: dict[int, list[Narrowed | None]] = {}
        self.words: NarrowedWords | None = None


class View:
    """One version's derived files, shared by the searches of a process."""

    def __init__(self, folder: Path, manifest: Manifest, state: State, kinds: Mapping[int, str]):
        self.manifest = manifest
        self._describe(state)
        self.folder = folder
        self.kind_names = dict(kinds)
        try:
            self._pin = Pin(folder)
        except OSError as error:
            raise Damaged(folder) from error
        if not is_intact(folder, manifest.files):
            raise Damaged(folder)
        try:
            rows = [np.asarray(np.load(folder / f"{part['name']}.rows.npy", mmap_mode="r")) for part in manifest.rows]
            self._numbers, self._artifacts, self._kinds = (_joined([part[at] for part in rows]) for at in range(3))
            #: Which rows are of records that are still there; ``None`` if all are.
            self._alive: Mask | None = None
            if manifest.dead:
                self._alive = ~np.isin(self._numbers, np.array(manifest.dead, dtype=np.int64))
            self._spaces = open_spaces(folder, manifest.spaces, self._numbers, self._alive)
            self.lexical = LexicalReader(folder / LEXICAL)
            self._forward = Forward(folder / FORWARD)
        except (OSError, ValueError, RuntimeError) as error:
            raise Damaged(folder) from error
        # Frequencies and words count records that are gone until the index is made anew; so must their number.
        self._documents = len(self.lexical) + manifest.lexical_dead
        self._average_length = manifest.words / self._documents if self._documents else 0.0
        #: Whether no artifact has two records.
        self._single = _all_different(self._artifacts)
        self._count = len(self._numbers) if self._alive is None else int(np.count_nonzero(self._alive))
        self.remembered_rows: dict[int, tuple[list[Any], Callable[[], dict[str, Any]]]] = {}
        self._passing: OrderedDict[Where, _Passing] = OrderedDict()
        self._worth: dict[str, tuple[int, float]] = {}
        present = self._kinds if self._alive is None else self._kinds[self._alive]
        self.kinds_present = frozenset(self.kind_names[number] for number in _distinct(present))

    def renamed(self, state: State) -> View:
        """The same records under another version: something else was written."""
        twin = copy(self)
        twin._describe(state)
        return twin

    def _describe(self, state: State) -> None:
        self.seq = state.seq
        self.config = state.settings()
        self.space_tables = state.spaces()
        self._state = state
        self._content_version: str | None = None

    @property
    def content_version(self) -> str:
        if self._content_version is None:
            self._content_version = self._state.content_version()
        return self._content_version

    def __len__(self) -> int:
        return self._count

    # -- dense -------------------------------------------------------------------------------------------------

    def space(self, name: str | None) -> Space:
        return self._spaces[self.space_tables.of(name).number]

    def dense(
        self, vector: Vector, limit: int, where: Where, connection: sqlite3.Connection, name: str | None
    ) -> Ranking:
        number = self.space_tables.of(name).number
        space = self._spaces[number]
        fits(vector, space.dim)
        if where.everything:
            return space.nearest(vector, limit, None, None)
        mask = self._mask(where, connection)
        return space.nearest(vector, limit, mask, self._narrowed(where, mask, number))

    # -- lexical -----------------------------------------------------------------------------------------------

    def rank(self, terms: Mapping[str, float], limit: int, where: Where, connection: sqlite3.Connection) -> Ranking:
        if not terms:
            return Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        if where.everything:
            return self.lexical.rank(terms, limit, None)
        passing = self._passing_for(where)
        if passing.query is not None and passing.query.quick:
            return self.lexical.rank(terms, limit, passing.query.query)
        mask = self._mask(where, connection)
        words = self._narrowed_words(passing, mask)
        return words.rank(self._weights(terms), limit) if words else self._rank_then_filter(terms, limit, mask)

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        """The score of each given record, 0 where no term matches."""
        if not terms or not len(refs):
            return np.zeros(len(refs), dtype=np.float32)
        return self._forward.scores(self._weights(terms), refs)

    def term_stats(self, terms: Iterable[str]) -> TermStats:
        frequencies = {term: self.lexical.frequency(term) for term in terms}
        return TermStats(self._documents, self._average_length, frequencies)

    def _weights(self, terms: Mapping[str, float]) -> Weights:
        worth = self._worth
        new = [term for term in terms if term not in worth]
        if new:
            if len(worth) > _REMEMBERED_TERMS:
                worth = self._worth = {}
                new = list(terms)
            stats = self.term_stats(new)
            for term, frequency in stats.frequencies.items():
                worth[term] = (hash_of(term), idf(stats.documents, frequency))
        named = {}
        for term, weight in terms.items():
            name, value = worth[term]
            named[name] = weight * value
        return Weights(named, self._average_length)

    def _narrowed_words(self, passing: _Passing, mask: Mask) -> NarrowedWords | None:
        """The words of the passing records by themselves, from the second time that a filter is asked."""
        passing.ranked += 1
        if passing.words is None and passing.ranked > 1:
            refs = self._numbers[np.flatnonzero(mask)]
            if len(refs) <= _NARROWED_WORDS:
                passing.words = self._forward.narrowed(refs, self._average_length or 1.0)
                kept = [held for held in self._passing.values() if held.words is not None]
                for held in kept[:-_NARROWED_FILTERS]:
                    held.words, held.ranked = None, 0
        return passing.words

    def _rank_then_filter(self, terms: Mapping[str, float], limit: int, mask: Mask) -> Ranking:
        """For filters that terms cannot tell: rank deeper until enough records pass."""
        passing = int(np.count_nonzero(mask))
        depth = int(limit * _SLACK * len(mask) / max(passing, 1)) + 1
        while True:
            found = self.lexical.rank(terms, min(depth, len(mask)), None)
            kept = np.flatnonzero(mask[np.searchsorted(self._numbers, found.refs)])
            if len(kept) >= limit or len(found.refs) < depth:
                return Ranking(found.refs[kept[:limit]], found.scores[kept[:limit]])
            depth *= 4

    # -- filters -----------------------------------------------------------------------------------------------

    def _passing_for(self, where: Where) -> _Passing:
        held = self._passing.get(where)
        if held is None:
            held = self._passing[where] = _Passing(filter_query(self.lexical, where))
            while len(self._passing) > _REMEMBERED_FILTERS:
                self._passing.popitem(last=False)
        return held

    def _mask(self, where: Where, connection: sqlite3.Connection) -> Mask:
        passing = self._passing_for(where)
        if passing.mask is None:
            numbers = (
                self.lexical.numbers(passing.query.query)
                if passing.query is not None
                else self._numbers_by_reading(where, connection)
            )
            mask = np.zeros(len(self._numbers), dtype=np.bool_)
            mask[np.searchsorted(self._numbers, numbers)] = True
            passing.mask = mask
        return passing.mask

    def _narrowed(self, where: Where, mask: Mask, number: int) -> list[Narrowed | None] | None:
        """The passing rows of a space by themselves, from the second time that a filter is asked there."""
        passing = self._passing_for(where)
        asked = passing.asked[number] = passing.asked.get(number, 0) + 1
        if number not in passing.narrowed and asked > 1:
            passing.narrowed[number] = self._spaces[number].narrowed(mask)
            kept = [held for held in self._passing.values() if held.narrowed]
            for held in kept[:-_NARROWED_FILTERS]:
                held.narrowed, held.asked = {}, {}
        return passing.narrowed.get(number)

    def _numbers_by_reading(self, where: Where, connection: sqlite3.Connection) -> Refs:
        wanted = {number for number, name in self.kind_names.items() if where.kinds is None or name in where.kinds}
        numbers = [
            number
            for number, kind, metadata in connection.execute("SELECT number, kind, metadata FROM records")
            if kind in wanted and (where.filter is None or matches(where.filter, json.loads(metadata)))
        ]
        return np.sort(np.array(numbers, dtype=np.int64))

    # -- rows --------------------------------------------------------------------------------------------------

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        if self._single and len(self.kinds_present) == 1:
            return refs, [*self.kinds_present] * len(refs)
        positions = self._numbers.searchsorted(refs)
        return self._artifacts[positions], [self.kind_names[kind] for kind in self._kinds[positions].tolist()]


def _all_different(numbers: NDArray[np.int64]) -> bool:
    """Whether no number comes twice; said of numbers only that are about as many as they are large."""
    highest = int(numbers.max(initial=0))
    return highest <= 4 * len(numbers) and int(np.bincount(numbers, minlength=1).max()) <= 1


def _distinct(numbers: NDArray[np.int64]) -> list[int]:
    # Small numbers: counting them is quick, and numpy's own way loads its masked arrays first.
    return np.flatnonzero(np.bincount(numbers)).tolist()


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
