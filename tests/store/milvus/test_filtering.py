"""Filters in Milvus choose the records that they choose elsewhere, whoever evaluates them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from tests.property.test_filters import documents, filters, thorough

from ir.base import Record
from ir.filters import matches, parse_filter
from ir.store.milvus import MilvusStore
from ir.store.milvus.filtering import ALL, NONE, Untold, expression, prefilter
from ir.store.milvus.paths import MOST_PATHS, count_paths
from ir.testing.made import EVERYTHING, ids, made, unit, where, words

PATHS = {
    "year": {"number": 4},
    "size": {"number": 3},
    "owner": {"string": 4},
    "tags": {"strings": 2, "string": 1},
    "mixed": {"list": 1, "string": 3},
    "gap": {"null": 1, "number": 3},
    "place": {"mapping": 4},
    "place.name": {"string": 4},
}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"year": 1990}, 'meta["year"] == 1990'),
        ({"year": {"$gte": 1990, "$lt": 2000}}, '(meta["year"] >= 1990) and (meta["year"] < 2000)'),
        ({"place.name": "x"}, 'meta["place"]["name"] == "x"'),
        ({"tags": "x"}, '(meta["tags"] == "x") or (json_contains(meta["tags"], "x"))'),
        ({"owner": {"$in": ["a", "b"]}}, '(meta["owner"] == "a") or (meta["owner"] == "b")'),
        ({"owner": {"$ne": "a"}}, 'meta["owner"] != "a"'),
        ({"owner": {"$contains": "a b"}}, 'meta["owner"] like "%a b%"'),
        ({"$nor": [{"year": {"$lt": 3}}, {"owner": "a"}]}, '(meta["year"] >= 3) and (meta["owner"] != "a")'),
        ({"year": {"$exists": True}}, ALL),
        ({"nowhere": 1}, NONE),
        ({"nowhere": None}, ALL),
        ({"nowhere": {"$ne": 1}}, ALL),
        ({"owner": None}, NONE),
    ],
)
def test_what_milvus_is_asked(spec: dict[str, Any], told: str) -> None:
    tree = parse_filter(spec)
    assert tree is not None
    assert expression(tree, PATHS, 4) == told


@pytest.mark.parametrize(
    "spec",
    [
        {"size": {"$ne": 1}},  # not every record has a size
        {"size": {"$exists": True}},
        {"gap": None},
        {"mixed": "x"},
        {"tags": {"$gt": "x"}},
        {"tags.0": "x"},
        {"tags": ["x"]},
        {"owner": 'a"b'},
        {"owner": {"$contains": "100%"}},
        {"year": 2**60},
        {"owner": {"$gt": "a\nb"}},
        {"wei'rd": 1, "owner": "{x}"},
    ],
)
def test_what_milvus_is_not_asked(spec: dict[str, Any]) -> None:
    tree = parse_filter(spec)
    assert tree is not None
    with pytest.raises(Untold):
        expression(tree, PATHS, 4)
    with pytest.raises(Untold):
        expression(tree, None, 4)


def test_what_can_be_told_narrows_what_must_be_read() -> None:
    tree = parse_filter({"owner": "a", "mixed": "x"})
    assert tree is not None
    assert prefilter(tree, PATHS, 4) == 'meta["owner"] == "a"'


def test_paths_are_counted_up_and_down() -> None:
    first, second = {"n": 1, "deep": {"x": [1]}, "a.b": 2}, {"n": True}
    paths = count_paths(count_paths({}, first, 1), second, 1)
    assert paths["n"] == {"number": 1, "boolean": 1}
    assert paths["deep.x"] == {"list": 1}
    assert paths["a.b"] == {"other": 1}
    assert count_paths(count_paths(paths, first, -1), second, -1) == {}
    assert count_paths({}, {f"k{at}": at for at in range(MOST_PATHS + 1)}, 1) is None


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


@pytest.mark.slow
@settings(thorough, max_examples=25)
@given(st.lists(documents, min_size=3, max_size=8), st.lists(filters, min_size=12, max_size=12))
def test_random_filters(milvus_file: str, several: list[dict[str, Any]], specs: list[dict[str, Any]]) -> None:
    with MilvusStore(f"{milvus_file}?corpus=f{uuid4().hex[:12]}") as store:
        store.put_records(
            [
                Record(f"r{at}", f"r{at}", "document", 0, "word", unit(1, at, 0), document)
                for at, document in enumerate(several)
            ]
        )
        with store.snapshot() as snapshot:
            for spec in specs:
                tree = parse_filter(spec)
                expected = [f"r{at}" for at, document in enumerate(several) if tree is None or matches(tree, document)]
                assert sorted(ids(snapshot, snapshot.dense(unit(1, 1, 0), 50, where(spec)))) == expected
                assert sorted(ids(snapshot, snapshot.lexical(words("word"), 50, where(spec)))) == expected


def test_long_and_strange_things_come_back(milvus_file: str) -> None:
    with MilvusStore(f"{milvus_file}?corpus=long") as store:
        text = 'Ünïcödé 日本語 "quoted" \\ \x00 ' * 8000
        long = {"note": "x" * 70_000, "number": 2**70, "n": 1}
        store.put_records([made("long", text, (3e30, 1e30, 0), **long), made("short", "fox", (1e-30, 0, 1e-30), n=2)])
        store.set_ledger_entry("k", {"record_ids": [f"record {at}" for at in range(9000)]})
        kept = store.get_record("long")
        assert (kept.text, kept.metadata) == (text, long)
        assert kept.vector.tolist() == made("x", vector=(3e30, 1e30, 0)).vector.tolist()
        assert len((store.get_ledger_entry("k") or {})["record_ids"]) == 9000
        assert [len(entry["record_ids"]) for _, entry in store.ledger_items()] == [9000]
        with store.snapshot() as snapshot:
            ranking = snapshot.dense(unit(3, 1, 0), 5, EVERYTHING)
            assert ids(snapshot, ranking) == ["long", "short"]
            assert ranking.scores.tolist() == pytest.approx([1.0, 3 / 20**0.5], abs=1e-5)
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, where({"number": 2**70}))) == ["long"]
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, where({"n": {"$gt": 1}}))) == ["short"]
        store.delete_record("long")
        assert [record.id for batch in store.iter_records() for record in batch] == ["short"]


def test_more_results_than_one_search_gives(milvus_file: str) -> None:
    with MilvusStore(f"{milvus_file}?corpus=many") as store:
        store.put_records([made(f"r{at}", "twin" if at % 2 else "other", (1, at, 0)) for at in range(17_000)])
        with store.snapshot() as snapshot:
            every = snapshot.dense(unit(1, 0, 0), 20_000, EVERYTHING)
            assert len(set(every.refs.tolist())) == 17_000
            assert len(snapshot.lexical(words("twin"), 20_000, EVERYTHING).refs) == 8500
            few = snapshot.lexical(words("twin"), 10, EVERYTHING)
            assert few.refs.tolist() == snapshot.lexical(words("twin"), 10, EVERYTHING).refs.tolist()
        assert [len(page) for page in store.iter_records(20_000)] == [17_000]


def test_an_approximate_index_that_finds_too_few_is_asked_again(tmp_path: Path) -> None:
    with MilvusStore(f"milvus+lite:{tmp_path}/ivf.db?corpus=c&index=ivf_flat") as store:
        store.put_records([made(f"r{at}", vector=(1, at, at * at), even=at % 2 == 0) for at in range(40)])
        asked = []
        search = store._connection.client.search

        def noted(*given: Any, **more: Any) -> Any:
            asked.append(more["search_params"]["params"])
            return search(*given, **more)

        store._connection.client.search = noted
        with store.snapshot() as snapshot:
            found = snapshot.dense(unit(1, 0, 0), 30, where({"even": True}))
    assert len(found.refs) == 20
    assert asked == [{"nprobe": 32}, {"nprobe": 256}]
