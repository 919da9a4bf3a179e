"""The same small corpora, in memory and in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Record, ledger_key
from ir.store import CorpusStore, LocalStore

Rows = list[tuple[str, str, str, list[float], Mapping[str, Any]]]


def embed(texts: list[str]) -> np.ndarray:
    """A query is its own vector: ``"1 0"`` points along the first axis; anything else along the diagonal."""

    def row(text: str) -> list[float]:
        try:
            values = [float(part) for part in text.split()[:2]]
        except ValueError:
            values = []
        return values if len(values) == 2 else [1.0, 1.0]

    return np.array([row(text) for text in texts], dtype=np.float32)


embed._ir_id = "plane"  # type: ignore[attr-defined]


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CorpusStore:
    return CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / "corpus")


@pytest.fixture
def corpus_of(store: CorpusStore) -> Callable[[Rows], ir.Corpus]:
    """A corpus of ``(artifact, kind, text, vector, metadata)`` rows."""

    def make(rows: Rows) -> ir.Corpus:
        by_artifact: dict[str, list[str]] = {}
        with store.transaction():
            records = []
            for artifact, kind, text, vector, metadata in rows:
                held = by_artifact.setdefault(artifact, [])
                record_id = Record.make_id(artifact, kind, len(held))
                records.append(
                    Record(
                        record_id, artifact, kind, len(held), text, np.array(vector, dtype=np.float32), dict(metadata)
                    )
                )
                held.append(record_id)
            store.put_records(records)
            for artifact, ids in by_artifact.items():
                store.set_ledger_entry(ledger_key(artifact), {"artifact_id": artifact, "record_ids": ids})
            store.set_config({"name": "plane", "embedder_id": "plane"})
        return ir.Corpus("plane", store, embed, "plane")

    return make
