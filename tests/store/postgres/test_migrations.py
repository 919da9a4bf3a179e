"""Tables of every older version are brought up to date with all that is in them."""

from __future__ import annotations

import psycopg
import pytest
from tests.store.postgres.fixtures import new_corpus_url

from ir.errors import FormatMismatch
from ir.store import CorpusStore
from ir.store.postgres import LATEST, Address, PostgresStore
from ir.store.postgres.connections import Connections
from ir.store.postgres.schema import migrate, migrations
from ir.testing.made import EVERYTHING, found, ids, made, unit, where, words

#: What a store of version 1 wrote; every later one holds at least that.
ROWS = """
INSERT INTO records (number, surface_index, id, artifact_id, kind, metadata, vector, text) VALUES
    (1, 0, 'a', 'of a', 'document', '{"colour": "red"}', '[1,0,0]', 'red foxes run'),
    (3, 2, 'b', 'of b', 'chunk', '{"colour": "white"}', '[0,1,0]', 'white hens');
INSERT INTO ledger VALUES ('k', '{"version": "1"}');
INSERT INTO links VALUES ('of a', '{"ref": ["of b"]}');
INSERT INTO calibration VALUES ('dense', '{"floor": 1}');
UPDATE state SET version = nextval('versions'), last_number = 3, records = 2, dim = 3, config = '{"name": "n"}';
"""


def old_corpus(version: int) -> str:
    url = new_corpus_url()
    address = Address.parse(url)
    connections = Connections(address)
    with connections.lend() as connection:
        migrate(connection, address, upto=version)
        connection.execute(ROWS)
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
