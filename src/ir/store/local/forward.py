"""Which terms each record holds: the index turned around.

An inverted index ranks everything; to score a few given records, or the few that pass a filter, it walks the same long
lists. Here each record's terms stand together, named by a hash, with how often they come: scoring ten records reads
ten short stretches of a mapped file.
"""

from __future__ import annotations

import mmap
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ir.analysis.counting import counted, stretches
from ir.protocols import Ranking
from ir.store.bm25 import DFLT_B, DFLT_K1, rounded_length, rounded_lengths, term_weights
from ir.system import let_go

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores

    Hashes = NDArray[np.uint64]
    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Forward", "ForwardWriter", "NarrowedWords", "Weights", "hash_of"]

#: A record that holds a term more often than this counts as holding it so often: its score is at its limit by then.
_MOST_COUNTED = 65_535
#: Up to so many times a term is looked for in a record, records are scored one by one.
_FEW = 400
#: So many bytes a term's hash has.
_HASH = 8
#: After so many records the pages that they lie on are given back. Each brings some 64 KB of neighbours with it, so
#: files of up to so many bytes stay.
_MOST_TOUCHED, _STAYS = 200, 64_000_000
#: Parts of up to so many entries, or of so many times as many as there are in all later ones, are merged with those.
_SMALL, _LIKE = 50_000, 2


class ForwardWriter:
    """Writes one part: the terms of records that are added in the order of their numbers."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._name = folder, name
        self._terms: BinaryIO = (folder / f"{name}.terms").open("wb")
        self._counts: BinaryIO = (folder / f"{name}.counts").open("wb")
        self._rows: list[Integers] = []
        self._end = 0
        self._names: list[str] | None = None
        self._hashes = np.empty(0, np.uint64)

    def add(self, numbers: Sequence[int], names: list[str], terms: Sequence[NDArray[np.integer[Any]]]) -> int:
        """Add records, given by number and by their terms as places in ``names``; how many terms they have."""
        found = counted(terms)
        self._terms.write(self._hashes_of(names)[found.terms].tobytes())
        self._counts.write(np.minimum(found.counts, _MOST_COUNTED).astype(np.uint16).tobytes())
        ends = self._end + np.cumsum(np.bincount(found.texts, minlength=len(numbers)))
        self._rows.append(np.stack([np.asarray(numbers, np.int64), ends, found.lengths]))
        self._end = int(ends[-1]) if len(ends) else self._end
        return int(found.lengths.sum())

    def finish(self) -> None:
        self.close()
        if not self._rows and _names(self._folder):  # nothing new
            _remove(self._folder, self._name)
            return
        rows = np.concatenate([*self._rows, np.empty((3, 0), np.int64)], axis=1)
        np.save(self._folder / f"{self._name}.rows.npy", rows)
        _merge_like_sized(self._folder, self._name)

    def close(self) -> None:
        self._terms.close()
        self._counts.close()

    def _hashes_of(self, names: list[str]) -> Hashes:
        if self._names is not names:
            self._names, self._hashes = names, np.empty(0, np.uint64)
        new = names[len(self._hashes) :]
        if new:
            self._hashes = np.concatenate([self._hashes, np.array([hash_of(term) for term in new], np.uint64)])
        return self._hashes


class Weights:
    """The terms of a query by their hashes, with what one occurrence in a record would be worth at most."""

    def __init__(self, named: Mapping[int, float], average_length: float) -> None:
        self.by_hash = named
        self.average = average_length or 1.0

    @cached_property
    def by_bytes(self) -> list[tuple[bytes, float]]:
        """The same, each hash as it stands in a file."""
        return [(name.to_bytes(_HASH, sys.byteorder), value) for name, value in self.by_hash.items()]

    @cached_property
    def hashes(self) -> Hashes:
        """Ascending."""
        return np.array(sorted(self.by_hash), np.uint64)

    @cached_property
    def values(self) -> Floats:
        """In the order of the hashes."""
        return np.array([self.by_hash[name] for name in sorted(self.by_hash)], np.float64)


class _Part:
    """One part, opened for reading. Its files are mapped, not read."""

    def __init__(self, folder: Path, name: str) -> None:
        # Plain arrays over the mapped memory: indexing a memmap costs several times as much.
        rows = np.asarray(np.load(folder / f"{name}.rows.npy", mmap_mode="r"))
        if rows.ndim != 2 or rows.shape[0] != 3:
            raise ValueError(f"{folder / name} has no rows")
        self.numbers, self.ends, self.lengths = rows
        entries = int(self.ends[-1]) if len(self.ends) else 0
        self._maps = [
            _mapped(folder / f"{name}.terms", entries * 8),
            _mapped(folder / f"{name}.counts", entries * 2),
        ]
        self.terms: Hashes = np.frombuffer(self._maps[0], np.uint64)
        self.counts: NDArray[np.uint16] = np.frombuffer(self._maps[1], np.uint16)
        # One number out of a view costs a third of what one out of an array does.
        self._views = self.ends.data, self.lengths.data, self.counts.data
        self._touched = 0

    def touched(self, records: int) -> None:
        """Say how many records were looked at: now and then the memory that this took is given back."""
        self._touched += records
        if self._touched > _MOST_TOUCHED and self.terms.nbytes > _STAYS:
            self._touched = 0
            for held in self._maps:
                if isinstance(held, mmap.mmap):
                    let_go(held)

    def entries(self, places: Integers) -> tuple[Integers, Integers]:
        """The entries of the records at those places, and for each the record's position in ``places``."""
        ends = self.ends[places]
        starts = np.where(places > 0, self.ends[places - 1], 0)
        sizes = ends - starts
        return stretches(starts, sizes), np.repeat(np.arange(len(places)), sizes)

    def scores_of_few(self, weights: Weights, refs: Refs) -> list[float]:
        """The scores of some records that are here. So few are scored sooner one by one than as arrays."""
        fixed, each = DFLT_K1 * (1 - DFLT_B), DFLT_K1 * DFLT_B / weights.average
        hashes, (ends, lengths, counts), wanted = self._maps[0], self._views, weights.by_bytes
        scores = []
        for place in self.numbers.searchsorted(refs).tolist():
            start = ends[place - 1] * _HASH if place else 0
            held = hashes[start : ends[place] * _HASH]
            score = norm = 0.0
            for name, value in wanted:
                if name in held:
                    at = held.index(name)
                    while at > 0 and at % _HASH:  # the end of one hash and the beginning of the next
                        at = held.find(name, at + 1)
                    if at >= 0:
                        norm = norm or fixed + each * rounded_length(lengths[place])
                        count = counts[(start + at) // _HASH]
                        score += value * (DFLT_K1 + 1) * count / (count + norm)
            scores.append(score)
        self.touched(len(scores))
        return scores

    def gains(self, entries: Integers, owners: Integers, places: Integers, average: float) -> Floats:
        """What each of the entries adds to its record's score, before the weight of its term."""
        lengths = rounded_lengths(self.lengths[places]).astype(np.float64)
        return term_weights(self.counts[entries].astype(np.float64), lengths[owners], average)


class Forward:
    """The terms of all records of a generation."""

    def __init__(self, folder: Path) -> None:
        self._parts = [_Part(folder, name) for name in _names(folder)]
        if not self._parts:
            raise ValueError(f"{folder} is empty")

    def scores(self, weights: Weights, refs: Refs) -> Scores:
        """The score of each given record; 0 where no term matches."""
        if len(refs) * len(weights.by_hash) <= _FEW and len(self._parts) == 1:
            return np.array(self._parts[0].scores_of_few(weights, refs), dtype=np.float32)
        out = np.zeros(len(refs))
        for part in self._parts:
            places, inside = _places(part.numbers, refs)
            if inside is None:
                out += _scored(part, places, weights)
            elif inside.any():
                out[inside] += _scored(part, places[inside], weights)
        return out.astype(np.float32)

    def narrowed(self, refs: Refs, average: float) -> NarrowedWords:
        """Some of the records by themselves."""
        owners, hashes, gains = [], [], []
        for part in self._parts:
            places, inside = _places(part.numbers, refs)
            mine = np.arange(len(refs)) if inside is None else np.flatnonzero(inside)
            entries, owner = part.entries(places[mine])
            owners.append(mine[owner])
            hashes.append(part.terms[entries])
            gains.append(part.gains(entries, owner, places[mine], average))
            part.touched(len(mine))
        return NarrowedWords(refs, np.concatenate(owners), np.concatenate(hashes), np.concatenate(gains))


class NarrowedWords:
    """The words of the records that pass a filter, ranked without asking of each record whether it passes."""

    def __init__(self, refs: Refs, owners: Integers, hashes: Hashes, gains: Floats) -> None:
        order = np.argsort(hashes, kind="stable")
        self._refs = refs
        self._hashes, self._owners, self._gains = hashes[order], owners[order], gains[order]

    def rank(self, weights: Weights, limit: int) -> Ranking:
        totals = np.zeros(len(self._refs))
        firsts = np.searchsorted(self._hashes, weights.hashes, side="left").tolist()
        lasts = np.searchsorted(self._hashes, weights.hashes, side="right").tolist()
        for first, last, value in zip(firsts, lasts, weights.values.tolist(), strict=True):
            totals[self._owners[first:last]] += value * self._gains[first:last]
        found = np.flatnonzero(totals)
        if len(found) > limit:
            edge = np.partition(totals[found], len(found) - limit)[len(found) - limit]
            found = found[totals[found] >= edge]
        best = found[np.argsort(-totals[found], kind="stable")][:limit]
        return Ranking(self._refs[best], totals[best].astype(np.float32))


def _scored(part: _Part, places: Integers, weights: Weights) -> Floats:
    entries, owners = part.entries(places)
    hashes = part.terms[entries]
    at = np.minimum(np.searchsorted(weights.hashes, hashes), len(weights.hashes) - 1)
    matching = np.flatnonzero(weights.hashes[at] == hashes)
    owners = owners[matching]
    gains = part.gains(entries[matching], owners, places, weights.average) * weights.values[at[matching]]
    part.touched(len(places))
    return np.bincount(owners, gains, minlength=len(places)).astype(np.float64, copy=False)


def _places(numbers: Integers, refs: Refs) -> tuple[Integers, NDArray[np.bool_] | None]:
    """Where each ref stands, and which of them do; ``None`` if all."""
    places = numbers.searchsorted(refs)
    if len(numbers):
        inside = numbers[np.minimum(places, len(numbers) - 1)] == refs
        return places, None if inside.all() else inside
    return places, np.zeros(len(refs), np.bool_)


def _merge_like_sized(folder: Path, latest: str) -> None:
    """Make one part of the latest ones that are of like size, so that there are few and no large one is written anew.

    Each part has later numbers than the one before it.
    """
    held = [(_Part(folder, name), name) for name in _names(folder)]
    held.sort(key=lambda one: int(one[0].numbers[:1].sum()))
    parts: list[_Part] = []
    names: list[str] = []
    size = 0
    for part, name in reversed(held):
        if parts and len(part.terms) > _LIKE * max(size, _SMALL):
            break
        parts.insert(0, part)
        names.append(name)
        size += len(part.terms)
    if len(parts) == 1:
        return
    ends = np.cumsum([0, *(len(part.terms) for part in parts)])
    rows = [np.stack([part.numbers, part.ends + start, part.lengths]) for part, start in zip(parts, ends, strict=False)]
    merged = f"{latest}-merged"
    for kind in ("terms", "counts"):
        with (folder / f"{merged}.{kind}").open("wb") as file:
            for part in parts:
                file.write(getattr(part, kind).tobytes())
    np.save(folder / f"{merged}.rows.npy", np.concatenate(rows, axis=1))
    for name in names:
        _remove(folder, name)


def _names(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix(".rows.npy") for path in folder.glob("*.rows.npy"))


def _remove(folder: Path, name: str) -> None:
    for kind in ("terms", "counts", "rows.npy"):
        (folder / f"{name}.{kind}").unlink(missing_ok=True)


def _mapped(path: Path, size: int) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != size:
            raise ValueError(f"{path} is not as long as it should be")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""


def hash_of(term: str) -> int:
    """Two checksums of 32 bits; terms that share both are not to be expected in the life of a corpus."""
    data = term.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) | zlib.crc32(data[::-1]) << 32
