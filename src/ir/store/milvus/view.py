"""One version of a corpus in Milvus, as searches see it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row
from ir.errors import CorpusError
from ir.filters import matches
from ir.protocols import Where
from ir.store.bm25 import idf, rounded_lengths, term_weights
from ir.store.milvus.connection import CollectionGone, Connection
from ir.store.milvus.entries import FREQUENCY, Entries, body_of
from ir.store.milvus.filtering import NONE, Untold, expression, prefilter
from ir.store.milvus.graph import Graph
from ir.store.milvus.rows import ROW_FIELDS, decode_row, mark_of, marked, slot_of
from ir.store.milvus.schema import Collections, visible
from ir.store.milvus.state import Space, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores

__all__ = ["View"]

_REMEMBERED_FILTERS = 64
#: How many refs one expression names; more become several searches.
_MOST_REFS = 20_000


class View:
    """A state, the collections it is about, and what was already asked of them."""

    def __init__(self, connection: Connection, collections: Collections, state: State) -> None:
        self.connection = connection
        self.collections = collections
        self.state = state
        self.entries = Entries(connection, collections.entries)
        self.kind_names = state.kind_names()
        self.visible = visible(state.version)
        self.seen_present()
        self._frequencies: dict[str, int] = {}
        self._artifacts: dict[str, int] = {}
        self._known: dict[int, tuple[int, int]] = {}
        self._passing: OrderedDict[Where, list[str]] = OrderedDict()

    @property
    def collection(self) -> str:
        return self.collections.records

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.entries.read("config", "config", self.state.version) or {}

    @cached_property
    def content_version(self) -> str:
        return self.state.content_version(self.config)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self)

    # -- whether it is still there -----------------------------------------------------------------------------

    def seen_present(self) -> None:
        """The version is the present one, so nobody clears it away for as long as versions are kept."""
        self._kept_until = time.monotonic() + self.connection.address.keep

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around requests: of a version that was cleared away they would give less than there was."""
        try:
            yield
        except CollectionGone:
            self._check_kept()
            raise
        if time.monotonic() >= self._kept_until:
            self._check_kept()

    def _check_kept(self) -> None:
        present = State.read(self.connection, self.collections.state)
        if present.swept > self.state.version:
            raise self._gone()
        if present.version == self.state.version:
            self.seen_present()

    def _gone(self) -> CorpusError:
        return CorpusError(
            f"Version {self.state.version} of the corpus at {self.connection.address.label} is no longer kept.",
            remedy="Take a new snapshot; versions are kept for ?keep=SECONDS after the next one came.",
        )

    # -- which records -----------------------------------------------------------------------------------------

    def passing(self, where: Where) -> list[str]:
        """Expressions that together hold for just the records that pass, none of them twice; none if none pass."""
        held = self._passing.get(where)
        if held is None:
            held = self._passing[where] = self._expressions(where)
            while len(self._passing) > _REMEMBERED_FILTERS:
                self._passing.popitem(last=False)
        return held

    def _expressions(self, where: Where) -> list[str]:
        expr = self._within(where.kinds)
        if expr is None:
            return []
        if where.filter is None:
            return [expr]
        try:
            told = expression(where.filter, self.state.paths, self.state.records)
            return [] if told == NONE else [f"{expr} and ({told})"]
        except Untold:
            refs = self._by_reading(where, expr)
            return [f"ref in {refs[start : start + _MOST_REFS]}" for start in range(0, len(refs), _MOST_REFS)]

    def _within(self, kinds: frozenset[str] | None) -> str | None:
        if kinds is None:
            return self.visible
        numbers = sorted(number for number, name in self.kind_names.items() if name in kinds)
        return f"{self.visible} and kind in {numbers}" if numbers else None

    def _by_reading(self, where: Where, expr: str) -> list[int]:
        assert where.filter is not None, "asked for a filter's sake"
        coarse = prefilter(where.filter, self.state.paths, self.state.records)
        found: list[int] = []
        fields, end = ROW_FIELDS, self.state.next_ref
        for rows in self.connection.windows(self.collection, f"{expr} and ({coarse})", fields, end):
            found += [int(row["ref"]) for row in rows if matches(where.filter, self._row(row).metadata)]
        return found

    # -- words -------------------------------------------------------------------------------------------------

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """How many records hold each term."""
        missing = [term for term in terms if term not in self._frequencies]
        if missing:
            slots = {term: str(slot_of(term)) for term in missing}
            held = self.entries.read_some(FREQUENCY, sorted(set(slots.values())), self.state.version)
            self._frequencies.update({term: int(held.get(slot, 0)) for term, slot in slots.items()})
        return {term: self._frequencies[term] for term in terms}

    def weights(self, terms: Mapping[str, float]) -> dict[int, float]:
        """The query as a sparse vector: each term's weight times its idf."""
        found = self.frequencies(list(terms))
        weights: dict[int, float] = {}
        for term, weight in terms.items():
            if found[term]:
                slot = slot_of(term)
                weights[slot] = weights.get(slot, 0.0) + weight * idf(self.state.records, found[term])
        return weights

    def bm25(self, weights: Mapping[int, float], rows: Sequence[Mapping[str, Any]]) -> Scores:
        """The exact scores of rows, whose stored weights were made with another average length."""
        scores = np.zeros(len(rows), dtype=np.float64)
        slots = list(weights)
        stored = np.array([[row["sparse"].get(slot, 0.0) for slot in slots] for row in rows], dtype=np.float64)
        if not stored.size:
            return scores.astype(np.float32)
        lengths = rounded_lengths([int(row["length"]) for row in rows]).astype(np.float64)[:, None]
        norm = term_norm(lengths, self.state.pivot)
        # The weight grows with the count towards k1 + 1, so the count can be had back from it.
        counts = np.rint(norm * stored / np.maximum(2.2 - stored, 1e-9))
        gains = np.where(counts > 0, term_weights(counts, lengths, self.state.average), 0.0)
        scores += gains @ np.array([weights[slot] for slot in slots])
        return scores.astype(np.float32)

    # -- rows --------------------------------------------------------------------------------------------------

    def note(self, ref: int, artifact: str, kind: int) -> None:
        self._known[ref] = (self._artifacts.setdefault(artifact, len(self._artifacts)), kind)

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        asked = refs.tolist()
        missing = [ref for ref in asked if ref not in self._known]
        for row in self.connection.by_ref(self.collection, missing, ["artifact", "kind"]) if missing else []:
            self.note(int(row["ref"]), row["artifact"], int(row["kind"]))
        known = [self._known[ref] for ref in asked]
        return np.array([group for group, _ in known], dtype=np.int64), [self.kind_names[kind] for _, kind in known]

    def fetch(self, refs: Refs, fields: Sequence[str]) -> list[dict[str, Any]]:
        """The rows in the order of ``refs``."""
        asked = refs.tolist()
        found = (
            {int(row["ref"]): row for row in self.connection.by_ref(self.collection, asked, fields)} if asked else {}
        )
        try:
            return [found[ref] for ref in asked]
        except KeyError:
            raise self._gone() from None

    def vectors(self, space: Space, refs: Refs) -> dict[int, NDArray[np.float32]]:
        """The vectors of those records that have one in a space, by ref, as they are kept: of any length."""
        if not space["count"] or not len(refs):
            return {}
        rows = self.connection.by_ref(space["table"], refs.tolist(), ["dense"], self.visible)
        return {int(row["ref"]): np.array(row["dense"][: space["dim"]], dtype=np.float32) for row in rows}

    def rows(self, refs: Refs) -> list[Row]:
        return [self._row(row) for row in self.fetch(refs, ROW_FIELDS)]

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        """The refs of those records that are in this version."""
        marks = [mark_of(record_id) for record_id in dict.fromkeys(record_ids)]
        found: dict[str, int] = {}
        for expr in marked(marks):
            rows = self.connection.query(self.collection, f"{expr} and {self.visible}", ["ref", "id"])
            found |= {row["id"]: int(row["ref"]) for row in rows}
        return found

    def _row(self, row: dict[str, Any]) -> Row:
        return decode_row(row, self.kind_names, body_of(row, self.entries, self.state.version))


def term_norm(lengths: NDArray[np.float64], average: float) -> NDArray[np.float64]:
    """What stands beside a term's count in the divisor of its weight."""
    return 1.2 * (0.25 + 0.75 * lengths / average)
