"""Scores of given records, and of the few that pass a filter, are those of a ranking of everything."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.analysis import Analyzer, analyzer_for, document_numbers, query_terms
from ir.base import Record, embedding_text
from ir.embed.light import LightEmbedder
from ir.errors import StoreUnwritable
from ir.filters import parse_filter
from ir.protocols import Where
from ir.store import LocalStore
from ir.store.local.forward import hash_of
from ir.store.local.half_precision import dots, scanned, widened

WORDS = ["red", "fox", "hen", "barn", "parse", "parsing", "getUserName", "user", "name", "the", "of", "straße", "漢字"]


def made(number: int, chance: random.Random) -> Record:
    text = " ".join(chance.choices(WORDS, k=chance.randint(1, 60)))
    metadata = {"path": f"{chance.choice(['src', 'docs', 'tests'])}/{number}.md", "title": chance.choice(WORDS)}
    vector = np.array([1.0, number % 7], dtype=np.float32)
    return Record(Record.make_id(str(number), "document", 0), str(number), "document", 0, text, vector, metadata)


@pytest.fixture(params=[30, 360], ids=["many builds", "one build"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> LocalStore:
    chance = random.Random(3)
    store = LocalStore(tmp_path / "corpus")
    for start in range(0, 360, request.param):
        with store.transaction():
            store.put_records([made(number, chance) for number in range(start, start + request.param)])
    return store


QUERIES = [{"red": 1.0}, {"fox": 2.0, "pars": 1.0, "hen": 1.0}, {"getusernam": 1.0, "strasse": 1.0}, {"zebra": 1.0}]


@pytest.mark.parametrize("terms", QUERIES)
def test_given_records_score_as_they_rank(store: LocalStore, terms: dict[str, float]) -> None:
    with store.snapshot() as snapshot:
        found = snapshot.lexical(terms, 1000, Where())
        assert len(found.refs) == 0 or len(found.refs) > 20
        again = snapshot.lexical_scores(terms, found.refs[::-1].copy())
        np.testing.assert_allclose(again[::-1], found.scores, rtol=1e-5)
        for start in range(0, len(found.refs), 7):
            few = snapshot.lexical_scores(terms, found.refs[start : start + 7])
            np.testing.assert_allclose(few, found.scores[start : start + 7], rtol=1e-5)
        everything = snapshot.dense(np.array([1.0, 0.0], dtype=np.float32), 1000, Where()).refs
        others = np.setdiff1d(everything, found.refs)
        assert not snapshot.lexical_scores(terms, others).any()


def test_a_term_whose_bytes_stand_across_two_others_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record's terms are looked for by the bytes of their hashes, which may also come where two hashes meet."""
    hashes = {
        term: int.from_bytes(data, sys.byteorder)
        for term, data in {"red": b"abcdefgh", "fox": b"ijklmnop", "hen": b"efghijkl", "barn": b"mnopabcd"}.items()
    }
    for module in ("forward", "view"):
        monkeypatch.setattr(f"ir.store.local.{module}.hash_of", lambda term: hashes.get(term) or hash_of(term))
    store = LocalStore(tmp_path / "corpus")
    vector = np.array([1.0], dtype=np.float32)
    texts = ["red fox", "red fox hen barn", "hen", "barn"]
    with store.transaction():
        store.put_records(
            [Record(f"r{at}", f"a{at}", "document", 0, text, vector, {}) for at, text in enumerate(texts)]
        )
    with store.snapshot() as snapshot:
        every = snapshot.dense(vector, 10, Where()).refs
        texts = [row.text for row in snapshot.rows(every)]
        for term in ("hen", "barn"):
            scores = snapshot.lexical_scores({term: 1.0}, every)
            assert {text for text, score in zip(texts, scores, strict=True) if score} == {"red fox hen barn", term}


def test_many_small_additions_stay_few_files(store: LocalStore) -> None:
    (generation, *_) = sorted((store.path / "generations").iterdir(), reverse=True)
    parts = list((generation / "forward").glob("*.rows.npy"))
    assert 1 <= len(parts) <= 8
    assert sum(np.load(part).shape[1] for part in parts) == 360


@pytest.mark.slow
def test_a_large_part_is_not_written_anew_for_a_small_addition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.local.forward._SMALL", 10)
    chance = random.Random(4)
    store = LocalStore(tmp_path / "corpus")
    sizes = [300] + [1] * 20 + [40] + [1] * 5
    first = set()
    for turn, size in enumerate(sizes):
        with store.transaction():
            store.put_records([made(1000 * turn + number, chance) for number in range(size)])
        (generation, *_) = sorted((store.path / "generations").iterdir(), reverse=True)
        largest = max((generation / "forward").glob("*.terms"), key=lambda path: path.stat().st_size)
        first.add(largest.stat().st_ino)
        assert len(list((generation / "forward").glob("*.terms"))) <= 8
    assert len(first) == 1
    with store.snapshot() as snapshot:
        found = snapshot.lexical({"fox": 1.0}, 1000, Where())
        np.testing.assert_allclose(snapshot.lexical_scores({"fox": 1.0}, found.refs), found.scores, rtol=1e-5)


def test_pages_given_back_are_read_again(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.local.forward._MOST_TOUCHED", 5)
    monkeypatch.setattr("ir.store.local.forward._STAYS", 0)
    with store.snapshot() as snapshot:
        found = snapshot.lexical({"red": 1.0}, 1000, Where())
        for _ in range(3):
            np.testing.assert_allclose(snapshot.lexical_scores({"red": 1.0}, found.refs), found.scores, rtol=1e-5)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells what is mapped")
def test_vectors_are_mapped_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.local.segment._SMALL", 10)
    monkeypatch.setattr("ir.store.local.segment._PATIENCE", 10)
    monkeypatch.setattr("ir.store.local.segment._HELD", 10)
    chance = random.Random(5)
    store = LocalStore(tmp_path / "corpus")
    with store.transaction():
        store.put_records([made(number, chance) for number in range(200)])
    vector = np.array([0.6, 0.8], dtype=np.float32)
    with store.snapshot() as snapshot:
        near = snapshot.dense(vector, 20, Where())
        np.testing.assert_allclose(snapshot.dense_scores(vector, near.refs), near.scores, atol=2e-3)
        maps = Path("/proc/self/maps").read_text()
    assert sum(str(store.path) in line and ".vectors" in line for line in maps.splitlines()) == 1


@pytest.mark.parametrize("terms", QUERIES)
def test_a_filter_asked_again_ranks_the_same(store: LocalStore, terms: dict[str, float]) -> None:
    where = Where(parse_filter({"path": {"$contains": "ocs/"}}))
    with store.snapshot() as snapshot:
        first, *later = [snapshot.lexical(terms, 40, where) for _ in range(3)]
        for again in later:
            np.testing.assert_allclose(again.scores, first.scores, rtol=1e-5)
            # Which of several equal ones at the edge are in the list is open.
            edge = first.scores[-1] * 1.0001 if len(first.scores) == 40 else 0.0
            assert set(again.refs[again.scores > edge]) == set(first.refs[first.scores > edge])
            passing = {row.metadata["path"][:5] for row in snapshot.rows(again.refs)}
            assert passing <= {"docs/"}


def test_words_damaged_on_disk_are_made_anew(store: LocalStore) -> None:
    with store.snapshot() as snapshot:
        expected = snapshot.lexical_scores({"fox": 1.0}, np.arange(1, 50)).tolist()
    store.close()
    (generation, *_) = sorted((store.path / "generations").iterdir(), reverse=True)
    for path in (generation / "forward").glob("*.terms"):
        path.write_bytes(b"noise" * 100)
    with LocalStore(store.path).snapshot() as snapshot:
        np.testing.assert_allclose(snapshot.lexical_scores({"fox": 1.0}, np.arange(1, 50)), expected, rtol=1e-6)


def test_halves_are_widened_exactly() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    finite = bits[np.isfinite(bits.view(np.float16))].view(np.int16)[None]
    np.testing.assert_array_equal(widened(finite), finite.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("count", [0, 1, 255, 256, 700])
def test_halves_are_multiplied_as_numpy_multiplies_them(count: int) -> None:
    chance = np.random.default_rng(count)
    rows, vector = chance.standard_normal((count, 24)).astype(np.float16), chance.standard_normal(24).astype(np.float32)
    unaligned = np.concatenate([np.zeros(1, np.uint8), rows.view(np.uint8).ravel()])[1:].reshape(count, 48)
    expected = rows.astype(np.float32) @ vector
    for multiplied in (dots, scanned):
        for given in (rows.view(np.int16), unaligned.view(np.int16)):
            np.testing.assert_allclose(multiplied(given, vector), expected, rtol=1e-4, atol=1e-5)


TITLED = [
    ("Red foxes", "Red foxes hunt hens."),
    ("The barn", "It burns, says getUserName."),
    ("", "the of 漢字 parsing"),
]


def embedded(at: int, light: LightEmbedder) -> Record:
    title, text = TITLED[at % len(TITLED)]
    metadata: dict[str, object] = {"title": title, "section": f"part {at % 2}"} if title else {}
    (vector,) = light([embedding_text(f"{text} {at}", metadata)] * 2)[:1]
    return Record(Record.make_id(str(at), "document", 0), str(at), "document", 0, f"{text} {at}", vector, metadata)


def ranked(store: LocalStore) -> list[list[tuple[str, float]]]:
    """What words find in a store."""
    out = []
    with store.snapshot() as snapshot:
        for query in ("red foxes", "part", "barn burns", "name", "漢字", "parse 7"):
            found = snapshot.lexical(query_terms(analyzer_for(), query), 1000, Where())
            rows = snapshot.rows(found.refs)
            out.append(sorted((row.id, round(float(score), 4)) for row, score in zip(rows, found.scores, strict=True)))
    return out


@pytest.fixture
def looked_into(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were looked into for their terms when derived files were made."""
    counts: list[int] = []

    def counting(analyzer: Analyzer, surfaces: Sequence[tuple[str, Mapping[str, Any]]]) -> Any:
        counts.append(len(surfaces))
        return document_numbers(analyzer, surfaces)

    monkeypatch.setattr("ir.store.local.generation.document_numbers", counting)
    return counts


def test_terms_that_an_embedder_found_are_not_looked_for_again(tmp_path: Path, looked_into: list[int]) -> None:
    light = LightEmbedder()
    store = LocalStore(tmp_path / "corpus")
    with store.transaction():
        for start in range(0, 60, 20):
            store.put_records([embedded(at, light) for at in range(start, start + 20)])
        store.put_records([embedded(3, light)])  # once more: its first number is gone
        store.delete_records([embedded(5, light).id])
    assert not looked_into
    before = ranked(store)
    store.close()
    shutil.rmtree(store.path / "generations")
    assert ranked(store) == before
    assert looked_into == [59]


def test_terms_found_by_two_vocabularies_are_told_apart(
    tmp_path: Path, looked_into: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An analyzer begins a new vocabulary when the old one is full: the same number is another term then."""
    light = LightEmbedder()
    monkeypatch.setattr("ir.store.local.generation._READ", 1)
    monkeypatch.setattr("ir.analysis.words.MOST_REMEMBERED", 20)
    store, other = LocalStore(tmp_path / "corpus"), LocalStore(tmp_path / "other")
    with store.transaction():
        for at in range(40):
            store.put_records([embedded(at, light)])
    assert 0 < len(looked_into) < 30
    monkeypatch.setattr("ir.store.local.term_cache.numbers_at_hand", lambda analyzer, surfaces: None)
    with other.transaction():
        other.put_records([embedded(at, light) for at in range(40)])
    assert ranked(store) == ranked(other)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_disk_that_is_full_for_the_terms_leaves_the_store_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    light = LightEmbedder()
    records = [embedded(at, light) for at in range(20)]
    store = LocalStore(tmp_path / "corpus")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", lambda **_: Path("/dev/full").open("r+b"))  # noqa: SIM115
        with pytest.raises(StoreUnwritable, match="full"), store.transaction():
            store.put_records(records)
    assert len(store) == 0
    with store.transaction():
        store.put_records(records)
    assert len(store) == 20
