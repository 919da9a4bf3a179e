"""Keeping the words of a corpus on another engine in step with it, by what changed and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable
from uuid import uuid4

from ir.base import Record
from ir.config.files import file_lock
from ir.content import record_sum
from ir.errors import InvalidInput
from ir.keyword.mirrored import Mirrored
from ir.protocols import Store

__all__ = ["Behind", "KeywordIndex", "KeywordMirror"]

#: So many records are sent and noted down at a time; a kill costs no more than these once more.
_BATCH = 500
#: The settings of a corpus that an engine for words needs.
_SETTINGS = ("language",)
#: Records that no item of the ledger has.
_LOOSE = ""


@runtime_checkable
class KeywordIndex(Protocol):
    """An engine that keeps words by itself. All of it may be repeated: a record that is there is replaced."""

    name: str

    def mark(self, collection: str) -> str | None:
        """What :meth:`apply` was last given as ``mark``; ``None`` if the collection is not there."""

    def ids(self, collection: str) -> Iterator[str]:
        """The ids of all records that are there."""

    def apply(
        self,
        collection: str,
        records: Sequence[Record],
        gone: Sequence[str],
        *,
        mark: str,
        settings: Mapping[str, Any],
    ) -> None:
        """Write ``records``, remove those with the ids ``gone``."""


@dataclass(frozen=True)
class Behind:
    """How far the engine is behind the corpus, or was before it was brought up to date.

    ``content_version`` is that of the corpus, ``mirrored_version`` what the engine was last brought up to.
    """

    added: int
    changed: int
    removed: int
    content_version: str
    mirrored_version: str | None

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "total": self.total}


class _Item(NamedTuple):
    """What differs of one item of the ledger."""

    key: str
    stamp: str | None
    added: list[Record]
    changed: list[Record]
    #: Records that are there as they should be, by hash.
    same: dict[str, str]
    gone: list[str]


class KeywordMirror:
    """Mirrors the records of ``store`` as ``collection`` of ``index``; the file ``notes`` remembers what is there.

    Each item of the ledger has a stamp, each record a hash. Only items with another stamp are read, and only records
    with another hash are sent. What is to be sent is noted as doubtful before, and as there once it was taken; so a
    mirror that was killed goes on where it was, and sends at most one batch twice. If somebody else made the
    collection, or it is gone, all is sent anew and what does not belong there is removed.
    """

    def __init__(self, store: Store, index: KeywordIndex, collection: str, notes: Path) -> None:
        if not isinstance(index, KeywordIndex):
            raise InvalidInput(f"{index!r} keeps no words by itself: there is nothing to mirror to.")
        self._store = store
        self._index = index
        self._collection = collection
        self._path = notes

    def behind(self) -> Behind:
        """How many records are to be sent or removed; nothing is."""
        with closing(Mirrored(self._path)) as notes:
            if self._stranger(notes) is None:
                return self._counted(self._differences(notes), notes)
        with closing(Mirrored(None)) as empty:
            return self._counted(self._differences(empty), empty)

    def sync(self, progress: Callable[[int], None] = lambda done: None) -> Behind:
        """Send what changed; what that was. ``progress`` is told how many records are done, one batch after another."""
        with file_lock(self._path), closing(Mirrored(self._path)) as notes:
            before, sent = notes.version, _Count()
            strange = self._stranger(notes)
            if strange is not None:
                self._remove_strangers(strange)
                notes.begin(uuid4().hex)
                self._send([], notes, sent)
            version = self._store.content_version
            while notes.version != version:
                self._send_all(notes, sent, progress)
                # If the corpus was changed meanwhile, what was sent may be of either version.
                begun, version = version, self._store.content_version
                if begun == version:
                    notes.version = version
        return Behind(sent.added, sent.changed, sent.removed, version, before)

    def _send_all(self, notes: Mirrored, sent: _Count, progress: Callable[[int], None]) -> None:
        waiting: list[_Item] = []
        size = 0
        for item in self._differences(notes):
            waiting.append(item)
            size += len(item.added) + len(item.changed) + len(item.gone)
            if size >= _BATCH:
                self._send(waiting, notes, sent)
                progress(sent.total)
                waiting, size = [], 0
        if waiting:
            self._send(waiting, notes, sent)
            progress(sent.total)

    # -- what differs --------------------------------------------------------------------------------------------

    def _differences(self, notes: Mirrored) -> Iterator[_Item]:
        """Every item of which something differs; one that is gone has no stamp."""
        if notes.version is not None and notes.version == self._store.content_version:
            return
        left = notes.stamps()
        known = 0
        for page in self._store.iter_entries("ledger"):
            for key, entry in page:
                if "item" in entry:  # a part of another item, which has all of its records
                    continue
                ids = [str(one) for one in entry.get("record_ids") or ()]
                known += len(ids)
                stamp = _stamp([entry.get("version"), entry.get("strategy_id"), ids])
                if left.pop(key, None) != stamp:
                    yield self._difference(key, stamp, ids, notes)
        if known != len(self._store):
            listed = {str(one) for (ids,) in self._store.ledger_fields("record_ids") for one in ids or ()}
            left.pop(_LOOSE, None)
            yield self._difference(_LOOSE, "", sorted(set(self._store.record_ids()) - listed), notes)
        for key in left:
            yield self._difference(key, None, [], notes)

    def _difference(self, key: str, stamp: str | None, ids: Sequence[str], notes: Mirrored) -> _Item:
        held = notes.records(key)
        added, changed, same = [], [], {}
        for start in range(0, len(ids), _BATCH):
            for record in self._store.get_records(ids[start : start + _BATCH]):
                was, now = held.pop(record.id, None), _hash(record)
                if was == now:
                    same[record.id] = now
                elif was is None:
                    added.append(record)
                else:
                    changed.append(record)
        return _Item(key, stamp, added, changed, same, list(held))

    def _counted(self, items: Iterator[_Item], notes: Mirrored) -> Behind:
        count = _Count()
        for item in items:
            count.add(item)
        return Behind(count.added, count.changed, count.removed, self._store.content_version, notes.version)

    # -- sending -------------------------------------------------------------------------------------------------

    def _send(self, items: Sequence[_Item], notes: Mirrored, sent: _Count) -> None:
        notes.version = None  # until all is there again
        config = self._store.get_config()
        settings = {name: config[name] for name in _SETTINGS if config.get(name) is not None}
        records = [record for item in items for record in (*item.added, *item.changed)]
        # A record may have moved from one item to another.
        kept = {record.id for record in records} | {one for item in items for one in item.same}
        gone = [one for item in items for one in item.gone if one not in kept and not notes.elsewhere(one, item.key)]
        for item in items:
            changing = [*item.gone, *(record.id for record in (*item.added, *item.changed))]
            notes.doubt(item.key, changing)
        notes.commit()  # if this is interrupted, nobody knows which of them are there
        self._index.apply(self._collection, records, gone, mark=notes.mark, settings=settings)
        for item in items:
            written = {record.id: _hash(record) for record in (*item.added, *item.changed)}
            notes.keep(item.key, item.stamp, {**item.same, **written})
            sent.add(item)
        notes.commit()

    def _stranger(self, notes: Mirrored) -> str | None:
        """The mark of a collection that these notes are not about; empty if there is none; ``None`` if all is well."""
        there = self._index.mark(self._collection)
        if there is not None and there == notes.mark:
            return None
        return there or ""

    def _remove_strangers(self, mark: str) -> None:
        if not mark:
            return
        present = set(self._store.record_ids())
        gone = [one for one in self._index.ids(self._collection) if one not in present]
        for start in range(0, len(gone), _BATCH):
            # Under the old mark: if this is interrupted, the next one begins here again.
            self._index.apply(self._collection, [], gone[start : start + _BATCH], mark=mark, settings={})


class _Count:
    def __init__(self) -> None:
        self.added = self.changed = self.removed = 0

    def add(self, item: _Item) -> None:
        self.added += len(item.added)
        self.changed += len(item.changed)
        self.removed += len(item.gone)

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


def _stamp(told: Any) -> str:
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=12).hexdigest()


def _hash(record: Record) -> str:
    return f"{record_sum([record]):x}"[-24:]
