"""A corpus on a server gets better as one on this machine does; its job is known by its name."""

from __future__ import annotations

from pathlib import Path

from tests.models import tiny
from tests.store.postgres.fixtures import new_corpus_url

from ir.config.paths import jobs_dir
from ir.index.upgrade import build_fast, upgrade_of
from ir.index.upgrade_job import do, folder_of, standing
from ir.sources import CorpusSource
from ir.store import CorpusStore


def test_the_better_model_takes_over_and_catches_up(tmp_path: Path) -> None:
    better = str(tiny.write_bert(tmp_path / "better"))
    items = {f"n{number}": f"tea water {number}" for number in range(20)}
    with CorpusStore.open(new_corpus_url()) as store:
        first = CorpusSource.from_mapping(items, name="kitchen")
        build_fast(first, store=store, fast="light", to=better, window=40)
        told = standing(store, "kitchen")
        assert told is not None
        assert (told.done, told.total, folder_of(store, "kitchen")) == (0, 20, jobs_dir("kitchen"))
        assert do(store, "kitchen") == 20
        build_fast(CorpusSource.from_mapping({**items, "x": "bread"}, name="kitchen"), store=store)
        assert (store.get_config()["embedder_id"], store.unembedded()) == ("better", [])
        more = CorpusSource.from_mapping({**items, "x": "bread", "y": "hot dough", "z": "green tea"}, name="kitchen")
        build_fast(more, store=store, few=1)
        assert store.get_config()["embedder_id"] == "light-512-v1"
        assert do(store, "kitchen") == 2
        held = upgrade_of(store)
        assert held is not None
        assert (held.done, store.unembedded()) == (True, [])
