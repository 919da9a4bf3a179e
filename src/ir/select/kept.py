"""The bodies of what has no file of its own: kept in the index, or in the file that holds many of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ir.base import SearchHit, ledger_key
from ir.errors import IrError
from ir.index.opening import as_store
from ir.protocols import StoreOrName
from ir.select.payload import Payload

__all__ = ["Home", "kept_body"]

#: Where the records of hits are: one corpus, or one for each source by its name.
Home: TypeAlias = "StoreOrName | Mapping[str, StoreOrName]"


def kept_body(hit: SearchHit, corpus: Home | None) -> Payload:
    """The whole record or tool that a hit stands for.

    ``corpus`` is a corpus, a store, a name, or a mapping from source names to them. A record in a file of JSON lines
    is read there as it is now; others are as they were when the index was built.
    """
    home = corpus.get(hit.source or "") if isinstance(corpus, Mapping) else corpus
    if home is None:
        return Payload(None, "not read: it has no file of its own; give corpus=, a loader or a store")
    try:
        store = as_store(home)
        entry = store.get_ledger_entry(ledger_key(hit.artifact_id)) or {}
        if isinstance(entry.get("body"), str):
            return Payload(entry["body"])
        bodies = store.get_config().get("bodies")
    except IrError as error:
        return Payload(None, f"unreadable: {error.message}")
    if not isinstance(bodies, Mapping):
        return Payload(None, "not kept: what it was made from has no file, and the index holds only what is ranked")
    return _from_file(Path(str(bodies.get("file"))), hit.artifact_id, bodies.get("id_key"))


def _from_file(file: Path, artifact_id: str, id_key: Any) -> Payload:
    from ir.sources.records import find_record

    try:
        record = find_record(file, artifact_id, id_key if isinstance(id_key, str) else None)
    except OSError as error:
        return Payload(None, f"unreadable: {file}: {error.strerror or error}")
    if record is None:
        return Payload(None, f"unreadable: {file} has no record {artifact_id!r} any more")
    return Payload(json.dumps(record, ensure_ascii=False, indent=2))
