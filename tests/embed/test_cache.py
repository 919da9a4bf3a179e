"""A vector is computed once, and no failure of the cache is a failure of the build."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.embed import CachedEmbedder, VectorCache, make_embedder


class Counting:
    """An embedder that remembers what it was asked."""

    id = "counting"
    fingerprint = "counting-1"

    def __init__(self, dim: int = 3) -> None:
        self.dim = dim
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        self.seen += texts
        rows = [[len(text) + 0.5 * (input_type == "query")] * self.dim for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), self.dim)


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "deep" / "vectors.db", timeout=0.2)


def test_documents_are_embedded_once(cache: VectorCache) -> None:
    first = CachedEmbedder(Counting(), cache)
    rows = first(["a", "bb", "a", "ccc"])
    assert rows[:, 0].tolist() == [1, 2, 1, 3]
    assert first.embedder.seen == ["a", "bb", "ccc"]  # type: ignore[attr-defined]
    second = CachedEmbedder(Counting(), VectorCache(cache.path))
    assert second(["ccc", "dddd", "a"]).tolist() == [[3.0] * 3, [4.0] * 3, [1.0] * 3]
    assert second.embedder.seen == ["dddd"]  # type: ignore[attr-defined]


def test_the_cache_lies_in_the_users_directory(ir_home: Path) -> None:
    make_embedder(Counting())[0](["a"])
    assert (ir_home / "cache" / "embeddings" / "counting" / "vectors.db").is_file()


def test_queries_are_kept_in_memory_only(cache: VectorCache) -> None:
    embedder = CachedEmbedder(Counting(), cache)
    assert embedder(["q", "q"], input_type="query").tolist() == [[1.5] * 3] * 2
    embedder(["q"], input_type="query")
    assert embedder.embedder.seen == ["q"]  # type: ignore[attr-defined]
    assert not cache.path.exists()
    assert embedder(["q"]).tolist() == [[1.0] * 3]


def test_the_memory_of_queries_is_bounded(cache: VectorCache) -> None:
    embedder = CachedEmbedder(Counting(), cache)
    embedder([f"query {number}" for number in range(3000)], input_type="query")
    assert len(embedder._queries) == 1024


def test_no_texts_no_rows(cache: VectorCache) -> None:
    assert CachedEmbedder(Counting(), cache)([]).shape == (0, 3)


@pytest.mark.slow
def test_a_hundred_thousand_texts_take_little_more_memory_than_their_vectors(cache: VectorCache) -> None:
    texts = [f"text {number}" for number in range(100_000)]
    for embedder in (CachedEmbedder(Counting(64), cache), CachedEmbedder(Counting(64), cache)):
        tracemalloc.start()
        rows = embedder(texts)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert rows.shape == (100_000, 64)
        assert peak < 2.5 * rows.nbytes + 40_000_000
    assert not embedder.embedder.seen  # type: ignore[attr-defined]


def test_odd_texts_have_keys(cache: VectorCache) -> None:
    texts = ["", "\x00", "\ud800", "😀", "x" * 10_000_000]
    cache.put("s", {text: np.full(2, number, np.float32) for number, text in enumerate(texts)})
    assert [cache.get("s", texts)[text][0] for text in texts] == [0, 1, 2, 3, 4]


def test_spaces_do_not_mix(cache: VectorCache) -> None:
    cache.put("one", {"a": np.ones(2, np.float32)})
    assert cache.get("two", ["a"]) == {}
    cache.forget("one")
    assert cache.get("one", ["a"]) == {}


def test_a_model_that_changed_its_dimension_is_embedded_anew(cache: VectorCache) -> None:
    CachedEmbedder(Counting(3), cache)(["a"])
    assert CachedEmbedder(Counting(5), cache)(["a", "b"]).shape == (2, 5)
    assert CachedEmbedder(Counting(5), cache)(["a"]).shape == (1, 5)


def test_the_size_is_bounded_and_the_oldest_go(cache: VectorCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.max_bytes = 600_000
    monkeypatch.setattr("ir.embed.cache._EVICTED_AT_ONCE", 20)
    for batch in range(12):
        monkeypatch.setattr("ir.embed.cache._today", lambda day=batch: day)
        cache.put("s", {f"{batch}-{number}": np.ones(384, np.float32) for number in range(50)})
        assert "0-0" in cache.get("s", ["0-0"])
    assert cache.path.stat().st_size < 1_000_000
    assert len(cache.get("s", [f"11-{number}" for number in range(50)])) == 50
    assert cache.get("s", ["0-1", "1-1"]) == {}


@pytest.mark.parametrize("damage", ["noise", "truncated"])
def test_a_broken_file_is_set_aside(cache: VectorCache, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    embedder = CachedEmbedder(Counting(), cache)
    embedder([f"text {number}" for number in range(2000)])
    content = cache.path.read_bytes()
    noise = np.random.default_rng(0).bytes(len(content))
    cache.path.write_bytes(noise if damage == "noise" else content[: len(content) // 2])
    with caplog.at_level(logging.WARNING):
        assert embedder(["text 1999", "text 0"])[:, 0].tolist() == [9, 6]
        assert embedder(["text 1999", "other"])[:, 0].tolist() == [9, 5]
    assert "is broken" in caplog.text
    assert list(cache.path.parent.glob("vectors.db.broken-*"))
    assert not cache.disabled
    assert VectorCache(cache.path).get("counting-1", ["other"])["other"].tolist() == [5.0] * 3


def test_a_damaged_vector_is_not_trusted(cache: VectorCache) -> None:
    cache.put("s", {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE vectors SET vector = zeroblob(12) WHERE id = 1")
    db.close()
    assert set(cache.get("s", ["a", "b"])) == {"b"}


def test_a_directory_that_cannot_be_made_disables_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "vectors.db")
    with caplog.at_level(logging.WARNING):
        assert CachedEmbedder(Counting(), cache)(["a"]).tolist() == [[1.0] * 3]
    assert cache.disabled
    assert caplog.text.count("going on without it") == 1


def test_a_full_disk_disables_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """``max_page_count`` makes SQLite answer as it does when the disk is full."""

    class Full(VectorCache):
        def _run(self, action: Any) -> Any:
            def limited(db: sqlite3.Connection) -> Any:
                db.execute("PRAGMA max_page_count = 8")
                return action(db)

            return super()._run(limited)

    cache = Full(tmp_path / "vectors.db")
    with caplog.at_level(logging.WARNING):
        embedder = CachedEmbedder(Counting(400), cache)
        assert embedder([str(number) for number in range(200)]).shape == (200, 400)
    assert cache.disabled
    assert "full" in caplog.text
    assert VectorCache(cache.path).get("counting-1", ["1"]) == {}


def test_a_busy_cache_is_passed_by(cache: VectorCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.put("s", {"a": np.ones(2, np.float32)})
    holder = sqlite3.connect(cache.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with caplog.at_level(logging.WARNING):
        cache.put("s", {"b": np.ones(2, np.float32)})
    assert set(cache.get("s", ["a", "b"])) == {"a"}
    holder.execute("ROLLBACK")
    holder.close()
    assert "busy" in caplog.text
    assert not cache.disabled


@pytest.mark.slow
def test_processes_share_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    code = (
        "import sys, numpy as np; from pathlib import Path; from ir.embed import VectorCache\n"
        "cache = VectorCache(Path(sys.argv[1]))\n"
        "for n in range(20): cache.put('s', {f'{sys.argv[2]}-{n}-{i}': np.full(4, n, np.float32) for i in range(20)})\n"
        "assert not cache.disabled\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(number)]) for number in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4
    found = VectorCache(path).get("s", [f"{w}-{n}-{i}" for w in range(4) for n in range(20) for i in range(20)])
    assert len(found) == 1600


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    code = (
        "import sys, numpy as np; from pathlib import Path; from ir.embed import VectorCache\n"
        "cache = VectorCache(Path(sys.argv[1]))\n"
        "for n in range(10**6):\n"
        "    cache.put('s', {f'{n}-{i}': np.full(384, n, np.float32) for i in range(50)})\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        written = [int(writer.stdout.readline()) for _ in range(5)]
        writer.kill()
    cache = VectorCache(path)
    found = cache.get("s", [f"{n}-{i}" for n in range(1000) for i in range(50)])
    assert len(found) % 50 == 0
    assert all(found[f"{n}-{i}"][0] == n for n in written for i in range(50))
    assert not cache.disabled
