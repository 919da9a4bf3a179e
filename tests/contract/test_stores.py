"""Every store that keeps a corpus in mappings does what a store does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pytest

from ir.store import CorpusStore
from ir.testing.contracts import StoreContract


def to_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def from_bytes(data: bytes) -> Any:
    return np.load(io.BytesIO(data))


def by_quoted_names(mapping: Any, **codec: Any) -> Any:
    import dol

    return dol.wrap_kvs(
        mapping, id_of_key=lambda key: quote(key, safe=""), key_of_id=lambda name: unquote(name), **codec
    )


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> CorpusStore:
        return CorpusStore.memory()


class TestDictStore(StoreContract):
    """The views that may be left out are left out."""

    @pytest.fixture
    def store(self) -> CorpusStore:
        return CorpusStore(meta={}, vectors={}, ledger={}, config={})


class TestDolFileStore(StoreContract):
    """JSON files and numpy files in folders, through ``dol``."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> CorpusStore:
        import dol

        views = ("meta", "vectors", "ledger", "config", "calibration", "links")
        for view in views:
            (tmp_path / view).mkdir()
        mappings = {view: by_quoted_names(dol.JsonFiles(str(tmp_path / view))) for view in views if view != "vectors"}
        files = dol.Files(str(tmp_path / "vectors"))
        vectors = by_quoted_names(files, data_of_obj=to_bytes, obj_of_data=from_bytes)
        return CorpusStore(vectors=vectors, **mappings)
