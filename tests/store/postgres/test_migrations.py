"""Tables of every older version are brought up to date with all that is in them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import psycopg
from tests.store.postgres.fixtures import new_corpus_url

from ir.errors import FormatMismatch
from ir.store import CorpusStore
from ir.store.postgres import LATEST, Address, PostgresStore, codec
from ir.store.postgres.connections import Connections
from ir.store.postgres.schema import migrate, migrations
from ir.testing.made import EVERYTHING, found, ids, made, unit, where, words

#: What every store wrote; later ones hold at least that.
RECORDS = """
INSERT INTO records (number, surface_index, id, artifact_id, kind, metadata, vector, text) VALUES
    (1, 0, 'a', 'of a', 'document', '{"colour": "red"}', '[1,0,0]', 'red foxes run'),
    (3, 2, 'b', 'of b', 'chunk', '{"colour": "white"}', '[0,1,0]', 'white hens');
INSERT INTO ledger VALUES ('k', '{"version": "1"}');
INSERT INTO calibration VALUES ('dense', '{"floor": 1}');
UPDATE state SET version = nextval('versions'), last_number = 3, records = 2, config = '{"name": "n"}';
"""
#: How links were kept up to version 3, and since.
LINKS = """
INSERT INTO links VALUES ('of a', '{"ref": ["of b"]}');
UPDATE state SET dim = 3;
"""
GRAPH = """
INSERT INTO edges VALUES (0, 'of a', 'ref', 'of b', NULL, NULL);
UPDATE state SET spaces = '{"main": {"number": 0, "dim": 3, "near": null, "held": 2}}';
"""
GRAPH_SINCE = 4


def old_corpus(version: int, more: str = "") -> str:
    url = new_corpus_url()
    address = Address.parse(url)
    connections = Connections(address)
    with connections.lend() as connection:
        migrate(connection, address, upto=version)
        connection.execute((RECORDS + (LINKS if version < GRAPH_SINCE else GRAPH) + more).encode())
    connections.close()
    return url


def test_the_steps_are_numbered_without_gaps() -> None:
    assert [step.version for step in migrations()] == list(range(1, LATEST + 1))
    assert all(step.name for step in migrations())


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_from_each_version(version: int) -> None:
    url = old_corpus(version)
    if version < LATEST:
        with pytest.raises(FormatMismatch, match=rf"version {version}.* needs {LATEST}.*ir store migrate"):
            len(CorpusStore.open(url))
    assert PostgresStore.migrate(url) == (version, LATEST)
    with CorpusStore.open(url) as store:
        assert store.record_ids() == ["a", "b"]
        assert store.get_record("b").vector.tolist() == [0, 1, 0]
        assert (store.get_config(), store.get_links("of a")) == ({"name": "n"}, {"ref": ["of b"]})
        assert (store.get_ledger_entry("k"), store.get_calibration("dense")) == ({"version": "1"}, {"floor": 1})
        assert (found(store, "fox"), found(store, "hen")) == (["a"], ["b"])
        store.put_record(made("c", "blue foxes", (0, 0, 1), colour="blue"))
        store.delete_record("a")
        assert found(store, "fox") == ["c"]
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 1, 0), 1, EVERYTHING)) == ["b"]
            assert ids(snapshot, snapshot.lexical(words("fox hen"), 5, where({"colour": "blue"}))) == ["c"]
            assert snapshot.term_stats(["fox"]).frequencies == {"fox": 1}


def test_migrating_twice_changes_nothing() -> None:
    url = old_corpus(1)
    PostgresStore.migrate(url)
    with CorpusStore.open(url) as store:
        before = store.version
        assert PostgresStore.migrate(url) == (LATEST, LATEST)
        assert store.version == before


def test_a_step_that_fails_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.store.postgres import schema

    url = old_corpus(1)
    bad = schema.Migration(LATEST, "bad", "CREATE TABLE more (x int); SELECT 1 / 0")
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations()[:-1], bad))
    with pytest.raises(Exception, match="division by zero"):
        PostgresStore.migrate(url)
    monkeypatch.undo()
    with psycopg.connect(**Address.parse(url).parameters) as connection:
        query = f"SELECT max(version) FROM {Address.parse(url).schema}.migrations"
        assert connection.execute(query.encode()).fetchone() == (1,)
    assert PostgresStore.migrate(url) == (1, LATEST)


def test_migrating_where_nothing_is_makes_an_empty_corpus() -> None:
    url = new_corpus_url()
    assert PostgresStore.migrate(url) == (0, LATEST)
    with CorpusStore.open(url) as store:
        assert len(store) == 0


STRANGE = "%s and \x00\x01 \ud7ff \"quoted\" 'it' 🦊 {}" + "long" * 1000
#: Links as users gave them, in this order.
GIVEN: dict[str, dict[str, list[Any]]] = {
    "of b": {"see": ["of a", ["elsewhere", "of a"], "of a"], "ref": ["nobody"]},
    "Zoë": {"ref": ["of b"]},
    STRANGE: {STRANGE: [STRANGE, [STRANGE, STRANGE]]},
}


def linked_corpus() -> str:
    """A corpus of the version before the graph, with links in its old table."""
    url = old_corpus(GRAPH_SINCE - 1)
    address = Address.parse(url)
    with psycopg.connect(**address.parameters) as connection:
        connection.execute(f"SET search_path = {address.schema}".encode())
        for artifact_id, links in GIVEN.items():
            row = (codec.packed(artifact_id), codec.dumps(links))
            connection.execute("INSERT INTO links VALUES (%s, %s)", row)
    return url


def same_in_memory() -> CorpusStore:
    oracle = CorpusStore.memory()
    oracle.put_records(
        [
            made("a", "red foxes run", (1, 0, 0), colour="red"),
            made("b", "white hens", (0, 1, 0), kind="chunk", index=2, colour="white"),
        ]
    )
    oracle.set_config({"name": "n"})
    for artifact_id, links in {"of a": {"ref": ["of b"]}, **GIVEN}.items():
        oracle.set_links(artifact_id, links)
    return oracle


def test_links_of_the_version_before_are_edges() -> None:
    url, oracle = linked_corpus(), same_in_memory()
    PostgresStore.migrate(url)
    with CorpusStore.open(url) as store:
        assert sorted(store.link_items()) == sorted(oracle.link_items())
        for artifact_id, links in GIVEN.items():
            assert store.get_links(artifact_id) == links
            assert list(store.get_links(artifact_id)) == list(links)
        with store.snapshot() as snapshot, oracle.snapshot() as expected:
            for direction in ("out", "in"):
                asked = ["of a", "of b", "nobody", STRANGE]
                found = snapshot.neighbours(asked, direction=direction)
                assert found == expected.neighbours(asked, direction=direction)


def test_the_content_of_the_version_before_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.postgres.sums._BATCH", 1)
    url, oracle = linked_corpus(), same_in_memory()
    PostgresStore.migrate(url)
    with CorpusStore.open(url) as store:
        assert store.content_version == oracle.content_version
        for each in (store, oracle):
            each.delete_record("a")
            each.set_links("of b", {})
        assert store.content_version == oracle.content_version


def test_the_old_table_of_links_is_gone() -> None:
    url = linked_corpus()
    PostgresStore.migrate(url)
    address = Address.parse(url)
    with psycopg.connect(**address.parameters) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (f"{address.schema}.links",)).fetchone()
    assert found == (None,)
