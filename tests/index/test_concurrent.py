"""One build and everybody else: readers keep the old corpus, a second builder is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ir.errors import CorpusBusy
from ir.index import Progress, build
from ir.sources import CorpusSource
from ir.store import LocalStore

from .conftest import Axes

SourceOf = Callable[..., CorpusSource]
NOTES = {f"n{number}": f"note number {number}" for number in range(40)}


def test_readers_keep_the_old_corpus_until_the_build_ends(tmp_path: Path, source_of: SourceOf) -> None:
    with LocalStore(tmp_path / "c") as writer, LocalStore(tmp_path / "c") as reader:
        build(source_of(NOTES), store=writer, embedder=Axes(4, name="four"))
        version = reader.version
        seen: list[tuple[str, int, int]] = []

        def look(step: Progress) -> None:
            if step.stage == "embed":
                dim = len(reader.get_record(reader.record_ids()[0]).vector)
                seen.append((reader.version, len(reader), dim))

        build(source_of({"only": "one"}), store=writer, embedder=Axes(6, name="six"), batch_size=4, progress=look)
        assert seen
        assert set(seen) == {(version, 40, 4)}
        assert (len(reader), reader.get_config()["embedder_id"]) == (1, "six")


def test_a_second_builder_is_told_and_changes_nothing(tmp_path: Path, source_of: SourceOf) -> None:
    with LocalStore(tmp_path / "c") as first, LocalStore(tmp_path / "c", lock_timeout=0) as second:
        build(source_of(NOTES), store=first)
        version = first.version
        with first.transaction(), pytest.raises(CorpusBusy):
            build(source_of({"only": "one"}), store=second)
        assert (first.version, len(first)) == (version, 40)
        report = build(source_of({"only": "one"}), store=second).report
        assert report is not None
        assert len(report.removed) == 40
