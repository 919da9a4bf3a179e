"""Nodes and edges in Milvus: long ones, few requests for many, and versions that were cleared away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from ir.errors import CorpusError, InvalidInput
from ir.links import Edge, Node
from ir.store.milvus import MilvusStore
from ir.testing.graph_contract import calls, seen
from ir.testing.made import made
from ir.testing.transaction_contract import abort


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


@pytest.fixture
def store(milvus_file: str) -> Iterator[MilvusStore]:
    with MilvusStore(f"{milvus_file}?corpus=g{uuid4().hex[:12]}") as store:
        yield store


def test_long_names_and_properties_come_back(store: MilvusStore) -> None:
    long = {"text": "Ünïcödé 日本語 \\ \x00 " * 9000}
    name, other = "n" * 60_000 + "é'\"", "m" * 60_000
    store.put_nodes([Node(name, "function", long), Node(other, "function")])
    store.set_edges({name: [Edge(name, "calls", other, None, long), Edge(name, "calls", "short")]})
    for limit in (None, 1):
        with store.snapshot() as snapshot:
            assert snapshot.nodes([name])[name].properties == long
            assert snapshot.neighbours([name], limit=limit)[0][0].properties == long
            (back,) = snapshot.neighbours([other], direction="in", limit=limit)[0]
        assert (back.id, back.place, back.properties) == (name, "here", long)
    store.set_edges({name: [Edge(name, "calls", other, None, {"line": 1})]})
    assert store.get_edges([name]) == {name: [Edge(name, "calls", other, None, {"line": 1})]}


def test_names_that_no_field_holds_are_refused(store: MilvusStore) -> None:
    store.set_edges({"f": calls("f", "g")})
    with pytest.raises(InvalidInput, match="longer than the 65535 bytes"):
        store.set_edges({"f": calls("f", "x" * 66_000)})
    with pytest.raises(InvalidInput, match="longer than the 65535 bytes"):
        store.put_nodes([Node("x" * 66_000, "function")])
    assert (store.get_edges(["f"]), list(store.iter_nodes())) == ({"f": calls("f", "g")}, [])


def requests_of(store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The collections that the client is asked about from now on, one for each request."""
    asked: list[str] = []
    client = store._connection.client
    query = client.query

    def noted(collection: str, *given: Any, **more: Any) -> Any:
        asked.append(collection)
        return query(collection, *given, **more)

    monkeypatch.setattr(client, "query", noted)
    return asked


def test_many_nodes_take_few_requests(store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{at:03d}" for at in range(200)]
    with store.transaction():
        store.put_record(made("r", artifact="a"))
        store.put_nodes([Node(name, "function") for name in names])
        for at, name in enumerate(names):
            store.set_edges({name: calls(name, *(names[(at + step) % 200] for step in (1, 2, 3)), "r")})
    with store.snapshot() as snapshot:
        asked = requests_of(store, monkeypatch)
        found = snapshot.neighbours(names, direction="both", limit=2)
        assert len(asked) <= 6
        asked.clear()
        assert snapshot.degrees(names, direction="both") == [7] * 200
        assert len(asked) == 2
    assert [len(one) for one in found] == [4] * 200
    assert [(one.direction, one.id) for one in found[10]] == [
        ("out", "n011"),
        ("out", "n012"),
        ("in", "n007"),
        ("in", "n008"),
    ]


@pytest.mark.slow
def test_more_edges_than_one_answer_of_milvus_holds(store: MilvusStore) -> None:
    """Milvus cuts answers off after some 16,000 rows, and does not say so."""
    count = 16_600
    store.set_edges({"hub": calls("hub", *(f"n{at}" for at in range(count)))})
    store.set_edges({"z": calls("z", *["hub"] * count), "a": [*calls("a", "hub"), *calls("a", *["x"] * 2000)]})
    before = store.content_version
    with pytest.raises(ValueError, match="stop"):
        abort(store, lambda store: store.set_edges({"hub": (), "z": ()}))
    assert store.content_version == before
    with store.snapshot() as snapshot:
        assert snapshot.degrees(["hub"]) == [count]
        assert snapshot.degrees(["hub"], direction="in") == [count + 1]
        assert [one.id for one in snapshot.neighbours(["hub"], direction="in", limit=2)[0]] == ["a", "z"]
    assert [len(edges) for page in store.iter_edges() for _, edges in page] == [2001, count, count]


def test_edges_that_stay_are_not_written_again(store: MilvusStore) -> None:
    store.set_edges({"f": calls("f", "a", "b", "c", line=1)})
    version = store.version
    store.set_edges({"f": calls("f", "a", "b", "c", line=1), "nobody": ()})
    store.delete_links("nobody")
    assert store.version == version
    store.set_edges({"f": [*calls("f", "a", line=1), *calls("f", "b", line=2), *calls("f", "c", line=1)]})
    rows = store._connection.query(store._collections.edges, "ref >= 0", ["target", "died"])
    assert sorted(row["target"] for row in rows) == ["a", "b", "b", "c"]
    assert [edge.properties["line"] for edge in store.get_edges(["f"])["f"]] == [1, 2, 1]


def test_what_waits_in_a_transaction_is_read_back(store: MilvusStore) -> None:
    store.set_edges({"f": calls("f", "a"), "g": calls("g", "b")})
    store.put_nodes([Node("a", "function")])
    with store.transaction():
        store.set_edges({"f": calls("f", "c"), "g": ()})
        store.put_nodes([Node("c", "function", {"deep": {"n": 1}})])
        store.delete_nodes(["a"])
        assert store.get_edges(["f", "g", "h"]) == {"f": calls("f", "c")}
        taken = store.get_nodes(["a", "c"])
        assert taken == {"c": Node("c", "function", {"deep": {"n": 1}})}
        taken["c"].properties["deep"]["n"] = 2
        assert list(store.iter_edges()) == [[("f", calls("f", "c"))]]
    assert store.get_nodes(["a", "c"]) == {"c": Node("c", "function", {"deep": {"n": 1}})}


def test_the_graph_of_a_version_that_is_gone_says_so(tmp_path: Path) -> None:
    url = f"milvus+lite:{tmp_path}/corpora.db?corpus=c&keep=0"
    with MilvusStore(url) as store, MilvusStore(url) as other:
        store.set_edges({"f": calls("f", "g")})
        with store.snapshot() as held:
            assert seen(held, "f") == [("out", "calls", "g", "nowhere")]
            other.set_edges({"f": ()})
            other.put_nodes([Node("x", "function")])
            other.put_nodes([Node("y", "function")])
            for ask in (held.neighbours, held.degrees, held.nodes):
                with pytest.raises(CorpusError, match="no longer kept"):
                    ask(["f"])
