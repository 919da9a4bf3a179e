"""Builds on a real Ray cluster of this machine: the same corpus as without it, also when workers are killed."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import reason_for

pytest.importorskip("ray", reason=reason_for("ray"))

import ray

from ir.base import IndexPlan
from ir.errors import CorpusError, EmbedderError, InvalidInput
from ir.index import build
from ir.index.parallel import build_on_ray
from ir.sources import CorpusSource
from ir.store import CorpusStore
from ir.strategy import Chunked
from ir.transfer import tally

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    for attempt in range(3):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            break
        except Exception:  # on a busy machine the parts of a cluster may miss each other
            ray.shutdown()
            if attempt == 2:
                raise
    yield "local"
    ray.shutdown()
    gc.collect()  # what Ray has started and dropped would be warned of in whichever test comes later


@dataclass(frozen=True)
class DeadlyStrategy:
    """Kills the process that first takes apart the artifact ``victim``."""

    scene: str
    victim: str

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        with open(f"{self.scene}/decomposed", "a") as log:
            log.write(f"{artifact_id}\n")
        if artifact_id == self.victim and _first(f"{self.scene}/strategy"):
            os.kill(os.getpid(), signal.SIGKILL)
        if raw == "broken":
            raise ValueError("cannot be taken apart")
        return Chunked(chunk_size=40, overlap=0).decompose(artifact_id, raw, metadata)


class DeadlyEmbedder:
    """Kills the process that first embeds a text about ``word``."""

    id = "deadly"
    fingerprint = "deadly"
    cacheable = False

    def __init__(self, scene: str, word: str) -> None:
        self.scene = scene
        self.word = word

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        if any(self.word in text for text in texts) and _first(f"{self.scene}/embedder"):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.array([[len(text), sum(map(ord, text)) % 97, 1.0] for text in texts], dtype=np.float32)


def _first(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


TEXTS = {f"doc {at}": f"Document {at} is about topic{at % 7}. " * (1 + at % 5) for at in range(150)}


def source_of(scene: Path, texts: Mapping[str, str] = TEXTS) -> CorpusSource:
    return CorpusSource.from_mapping(texts, name="n", strategy=DeadlyStrategy(str(scene), "doc 70"))


def test_killed_workers_lose_nothing_and_write_nothing_twice(cluster: str, tmp_path: Path) -> None:
    store, expected = CorpusStore.memory(), CorpusStore.memory()
    embedder = DeadlyEmbedder(str(tmp_path), "topic3")
    corpus = build_on_ray(source_of(tmp_path), address=cluster, store=store, embedder=embedder)
    assert (tmp_path / "strategy").exists()
    assert (tmp_path / "embedder").exists()
    report = corpus.report
    assert report is not None
    assert (sorted(report.added), report.failed) == (sorted(TEXTS), [])
    decomposed = (tmp_path / "decomposed").read_text().splitlines()
    assert decomposed.count("doc 70") == 2
    build(source_of(tmp_path), store=expected, embedder=embedder)
    assert tally(store) == tally(expected)
    assert report.embedded == len({store.get_record(name).text for name in store.record_ids()})


def test_only_what_changed_goes_out(cluster: str, tmp_path: Path) -> None:
    store = CorpusStore.memory()
    build_on_ray(source_of(tmp_path), address=cluster, store=store, embedder="light", floor=False)
    (tmp_path / "decomposed").unlink()
    texts = {**TEXTS, "doc 3": "Something else.", "new": "And more.", "bad": "broken"}
    texts.pop("doc 9")
    report = build_on_ray(
        source_of(tmp_path, texts), address=cluster, store=store, embedder="light", floor=False
    ).report
    assert report is not None
    assert (report.added, report.changed, report.removed) == (["new"], ["doc 3"], ["doc 9"])
    assert [(problem.id, "cannot be taken apart" in problem.reason) for problem in report.failed] == [("bad", True)]
    assert sorted((tmp_path / "decomposed").read_text().split("\n")) == ["", "bad", "doc 3", "new"]
    assert store.get_config()["embedder"] == "light"
    expected = CorpusStore.memory()
    build(source_of(tmp_path, texts), store=expected, embedder="light", floor=False)
    assert tally(store) == tally(expected)


def test_an_embedder_that_fails_changes_nothing(cluster: str, tmp_path: Path) -> None:
    class Failing(DeadlyEmbedder):
        def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
            raise RuntimeError("out of tokens")

    store = CorpusStore.memory()
    with pytest.raises(EmbedderError, match="out of tokens"):
        build_on_ray(source_of(tmp_path), address=cluster, store=store, embedder=Failing(str(tmp_path), "x"))
    assert (len(store), store.get_config()) == (0, {})


def test_a_worker_that_dies_every_time_ends_the_build(cluster: str, tmp_path: Path) -> None:
    class Poison(DeadlyEmbedder):
        def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
            os.kill(os.getpid(), signal.SIGKILL)

    store = CorpusStore.memory()
    few = {name: TEXTS[name] for name in list(TEXTS)[:3]}
    with pytest.raises(CorpusError, match="Nothing was changed in the corpus"):
        build_on_ray(source_of(tmp_path, few), address=cluster, store=store, embedder=Poison(str(tmp_path), "x"))
    assert (len(store), store.get_config()) == (0, {})


def test_what_cannot_travel_is_taken_apart_here(cluster: str, tmp_path: Path) -> None:
    class Stubborn(str):
        __slots__ = ("lock",)

        def __reduce__(self) -> Any:
            raise TypeError("stays here")

    texts = {"a": Stubborn("Some text that stays."), "b": Stubborn("More of it.")}
    store = CorpusStore.memory()
    report = build_on_ray(source_of(tmp_path, texts), address=cluster, store=store, embedder="light").report
    assert report is not None
    assert sorted(report.added) == ["a", "b"]
    assert len(store) == 2


def test_addresses_are_checked() -> None:
    source = CorpusSource.from_mapping({"a": "b"}, name="n")
    with pytest.raises(InvalidInput, match="address of the Ray cluster is empty"):
        build_on_ray(source, address=" ", store=CorpusStore.memory(), embedder="light")
