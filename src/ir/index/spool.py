"""The old rows of a corpus set aside while another embedder fills it anew."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import Any, TextIO

from ir.base import Row
from ir.protocols import Store

__all__ = ["Spool"]

_BATCH = 1000


class Spool:
    """Takes every record out of a store, keeping text and metadata in a temporary file.

    Vectors of two embedders cannot stand side by side, so all old ones leave before the first new one comes. What a
    source cannot deliver again, because it failed or is out of scope, is then embedded from here.
    """

    def __init__(self, store: Store) -> None:
        import tempfile

        self._file: TextIO = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - closed by close()
        doomed: list[str] = []
        for _, entry in store.ledger_items():
            rows = list(_rows(store, entry["record_ids"]))
            self._file.write(json.dumps([entry, rows]) + "\n")
            doomed += entry["record_ids"]
            if len(doomed) >= _BATCH:
                store.delete_records(doomed)
                doomed = []
        store.delete_records(doomed)
        store.delete_records(store.record_ids())  # those that no ledger entry names cannot be embedded again

    def entries(self, wanted: Container[str]) -> Iterator[tuple[dict[str, Any], list[Row]]]:
        """The ledger entries and rows of the ``wanted`` artifacts."""
        self._file.seek(0)
        for line in self._file:
            entry, rows = json.loads(line)
            if entry["artifact_id"] in wanted:
                yield entry, [Row(*row) for row in rows]

    def close(self) -> None:
        self._file.close()


def _rows(store: Store, record_ids: list[str]) -> Iterator[Row]:
    for record_id in record_ids:
        with suppress(KeyError):
            record = store.get_record(record_id)
            yield Row(
                record.id, record.artifact_id, record.surface_kind, record.surface_index, record.text, record.metadata
            )
