"""Rows to stored records: reuse the vectors that are still right, embed the rest, write in large batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.base import Record, Row, embedding_text, ledger_key
from ir.index.ahead import ToCome
from ir.index.embedding import Embedding, More
from ir.index.progress import Listener
from ir.index.report import BuildReport
from ir.protocols import Embedder, Store

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.index.floor import ProbeScores

__all__ = ["Held", "Writer"]

#: The vectors that somebody has of some texts, as an embedder would be given them.
Held = Callable[[Sequence[str]], Mapping[str, "Vector"]]
#: A buffer is written when it holds this many batches of texts, or this many characters.
_BATCHES = 8
_CHARACTERS = 16_000_000
#: So many records are handed to the store at once.
_PUT = 1000


@dataclass
class _Pending:
    entry: dict[str, Any]
    rows: Sequence[Row]
    texts: list[str]
    old_ids: list[str]
    vectors: dict[str, Vector]


class Writer:
    """Collects artifacts and writes them, each with its ledger entry, into an open transaction.

    Only the texts of one buffer are in memory at a time.
    """

    def __init__(
        self, store: Store, embedder: Embedder, *, batch_size: int, report: BuildReport, listener: Listener | None
    ) -> None:
        self._store = store
        self._batch_size = batch_size
        self._report = report
        self._embedding = Embedding(embedder, batch_size=batch_size, listener=listener)
        self._reads_all = _reader(embedder)
        self._pending: list[_Pending] = []
        self._parts: dict[str, dict[str, Any]] = {}
        self._texts = 0
        self._characters = 0
        #: How much is still to come, compared with what was added; ``None`` if nobody knows.
        self.to_come: Callable[[], ToCome | None] = lambda: ToCome(0, 0)
        self._artifacts = 0
        #: The space that vectors are written to, the default one unless the embedder is another than it was.
        self.space: str | None = None
        #: Asked for vectors before texts are embedded, if there is one.
        self.held: Held | None = None
        #: Sees every vector that is written, if there is one.
        self.probes: ProbeScores | None = None

    def add(self, entry: dict[str, Any], rows: Sequence[Row], *, new: bool, reuse: bool) -> None:
        """Put an artifact in the store, in place of what it holds of it.

        ``new`` if it holds nothing of it, ``reuse`` if what it holds was embedded by the same embedder.
        """
        held = None if new else self._store.get_ledger_entry(ledger_key(entry["artifact_id"]))
        old_ids = list(held["record_ids"]) if held else []
        entry["record_ids"] = [row.id for row in rows]
        self._part(entry, rows, held)
        texts = [embedding_text(row.text, row.metadata) for row in rows]
        self._pending.append(_Pending(entry, rows, texts, old_ids, self._held_vectors(old_ids) if reuse else {}))
        self._report.cut += sum(not self._reads_all(text) for text in texts)
        self._artifacts += 1
        self._texts += len(texts)
        self._characters += sum(map(len, texts))
        if self._texts >= _BATCHES * self._batch_size or self._characters >= _CHARACTERS:
            self.flush()

    def _part(self, entry: dict[str, Any], rows: Sequence[Row], held: Mapping[str, Any] | None) -> None:
        """Let the ledger know the artifacts that are part of an item, and forget those that no longer are."""
        item_id = entry["artifact_id"]
        parts: dict[str, list[str]] = {}
        for row in rows:
            if row.artifact_id != item_id:
                parts.setdefault(row.artifact_id, []).append(row.id)
        for gone in set(held.get("parts", ()) if held else ()) - parts.keys():
            self._store.delete_ledger_entry(ledger_key(gone))
        if parts:
            entry["parts"] = sorted(parts)
            self._parts.update(
                {
                    ledger_key(part): {"artifact_id": part, "item": item_id, "record_ids": record_ids}
                    for part, record_ids in parts.items()
                }
            )

    @property
    def dim(self) -> int | None:
        """How many numbers a vector has, if any was made."""
        return self._embedding.dim

    def end(self) -> None:
        self.flush()
        self._embedding.end()

    def flush(self) -> None:
        """Embed and write what was collected."""
        fresh = self._embed_missing()
        records: list[Record] = []
        stale: list[str] = []
        for pending in self._pending:
            if pending.old_ids:
                kept = {row.id for row in pending.rows}
                stale += [old for old in pending.old_ids if old not in kept]
            for row, text in zip(pending.rows, pending.texts, strict=True):
                vector = pending.vectors.get(text)
                records.append(_record(row, fresh[text] if vector is None else vector))
        if self.probes is not None:
            self.probes.see([record.vector for record in records])
        others = self._in_other_spaces()
        self._store.delete_records(stale)
        for start in range(0, len(records), _PUT):  # one artifact may be a book
            self._store.put_records(records[start : start + _PUT], space=self.space)
        for space, vectors in others.items():
            self._store.put_vectors(space, vectors)
        entries = {ledger_key(pending.entry["artifact_id"]): pending.entry for pending in self._pending}
        self._store.set_ledger_entries({**self._parts, **entries})
        self._pending, self._parts, self._texts, self._characters = [], {}, 0, 0

    def _in_other_spaces(self) -> dict[str, dict[str, Vector]]:
        """What other models made of texts that are as they were: a record that is written anew loses its vectors."""
        changed = [pending for pending in self._pending if pending.old_ids]
        own = self.space or self._store.default_space
        spaces = [space for space in self._store.spaces() if space != own] if changed else []
        found: dict[str, dict[str, Vector]] = {}
        for pending in changed if spaces else ():
            texts = {
                record.id: embedding_text(record.text, record.metadata)
                for record in self._store.get_records(list(pending.old_ids))
            }
            for space in spaces:
                held = self._store.get_vectors(list(texts), space=space)
                known = {texts[record_id]: vector for record_id, vector in held.items()}
                kept = {
                    row.id: known[text] for row, text in zip(pending.rows, pending.texts, strict=True) if text in known
                }
                if kept:
                    found.setdefault(space, {}).update(kept)
        return found

    def _embed_missing(self) -> dict[str, Vector]:
        missing: dict[str, None] = {}
        for pending in self._pending:
            for text in pending.texts:
                if text in pending.vectors:
                    self._report.reused += 1
                else:
                    missing[text] = None
        fresh: dict[str, Vector] = {}
        if self.held is not None and missing:
            fresh.update(self.held(list(missing)))
            self._report.reused += len(fresh)
        # Texts of like length side by side: a model pads each batch to its longest.
        texts = sorted((text for text in missing if text not in fresh), key=len)
        for batch, vectors in self._embedding(texts, self._more(texts)):
            fresh.update(zip(batch, vectors, strict=True))
            self._report.embedded += len(batch)
        return fresh

    def _more(self, texts: Sequence[str]) -> More | None:
        """How many texts will follow these, and how long they are."""
        to_come = self.to_come()
        if to_come is None:
            return None
        passed = self._embedding.texts + len(texts)
        # Where artifacts are cut, larger ones make more texts; else they make longer ones.
        each = to_come.size if passed > 2 * self._artifacts else to_come.items
        return More(passed * each, (self._embedding.characters + sum(map(len, texts))) * to_come.size)

    def _held_vectors(self, record_ids: Sequence[str]) -> dict[str, Vector]:
        vectors = {}
        for record_id in record_ids:
            try:
                record = self._store.get_record(record_id)
            except KeyError:
                continue
            vectors[embedding_text(record.text, record.metadata)] = record.vector
        return vectors


def _record(row: Row, vector: Vector) -> Record:
    return Record(row.id, row.artifact_id, row.surface_kind, row.surface_index, row.text, vector, row.metadata)


def _reader(embedder: Any) -> Callable[[str], bool]:
    """Whether an embedder reads all of a text, as far as it says how much it reads."""
    limit = getattr(embedder, "max_tokens", None)
    if not isinstance(limit, int) or limit <= 0:
        return lambda text: True
    from ir.strategy import estimate_tokens

    count = getattr(embedder, "count_tokens", None) or estimate_tokens
    return lambda text: count(text) <= limit
