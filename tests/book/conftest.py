"""Small corpora whose scores and links a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Record, ledger_key
from ir.links import Edge, Node
from ir.store import CorpusStore, LocalStore


def embed(texts: list[str]) -> np.ndarray:
    """Every query points along the first axis, so that a record's cosine is its first number."""
    return np.array([[1.0, 0.0] for _ in texts], dtype=np.float32)


embed._ir_id = "plane"  # type: ignore[attr-defined]

Made = Callable[..., ir.Corpus]


def linked_corpus(
    store: Any,
    cosines: Mapping[str, float],
    edges: Sequence[tuple[str, str]] = (),
    *,
    texts: Mapping[str, str] | None = None,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    relation: str = "refers_to",
    nodes: Sequence[Node] = (),
) -> ir.Corpus:
    """A corpus of one record for each artifact, with the cosine of every query to it, and edges of one relation."""
    with store.transaction():
        records = []
        for name, cosine in cosines.items():
            vector = np.array([cosine, sqrt(max(0.0, 1 - cosine**2))], dtype=np.float32)
            text = (texts or {}).get(name, f"text of {name}")
            about = dict((metadata or {}).get(name, {}))
            record = Record(Record.make_id(name, "document", 0), name, "document", 0, text, vector, about)
            records.append(record)
            store.set_ledger_entry(ledger_key(name), {"artifact_id": name, "record_ids": [record.id]})
        store.put_records(records)
        store.put_nodes(nodes)
        out: dict[str, list[Edge]] = {}
        for source, target in edges:
            out.setdefault(source, []).append(Edge(source, relation, target))
        store.set_edges(out)
        store.set_config({"name": "plane", "embedder_id": "plane"})
    return ir.Corpus("plane", store, embed, "plane")  # type: ignore[arg-type]


@pytest.fixture(params=["memory", "local"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    def make(*given: Any, **options: Any) -> ir.Corpus:
        store = CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / "corpus")
        return linked_corpus(store, *given, **options)

    return make
