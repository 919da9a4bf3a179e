"""A corpus from one store to another: streamed, resumed where it broke off, verified when it is through."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record
from ir.errors import CorpusError, CorpusNotBuilt, InvalidInput
from ir.index.progress import Listener, Progress, Ticker
from ir.protocols import Store

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["DFLT_BATCH", "CopyReport", "Tally", "copy_store", "empty_graph", "match_spaces", "tally"]

DFLT_BATCH = 1000
#: The setting that marks a store as being filled; it names what from, and goes with the last write.
COPYING = "copying"
_MODULUS = 2**256


@dataclass
class Tally:
    """How many there are of something, and a checksum that does not depend on their order."""

    count: int = 0
    checksum: int = 0

    def add(self, digest: bytes) -> None:
        self.count += 1
        self.checksum = (self.checksum + int.from_bytes(digest, "big")) % _MODULUS

    def __str__(self) -> str:
        return f"{self.count} {self.checksum:064x}"


@dataclass
class CopyReport:
    """What a copy did. ``sums`` holds the tallies that both stores agree in, as they do in ``content_version``.

    ``exact`` is false if the target keeps vectors in half precision; they were then compared in that.
    """

    records: int = 0
    ledger: int = 0
    links: int = 0
    calibrations: int = 0
    written: int = 0
    already_there: int = 0
    removed: int = 0
    exact: bool = True
    content_version: str = ""
    sums: dict[str, str] = field(default_factory=dict)


def copy_store(
    source: Store,
    target: Store,
    *,
    overwrite: bool = False,
    batch: int = DFLT_BATCH,
    progress: Listener | None = None,
) -> CopyReport:
    """Make ``target`` hold what ``source`` holds: records and vectors, graph, ledger, settings, calibrations.

    One batch of records or of ledger entries is in memory at a time, however large the corpus is, and each batch is
    one write. A copy that broke off is taken up by calling this again: what is there and the same is not written
    again. Until the last write the target has no embedder in its settings, so nobody can open it half full.
    A target that holds anything else is refused, unless ``overwrite`` lets it be emptied first.

    >>> from ir.store import CorpusStore
    >>> from ir.testing import CITIES, tiny_records
    >>> one, other = CorpusStore.memory(), CorpusStore.memory()
    >>> one.put_records(tiny_records(CITIES)), one.set_config({"name": "cities", "embedder_id": "toy"})
    (None, None)
    >>> copy_store(one, other).records == len(other) == len(one)
    True
    """
    if batch < 1:
        raise InvalidInput(f"A copy goes in batches of at least 1 record, not {batch}.")
    version, content_version, config = str(source.version), source.content_version, source.get_config()
    if not config and not len(source):
        raise CorpusNotBuilt("There is nothing to copy: the source is empty.", remedy="Check its address.")
    if COPYING in config:
        raise InvalidInput(
            "The source is itself a copy that broke off.", remedy="Finish that one first, by running it again."
        )
    _claim(target, config, version, overwrite=overwrite, batch=batch)
    report = CopyReport()
    match_spaces(target, source.spaces(), source.default_space)
    sums = _copy_records(source, target, batch, report, progress)
    tell = progress or (lambda step: None)
    tell(Progress("copy the rest", 0, None))
    for name in ("ledger", "symbols"):
        sums[name] = _copy_entries(name, source, target, batch)
    sums["calibrations"] = _copy_calibrations(source, target)
    report.links = _copy_graph(source, target, batch)
    _check_unchanged(source, version)
    _verify(target, sums, report, batch, progress)
    with target.transaction():
        target.set_config(config)
    if target.get_config() != config:
        raise _differs("settings", "one", "another")
    if target.content_version != content_version:
        raise _differs("contents", content_version, target.content_version)
    report.content_version = content_version
    tell(Progress("write", 0, None))
    with target.snapshot():
        pass  # what searches need beside the records is made now, not when somebody waits for the first one
    tell(Progress("write", 1, 1))
    report.records, report.ledger = sums["records"].count, sums["ledger"].count
    report.calibrations = sums["calibrations"].count
    report.sums = {name: str(tally) for name, tally in sums.items() if not name.startswith("half")}
    return report


def tally(
    store: Store, *, batch: int = DFLT_BATCH, tick: Callable[[int], None] = lambda count: None
) -> dict[str, Tally]:
    """Counts and checksums of everything in a store but its settings; the same for stores that hold the same."""
    sums = {"records": Tally(), "half records": Tally()}
    others = _other_spaces(store)
    for records in store.iter_records(batch):
        _add_records(sums, records)
        for space in others:
            _add_vectors(sums, space, store.get_vectors([record.id for record in records], space=space))
        if tick is not None:
            tick(len(records))
    for name in ("ledger", "symbols"):
        sums[name] = _tallied(chain.from_iterable(store.iter_entries(name, batch)))
    sums["calibrations"] = _tallied(_calibrations(store))
    return sums


# -- records -----------------------------------------------------------------------------------------------------


def _copy_records(
    source: Store, target: Store, batch: int, report: CopyReport, progress: Listener | None
) -> dict[str, Tally]:
    """Bring over what is missing or differs."""
    sums = {"records": Tally(), "half records": Tally()}
    ticker = Ticker(progress, "copy", len(source), unit="records")
    empty, others = not len(target), _other_spaces(source)
    for records in source.iter_records(batch):
        _add_records(sums, records)
        fresh = records if empty else _without_held(target, records)
        report.already_there += len(records) - len(fresh)
        if fresh:
            target.put_records(fresh)
        for space in others:
            vectors = source.get_vectors([record.id for record in records], space=space)
            _add_vectors(sums, space, vectors)
            held = target.get_vectors(list(vectors), space=space)
            target.put_vectors(space, {name: vector for name, vector in vectors.items() if name not in held})
        report.written += len(fresh)
        ticker.tick(len(records))
    if not empty and len(target) > sums["records"].count:
        report.removed = _remove_strangers(source, target, batch)
    ticker.end()
    return sums


def _without_held(target: Store, records: Sequence[Record]) -> list[Record]:
    """The records that the target does not hold as they are."""
    held = {record.id: _digest(record, half=True) for record in target.get_records([record.id for record in records])}
    return [record for record in records if held.get(record.id) != _digest(record, half=True)]


def _remove_strangers(source: Store, target: Store, batch: int) -> int:
    """Take out records that an earlier attempt brought over and that left the source since; how many there were."""
    removed = 0
    for records in target.iter_records(batch):
        ids = [record.id for record in records]
        known = {record.id for record in source.get_records(ids)}
        strangers = [record_id for record_id in ids if record_id not in known]
        target.delete_records(strangers)
        removed += len(strangers)
    return removed


def _add_records(sums: Mapping[str, Tally], records: Iterable[Record]) -> None:
    for record in records:
        sums["records"].add(_digest(record))
        sums["half records"].add(_digest(record, half=True))


def _add_vectors(sums: dict[str, Tally], space: str, vectors: Mapping[str, Vector]) -> None:
    """Vectors of a space beside the default one; they are compared in half precision, as a store may keep them so."""
    total = sums.setdefault(f"half space {space}", Tally())
    for record_id, vector in vectors.items():
        total.add(hashlib.sha256(record_id.encode() + _half(vector).tobytes()).digest())


def _digest(record: Record, *, half: bool = False) -> bytes:
    fields = [record.id, record.artifact_id, record.surface_kind, record.surface_index, record.text, record.metadata]
    vector = _half(record.vector) if half else record.vector.astype("<f4")
    vector += 0.0  # a negative zero is a zero
    return hashlib.sha256(_bytes(fields) + vector.tobytes()).digest()


def _half(vector: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return vector.astype("<f2").astype("<f4")


def match_spaces(target: Store, names: Collection[str], default: str) -> None:
    """Give a store just these spaces of vectors."""
    with target.transaction():
        for name in names:
            if name not in target.spaces():
                target.add_space(name)
        target.set_default_space(default)
        for name in target.spaces().keys() - set(names):
            target.drop_space(name)


def _other_spaces(store: Store) -> list[str]:
    return [name for name in store.spaces() if name != store.default_space]


# -- the graph ---------------------------------------------------------------------------------------------------


def _copy_graph(source: Store, target: Store, batch: int) -> int:
    """Bring over nodes and edges; how many nodes have edges. That they are the same is told by the content version."""
    if not _has_graph(source):
        empty_graph(target, batch)
        return 0
    strangers = _has_graph(target)
    for nodes in source.iter_nodes(batch):
        target.put_nodes(nodes)
    linked = 0
    for edges in source.iter_edges(batch):
        target.set_edges(dict(edges))
        linked += len(edges)
    if strangers:
        for nodes in target.iter_nodes(batch):
            known = source.get_nodes([node.id for node in nodes])
            target.delete_nodes([node.id for node in nodes if node.id not in known])
        for edges in target.iter_edges(batch):
            held = source.get_edges([origin for origin, _ in edges])
            target.set_edges({origin: () for origin, _ in edges if origin not in held})
    return linked


def _has_graph(store: Store) -> bool:
    return next(iter(store.iter_nodes(1)), None) is not None or next(iter(store.iter_edges(1)), None) is not None


def empty_graph(target: Store, batch: int = DFLT_BATCH) -> None:
    """Forget every node and edge."""
    for nodes in target.iter_nodes(batch):
        target.delete_nodes([node.id for node in nodes])
    for edges in target.iter_edges(batch):
        target.set_edges({origin: () for origin, _ in edges})


# -- everything else ---------------------------------------------------------------------------------------------


def _copy_entries(name: Any, source: Store, target: Store, batch: int) -> Tally:
    """Bring over the ledger or the symbols: all of it, as writing in bulk is quicker than asking what is there."""
    write = target.set_ledger_entry if name == "ledger" else target.set_symbols
    erase = target.delete_ledger_entry if name == "ledger" else lambda key: target.set_symbols(key, None)
    empty = next(iter(target.iter_entries(name, 1)), None) is None
    total = Tally()
    for entries in source.iter_entries(name, batch):
        with target.transaction():
            for key, value in entries:
                total.add(_entry_digest(key, value))
                write(key, value)
    if not empty and sum(map(len, target.iter_entries(name, batch))) > total.count:
        read = source.get_ledger_entry if name == "ledger" else source.get_symbols
        for entries in target.iter_entries(name, batch):
            strangers = [key for key, _ in entries if not read(key)]
            with target.transaction():
                for key in strangers:
                    erase(key)
    return total


def _copy_calibrations(source: Store, target: Store) -> Tally:
    with target.transaction():
        for mode in {*source.calibration_modes(), *target.calibration_modes()}:
            record = source.get_calibration(mode)
            if record is None:
                target.delete_calibration(mode)
            elif target.get_calibration(mode) != record:
                target.set_calibration(mode, record)
    return _tallied(_calibrations(source))


def _calibrations(store: Store) -> Iterator[tuple[str, Any]]:
    records = ((mode, store.get_calibration(mode)) for mode in store.calibration_modes())
    return ((mode, record) for mode, record in records if record)


def _tallied(items: Iterable[tuple[str, Any]]) -> Tally:
    total = Tally()
    for key, value in items:
        total.add(_entry_digest(key, value))
    return total


def _entry_digest(key: str, value: Any) -> bytes:
    return hashlib.sha256(_bytes([key, value])).digest()


def _bytes(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


# -- beginning and end -------------------------------------------------------------------------------------------


def _claim(target: Store, config: Mapping[str, Any], version: str, *, overwrite: bool, batch: int) -> None:
    """Mark the target as ours to fill."""
    held = target.get_config()
    if COPYING not in held and (held or len(target)):
        if not overwrite:
            raise InvalidInput(
                f"The target holds a corpus of {len(target)} records already.",
                remedy="Choose another target, or let it be emptied with overwrite (--force).",
            )
        _empty(target, batch)
    # Words are analysed as they are written: in the language that the corpus will have.
    marked = {
        COPYING: {"name": config.get("name"), "version": version},
        "language": config.get("language") or "english",
    }
    if held != marked:
        target.set_config(marked)


def _empty(target: Store, batch: int) -> None:
    with target.transaction():
        target.set_config({COPYING: {"emptied": True}})
        for records in target.iter_records(batch):
            target.delete_records([record.id for record in records])
        for entries in target.iter_entries("ledger", batch):
            for key, _ in entries:
                target.delete_ledger_entry(key)
        for entries in target.iter_entries("symbols", batch):
            for key, _ in entries:
                target.set_symbols(key, None)
        empty_graph(target, batch)


def _check_unchanged(source: Store, version: str) -> None:
    if str(source.version) != version:
        raise CorpusError(
            "The source was written to while it was copied.", remedy="Run the copy again; it goes on where it stopped."
        )


def _verify(
    target: Store, sums: Mapping[str, Tally], report: CopyReport, batch: int, progress: Listener | None
) -> None:
    """Read the target back and compare counts and checksums."""
    ticker = Ticker(progress, "verify", sums["records"].count, unit="records")
    found = tally(target, batch=batch, tick=ticker.tick)
    ticker.end()
    for name, wanted in sums.items():
        if name == "records" and found[name] != wanted and found["half records"] == sums["half records"]:
            report.exact = False
            continue
        if name == "half records" and report.exact and found["records"] == sums["records"]:
            continue
        if found[name] != wanted:
            raise _differs(name, str(wanted), str(found[name]))


def _differs(name: str, wanted: str, found: str) -> CorpusError:
    return CorpusError(
        f"The copy's {name} differ from the source's: {found} instead of {wanted} (count and checksum).",
        remedy="Run the copy again; if it differs again, copy to an empty target.",
    )
