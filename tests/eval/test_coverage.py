"""Disk versus index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ir.eval import coverage
from ir.index import Corpus


class Scope(Mapping[str, str]):
    """A scope that may fail on reading, knows cheap signals, and tells what it left out."""

    def __init__(
        self, items: dict[str, str], broken: set[str] = frozenset(), stats: dict[str, str] | None = None
    ) -> None:  # type: ignore[assignment]
        self._items, self._broken, self._stats, self.reads = items, broken, stats or {}, 0

    def __getitem__(self, key: str) -> str:
        self.reads += 1
        if key in self._broken:
            raise OSError("permission denied")
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def stat_signal(self, key: str) -> str | None:
        return self._stats.get(key)

    def skipped(self) -> list[Any]:
        return [SimpleNamespace(id="photo.jpg", reason="not text")]


def _source(scope: Scope) -> Any:
    return SimpleNamespace(scope=scope, change_signal=lambda key, raw: raw)


@pytest.fixture
def texts(corpus: Corpus) -> dict[str, str]:
    return {str(entry["artifact_id"]): str(entry["version"]) for _, entry in corpus.store.ledger_items()}


def test_each_artifact_is_where_it_belongs(corpus: Corpus, texts: dict[str, str]) -> None:
    del texts["rose"]
    scope = Scope({**texts, "tea": "changed", "new": "text", "bike": ""}, broken={"bike"})
    report = coverage(_source(scope), corpus)
    assert report.indexed == ("bread", "chess")
    assert report.stale == ("tea",)
    assert report.missing == ("new",)
    assert report.orphaned == ("rose",)
    assert set(report.skipped) == {"bike", "photo.jpg"}
    assert "permission denied" in report.skipped["bike"]
    assert report.share == pytest.approx(2 / 4)
    assert not report.complete
    assert json.loads(json.dumps(report.to_dict()))["stale"] == ["tea"]
    assert "orphaned" in report.table()


def test_a_store_will_do_and_nothing_to_do_is_complete(corpus: Corpus, texts: dict[str, str]) -> None:
    report = coverage(_source(Scope(texts)), corpus.store)
    assert report.complete
    assert report.share == 1.0


def test_an_unchanged_cheap_signal_spares_the_reading(corpus: Corpus, texts: dict[str, str]) -> None:
    for key, entry in list(corpus.store.ledger_items()):
        corpus.store.set_ledger_entry(key, {**entry, "stat": "10 bytes"})
    scope = Scope(texts, stats=dict.fromkeys(texts, "10 bytes"))
    assert coverage(_source(scope), corpus).complete
    assert scope.reads == 0


def test_an_artifact_without_records_is_not_called_indexed(corpus: Corpus, texts: dict[str, str]) -> None:
    for key, entry in list(corpus.store.ledger_items()):
        if entry["artifact_id"] == "tea":
            corpus.store.set_ledger_entry(key, {**entry, "record_ids": []})
    report = coverage(_source(Scope(texts)), corpus)
    assert "tea" not in report.indexed
    assert "tea" in report.skipped
