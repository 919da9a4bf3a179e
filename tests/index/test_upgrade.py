"""A corpus that answers by a fast model first, and by a better one once that has read everything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny

from ir.index import Corpus, build, open_corpus, refresh_if_cheap
from ir.index.spaces import use_space
from ir.index.upgrade import Upgrade, build_fast, built_by, forget, missing, run, upgrade_of
from ir.retrieve import search
from ir.select.gate import AUTOMATIC
from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore
from ir.store.base import BaseStore
from ir.strategy import Chunked


@pytest.fixture
def better(tmp_path: Path) -> str:
    """A real network, small enough for a test."""
    return str(tiny.write_bert(tmp_path / "better"))


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BaseStore:
    return CorpusStore.memory() if request.param == "memory" else CorpusStore.local(tmp_path / "corpus")


def texts(count: int = 30) -> dict[str, str]:
    words = ("tea", "water", "bread", "dough", "green", "hot")
    return {f"n{number:03}": f"{words[number % 6]} the {words[number % 5]} number {number}" for number in range(count)}


def source(items: Mapping[str, Any]) -> CorpusSource:
    return CorpusSource.from_mapping(dict(items), name="kitchen")


def fast(store: BaseStore, items: Mapping[str, Any], better: str, **keywords: Any) -> Corpus:
    if upgrade_of(store) is None:
        keywords |= {"fast": "light", "to": better, "window": 40}
    return build_fast(source(items), store=store, **keywords)


def vectors(store: BaseStore) -> dict[str, np.ndarray]:
    return store.get_vectors(store.record_ids())


def assert_as_built(store: BaseStore, items: Mapping[str, Any], better: str) -> None:
    """The default space holds what a fresh build by the better model holds."""
    fresh = CorpusStore.memory()
    build(source(items), store=fresh, embedder=better)
    held, made = vectors(store), vectors(fresh)
    assert held.keys() == made.keys()
    for record_id, row in made.items():
        np.testing.assert_allclose(held[record_id], row, rtol=1e-4, atol=1e-5)


def test_the_fast_model_answers_until_the_better_one_has_read_everything(store: BaseStore, better: str) -> None:
    corpus = fast(store, texts(), better)
    assert corpus.embedder_id == "light-512-v1"
    hits = search(corpus, "bread", mode="hybrid")
    assert hits.meta["answered_by"] == {
        "words": True,
        "space": "main",
        "embedder": "light-512-v1",
        "upgrading": {"to": better, "done": 0.0},
    }
    assert run(store, "kitchen") == 30
    told = upgrade_of(store)
    assert told is not None
    assert (told.done, told.better, told.fast) == (True, "better", "main")
    after = search(corpus, "bread", mode="hybrid")  # by the corpus that was opened before
    assert after.meta["answered_by"] == {"words": True, "space": "better", "embedder": "better"}
    assert corpus.embedder_id == "better"
    assert_as_built(store, texts(), better)
    assert run(store, "kitchen") == 0


def test_the_better_space_comes_with_its_floor(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    before = store.get_calibration(AUTOMATIC)
    assert before is not None
    assert before["embedder_id"] == "light-512-v1"
    seen: list[tuple[str | None, str]] = []

    def look(done: int, total: int) -> None:
        record = store.get_calibration(AUTOMATIC)
        seen.append((record and record["embedder_id"], store.get_config()["embedder_id"]))

    run(store, "kitchen", kept=look)
    now = store.get_calibration(AUTOMATIC)
    assert now is not None
    assert now["embedder_id"] == "better"
    assert now["min_score"] != before["min_score"]
    assert {floor == model for floor, model in seen} == {True}
    corpus = Corpus("kitchen", store, better, "better")
    use_space(corpus, "main")
    assert store.get_calibration(AUTOMATIC) == before
    use_space(corpus, "better")
    assert store.get_calibration(AUTOMATIC) == now


def test_a_few_changes_are_read_by_the_better_model_at_once(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    run(store, "kitchen")
    items = {**texts(), "n000": "dough dough dough", "new": "green bread"}
    del items["n001"]
    corpus = fast(store, items, better)
    assert corpus.embedder_id == "better"
    assert upgrade_of(store) == Upgrade("main", better, 40, "better", True)
    assert corpus.report is not None
    assert (corpus.report.added, corpus.report.changed, corpus.report.removed) == (["new"], ["n000"], ["n001"])
    assert_as_built(store, items, better)
    assert store.unembedded(space="main") == []


def test_many_changes_are_answered_by_the_fast_model_until_the_better_one_has_caught_up(
    store: BaseStore, better: str
) -> None:
    fast(store, texts(), better)
    run(store, "kitchen")
    items = {**texts(), **{f"n{number:03}": f"hot dough {number}" for number in range(9)}}
    corpus = fast(store, items, better, few=5)
    assert corpus.embedder_id == "light-512-v1"
    told = upgrade_of(store)
    assert told is not None
    assert missing(store, told) == 9
    hits = search(corpus, "hot dough", mode="dense", k=9)
    assert {hit.artifact_id for hit in hits} <= items.keys()
    assert hits.meta["answered_by"]["upgrading"] == {"to": better, "done": 0.7}
    record = store.get_calibration(AUTOMATIC)
    assert record is None or record["embedder_id"] == "light-512-v1"
    assert run(store, "kitchen") == 9
    assert_as_built(store, items, better)


def test_a_build_that_finds_nothing_to_do_writes_nothing(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    run(store, "kitchen")
    version, config = store.version, store.get_config()
    assert fast(store, texts(), better).embedder_id == "better"
    assert store.get_config() == config
    if isinstance(store, LocalStore):  # the other counts what was undone too
        assert store.version == version


def test_what_changes_during_the_work_is_read_before_the_switch(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    items = {**texts(), "n000": "hot hot hot", "new": "green bread"}
    del items["n001"]
    changed = False

    def kept(done: int, total: int) -> None:
        nonlocal changed
        if not changed:  # after the ids of what is to be embedded were read
            changed = True
            fast(store, items, better)

    run(store, "kitchen", kept=kept)
    told = upgrade_of(store)
    assert told is not None
    assert told.done
    assert_as_built(store, items, better)


def test_a_vector_of_a_text_that_was_replaced_meanwhile_is_not_kept(
    store: BaseStore, better: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast(store, texts(), better)
    items = {**texts(), "n000": "hot hot hot"}
    import ir.index.upgrade as module

    written, once = module._written, []

    def late(*given: Any) -> int:
        if not once:
            once.append(1)
            fast(store, items, better)
        return written(*given)

    monkeypatch.setattr(module, "_written", late)
    run(store, "kitchen")
    assert_as_built(store, items, better)


def test_what_was_made_stays_if_it_is_broken_off(
    store: BaseStore, better: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir.index.upgrade._FIRST", 10)
    monkeypatch.setattr("ir.index.upgrade._MOST", 10)
    monkeypatch.setattr("ir.index.upgrade._LEAST", 10)
    fast(store, texts(), better)
    steps: list[tuple[int, int]] = []
    made = run(store, "kitchen", wanted=lambda: len(steps) < 3, kept=lambda *step: steps.append(step))
    assert (made, steps) == (20, [(0, 30), (10, 30), (20, 30)])
    told = upgrade_of(store)
    assert told is not None
    assert (told.done, missing(store, told)) == (False, 10)
    assert run(store, "kitchen") == 10
    assert_as_built(store, texts(), better)


def test_texts_are_cut_as_the_better_model_reads_them(store: BaseStore, better: str) -> None:
    items = {"long": " ".join(f"tea water {number}" for number in range(200)), "short": "bread"}
    made = CorpusSource.from_mapping(items, name="kitchen", strategy=Chunked())
    build_fast(made, store=store, fast="light", to=better, window=40)
    run(store, "kitchen")
    fresh = CorpusStore.memory()
    build(made, store=fresh, embedder=better)
    assert sorted(store.record_ids()) == sorted(fresh.record_ids())
    assert store.get_config()["strategy_id"] == fresh.get_config()["strategy_id"]


def test_a_corpus_that_is_given_a_model_keeps_that_one(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    run(store, "kitchen")
    forget(store)
    assert upgrade_of(store) is None
    assert list(store.spaces()) == ["better"]
    assert_as_built(store, texts(), better)
    build(source(texts()), store=store, embedder="light")
    assert upgrade_of(store) is None


def test_a_build_by_the_library_makes_what_it_is_asked_for(store: BaseStore, better: str) -> None:
    fast(store, texts(), better)
    built = build(source(texts(33)), store=store, embedder=better)
    assert built.embedder_id == "better"
    assert_as_built(store, texts(33), better)
    assert upgrade_of(store) is None
    assert run(store, "kitchen") == 0


def test_a_model_that_is_gone_is_told(store: BaseStore, better: str) -> None:
    corpus = fast(store, texts(), better)
    Path(better).rename(f"{better}-away")
    with pytest.raises(Exception, match="better"):
        run(store, "kitchen")
    assert search(corpus, "bread")


def test_a_refresh_keeps_a_corpus_complete_unless_told_that_somebody_sees_to_it(tmp_path: Path, better: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in texts(12).items():
        (folder / f"{name}.txt").write_text(text)
    files = CorpusSource.from_files(folder, name="kitchen", all_text=True)
    store = CorpusStore.local("kitchen")
    build_fast(files, store=store, fast="light", to=better, window=40)
    (folder / "new.txt").write_text("green dough")
    assert refresh_if_cheap(files, scan_ms=60_000).changed == 1
    assert open_corpus("kitchen").embedder_id == "light-512-v1"
    assert store.get_config()["strategy_id"].count("40") == 1  # nothing else was taken apart again
    run(store, "kitchen")
    for number in range(4):
        (folder / f"more{number}.txt").write_text(f"hot water {number}")
    assert refresh_if_cheap(files, scan_ms=60_000, few=2).changed == 4
    told = upgrade_of(store)
    assert told is not None
    assert (told.done, missing(store, told)) == (False, 4)
    run(store, "kitchen")
    (folder / "last.txt").write_text("green tea")
    assert refresh_if_cheap(files, scan_ms=60_000).changed == 1
    assert built_by(store) == better
    assert store.unembedded() == []
