"""Finding all stored records of one artifact."""

from __future__ import annotations

from ir.base import Record, ledger_key
from ir.errors import NoLedgerEntry
from ir.protocols import Store, StoreOrName

__all__ = ["records_for_artifact", "store_of"]


def store_of(store_or_corpus: StoreOrName) -> Store:
    """The store behind a store, a corpus or a corpus name; no embedder is loaded."""
    from ir.index.opening import as_store

    return as_store(store_or_corpus)


def records_for_artifact(
    store_or_corpus: StoreOrName, artifact_id: str, *, surface_kind: str | None = None
) -> list[Record]:
    """All stored records of an artifact in plan order, or those of one kind.

    The ledger says which they are. ``NoLedgerEntry`` if it does not know the artifact, ``KeyError`` if it names a
    record that is gone.
    """
    store = store_of(store_or_corpus)
    key = ledger_key(artifact_id)
    entry = store.get_ledger_entry(key)
    if entry is None:
        raise NoLedgerEntry(
            f"The corpus has no entry for the artifact {artifact_id!r}.",
            remedy="It was never indexed here: check the id, or build the corpus again.",
        )
    records = []
    for record_id in entry.get("record_ids", ()):
        try:
            records.append(store.get_record(record_id))
        except KeyError as error:
            raise KeyError(
                f"The ledger entry of {artifact_id!r} names the record {record_id!r}, which is not stored. "
                f"Remove the entry with delete_ledger_entry({key!r}) and build the corpus again."
            ) from error
    records.sort(key=lambda record: record.surface_index)
    return [record for record in records if surface_kind is None or record.surface_kind == surface_kind]
