"""How far a build is and how long the rest takes, as it is told while the build runs."""

from __future__ import annotations

import json
import pickle
from collections import UserDict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from ir import CorpusSource, CorpusStore
from ir.embed import FAST
from ir.index import Corpus, Estimate, Progress, build
from ir.index import embedding as embedding_module
from ir.index import progress as progress_module
from ir.index.progress import Pace, Ticker
from ir.index.spaces import add_space
from ir.store import LocalStore

#: Seconds for a character.
COST = 2e-5


class Clock:
    """Time that passes only where a test says so: how busy the machine is makes no difference."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1e-6
        return self.now

    perf_counter = monotonic


CLOCK = Clock()


def slow(texts: Sequence[str], **_: Any) -> Any:
    """An embedder that takes its time by the length of texts."""
    CLOCK.now += COST * sum(map(len, texts))
    return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)


class Log(list[tuple[float, Progress]]):
    """The steps, and when they came."""

    def __call__(self, step: Progress) -> None:
        self.append((CLOCK.monotonic(), step))

    @property
    def embedding(self) -> list[tuple[float, Progress]]:
        return [(at, step) for at, step in self if step.stage == "embed"]

    @property
    def estimates(self) -> list[tuple[float, Estimate]]:
        return [(at, step.estimate) for at, step in self if step.estimate is not None]


def skewed(count: int = 400) -> dict[str, str]:
    """Short texts first, then long ones: a count of texts says nothing about the time."""
    return {f"{number:04}": f"{number} " + "word " * (4 + 200 * (number > count / 2)) for number in range(count)}


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_module, "LONG_S", 0.5)
    for module in (embedding_module, progress_module):
        monkeypatch.setattr(module, "time", CLOCK)
    monkeypatch.setattr(embedding_module, "_STEP_S", 0.1)  # as long a part of these short builds as it is of long ones


def built(source: CorpusSource, **options: Any) -> Log:
    log = Log()
    build(source, store=CorpusStore.memory(), embedder=slow, floor=False, progress=log, **options)
    return log


def assert_true(log: Log) -> None:
    """What was estimated, and the time left in the middle of it, is within a factor of two of what it took."""
    ended = log.embedding[-1][0]
    (at, estimate), *more = log.estimates
    assert not more
    assert 0.5 < estimate.seconds / (ended - at) < 2
    middle = [(at, step) for at, step in log.embedding if 0.25 < (at - log[0][0]) / (ended - log[0][0]) < 0.75]
    assert middle
    assert 0.5 < median((step.left_s or 0.0) / (ended - at) for at, step in middle) < 2


@pytest.mark.parametrize("batch_size", [256, 4])
def test_an_estimate_comes_first_and_is_near(batch_size: int) -> None:
    """Of a mapping all sizes are known, also while only its short texts were seen."""
    log = built(CorpusSource.from_mapping(skewed(), name="skewed"), batch_size=batch_size)
    assert_true(log)
    _, estimate = log.estimates[0]
    assert estimate.texts == pytest.approx(400, rel=0.1)
    assert (estimate.faster, (estimate.faster_s or 99) < estimate.seconds) == (FAST, True)


def test_the_sizes_of_files_are_known(tmp_path: Path) -> None:
    for name, text in skewed(200).items():
        (tmp_path / f"{name}.md").write_text(text)
    assert_true(built(CorpusSource.from_files(tmp_path, name="files"), batch_size=4))


def test_a_source_without_sizes_is_judged_by_what_came() -> None:
    texts = {f"{number}": f"{number} " + "word " * 100 for number in range(200)}
    log = built(CorpusSource("opaque", UserDict(texts)), batch_size=4)
    assert_true(log)
    assert log.embedding[0][1].about


def test_a_short_build_announces_nothing() -> None:
    log = built(CorpusSource.from_mapping({"a": "one", "b": "two"}, name="small"))
    assert not log.estimates
    assert log[-1][1] == ("write", 1, 1)


def test_steps_take_about_a_second_however_large_the_batch() -> None:
    """Or nobody would hear of a slow model for minutes."""
    texts = {f"{number}": "x" * 10_000 + str(number) for number in range(60)}
    log = built(CorpusSource.from_mapping(texts, name="long"), batch_size=1000)
    done = [step.done for _, step in log.embedding]
    assert len(done) >= 4
    assert done == sorted(done)
    assert done[-1] == 60


def test_vectors_that_are_kept_cost_nothing(tmp_path: Path) -> None:
    """A build that goes on where another was killed knows what is left."""
    calls: list[int] = []

    def counting(texts: Sequence[str], **_: Any) -> Any:
        calls.append(len(texts))
        return slow(texts)

    counting._ir_id = "counting-v1"  # type: ignore[attr-defined]
    texts = skewed()
    some = dict(list(texts.items())[200:])  # the long ones
    build(CorpusSource.from_mapping(some, name="some"), store=CorpusStore.memory(), embedder=counting, floor=False)
    log = Log()
    source = CorpusSource.from_mapping(texts, name="all")
    build(source, store=CorpusStore.memory(), embedder=counting, floor=False, progress=log)
    everything = COST * sum(map(len, texts.values()))
    assert all(told.seconds < everything / 2 for _, told in log.estimates)  # the short ones take hardly any time
    assert log.embedding[-1][1] == ("embed", 400, 400)


def test_a_space_and_a_switch_count_to_their_end(tmp_path: Path) -> None:
    source = CorpusSource.from_mapping(skewed(100), name="moving")
    store = LocalStore(tmp_path / "corpus")
    build(source, store=store, embedder="light", floor=False)
    log = Log()
    with store:
        add_space(Corpus("moving", store, "light", "light-512-v1"), "slow", embedder=slow, batch_size=4, progress=log)
    assert log.embedding[-1][1] == ("embed", 100, 100)
    assert_true(log)
    log = Log()
    other = LocalStore(tmp_path / "other")
    build(source, store=other, embedder="light", floor=False)
    build(source, store=other, embedder=slow, floor=False, batch_size=4, progress=log)
    assert log.embedding[-1][1] == ("embed", 100, 100)
    totals = [step.total for _, step in log.embedding]
    assert None not in totals


def test_a_step_is_a_tuple_of_three_that_travels() -> None:
    step = Progress("embed", 3, 9, unit="texts", rate=2.5, left_s=4.0, about=True, estimate=Estimate("m", 9, 40.0))
    stage, done, total = step
    assert (stage, done, total) == step == ("embed", 3, 9)
    assert pickle.loads(pickle.dumps(step)).to_dict() == step.to_dict()
    assert Progress.from_dict(json.loads(json.dumps(step.to_dict()))).to_dict() == step.to_dict()
    assert step.but(part="x").part == "x"
    assert step.part == ""


def test_the_pace_is_that_of_the_latest_half_minute() -> None:
    pace = Pace(now=0.0)
    for second in range(1, 61):
        pace.done(100 * min(second, 20) + max(0, second - 20), now=float(second))  # a cache runs out after 20 s
    assert pace.rate == pytest.approx(1.0)


def test_a_part_ticks_for_the_whole() -> None:
    seen: list[Progress] = []
    whole = Ticker(seen.append, "search", 4)
    for _ in range(2):
        part = Ticker(whole.follow(), "search", 2)
        part.tick()
        part.tick()
        part.end()
    whole.end()
    assert seen[-1] == ("search", 4, 4)
