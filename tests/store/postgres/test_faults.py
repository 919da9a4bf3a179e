"""What the user is told when the server, the network, the login or the schema is not as it should be."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import numpy as np
import psycopg
from tests.store.postgres.fixtures import new_corpus_url, new_database

import ir
from ir.analysis import analyzer
from ir.errors import CorpusBusy, CorpusError, CorpusNotBuilt, FormatMismatch, InvalidInput, StoreUnwritable
from ir.store import CorpusStore
from ir.store.opening import without_password
from ir.store.postgres import LATEST, Address, PostgresStore
from ir.testing.made import EVERYTHING, found, made, unit
from ir.testing.postgres_server import PostgresServer, running_server

SECRET = "correct-horse-battery"


@pytest.fixture
def store(corpus_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(corpus_url, lock_timeout=0.2)
    store.put_records([made("a", "red fox"), made("b", "white hen", (0, 1, 0))])
    yield store
    store.close()


# -- connecting ---------------------------------------------------------------------------------------------------


def test_nobody_listens(tmp_path: Path) -> None:
    for url in (f"postgresql:///x?host={tmp_path}", "postgresql://127.0.0.1:9/x"):
        began = time.monotonic()
        with pytest.raises(CorpusError, match=r"takes no connections\. Start the server"):
            len(CorpusStore.open(url))
        assert time.monotonic() - began < 8


def test_an_unknown_host() -> None:
    with pytest.raises(CorpusError, match="was not found"):
        len(CorpusStore.open("postgresql://no-such-host.invalid/x"))


def test_no_such_database(server: PostgresServer) -> None:
    with pytest.raises(CorpusError, match=r"has no such database\. Create it"):
        len(CorpusStore.open(server.url("nowhere")))


def test_a_wrong_password(server: PostgresServer, database: str, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guarded")
        connection.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'".encode())
    rules = server.data / "pg_hba.conf"
    before = rules.read_text("utf-8")
    try:
        rules.write_text(f"local all guarded scram-sha-256\n{before}", "utf-8")
        _reload(server)
        with pytest.raises(CorpusError, match=r"refused the password\. Correct it in ~/.pgpass") as told:
            len(CorpusStore.open(server.url(database, user="guarded", password=f"{SECRET}-wrong")))
        with pytest.raises(CorpusError, match=r"asks for a password"):
            len(CorpusStore.open(server.url(database, user="guarded")))
        store = CorpusStore.open(server.url(database, user="guarded", password=SECRET))
        assert len(store) == 0
        store.close()
    finally:
        rules.write_text(before, "utf-8")
        _reload(server)
    chain: BaseException | None = told.value
    while chain is not None:
        assert SECRET not in f"{chain!r} {chain}"
        chain = chain.__cause__ or chain.__context__
    assert SECRET not in caplog.text


def _reload(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        (loaded,) = connection.execute("SELECT pg_conf_load_time()").fetchone() or (None,)
        connection.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + 10
        while connection.execute("SELECT pg_conf_load_time() > %s", (loaded,)).fetchone() == (False,):
            if time.monotonic() > deadline:
                break


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@db.example:5432/wiki/notes",
        f"postgresql://me@db.example:5432/wiki/notes?password={SECRET}",
        f"postgresql://db.example/wiki/notes?replica=postgresql%3A%2F%2Fme%3A{SECRET}%40two%2Fwiki",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    store = PostgresStore(url)
    assert SECRET not in f"{store!r} {store.address!r} {store.address} {without_password(url)}"
    assert "db.example" in repr(store)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host:port/x",
        f"postgresql://me:{SECRET}@h/x?no_such=option",
        f"postgresql://me:{SECRET}@h/x?pool=many",
        f"postgresql://me:{SECRET}@[h/x",
        f"postgresql://me:{SECRET}@h/x?lexical=magic",
        f"postgresql://me:{SECRET}@h/x/a%00b",
    ],
)
def test_a_bad_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidInput) as told:
        CorpusStore.open(url)
    assert SECRET not in str(told.value)
    assert told.value.__cause__ is None


def test_login_from_files_and_variables(server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PGHOST", str(server.folder)), ("PGUSER", "postgres"), ("PGDATABASE", database)):
        monkeypatch.setenv(name, value)
    with CorpusStore.open("postgresql:///?corpus=by_environment") as store:
        store.put_record(made("a"))
        assert len(store) == 1


# -- what is in the database --------------------------------------------------------------------------------------


def test_the_extension_is_missing_and_may_not_be_enabled(server: PostgresServer) -> None:
    bare = new_database(server, template="template0")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS modest")
        connection.execute("CREATE ROLE modest LOGIN")
        connection.execute(f"GRANT CREATE ON DATABASE {bare} TO modest".encode())
    with psycopg.connect(server.url(bare), autocommit=True) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    store = CorpusStore.open(server.url(bare, user="modest"))
    with pytest.raises(CorpusError, match="CREATE EXTENSION vector"):
        store.put_record(made("a"))
    store.close()
    with psycopg.connect(server.url(bare)) as connection:
        held = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'ir!_%' ESCAPE '!'").fetchone()
    assert held == (0,)
    with CorpusStore.open(server.url(bare)) as mighty:
        mighty.put_record(made("a"))
        assert found(mighty, "text") == ["a"]


def test_a_schema_of_a_newer_version(store: PostgresStore) -> None:
    with psycopg.connect(**store.address.parameters) as connection:
        connection.execute(f"INSERT INTO {store.address.schema}.migrations VALUES ({LATEST + 5}, 'later')".encode())
    store.close()
    for use in (lambda: len(store), lambda: store.put_record(made("c")), lambda: found(store, "fox")):
        with pytest.raises(FormatMismatch, match=rf"version {LATEST + 5}.* knows {LATEST}\. Upgrade"):
            use()
    with pytest.raises(FormatMismatch, match="Upgrade"):
        PostgresStore.migrate(store.address)


@pytest.fixture
def reading_url(server: PostgresServer, store: PostgresStore) -> Iterator[str]:
    """The address of the store for a user who may only read."""
    with psycopg.connect(**store.address.parameters) as connection:
        schema = store.address.schema
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader".encode())
    yield server.url(str(store.address.parameters["dbname"]), user="reader", corpus=store.address.corpus)
    with psycopg.connect(**store.address.parameters) as connection:
        connection.execute("DROP OWNED BY reader")
        connection.execute("DROP ROLE reader")


def test_a_user_who_may_only_read(reading_url: str) -> None:
    with CorpusStore.open(reading_url) as reader:
        assert found(reader, "fox") == ["a"]
        with pytest.raises(StoreUnwritable, match="may not be used like this"):
            reader.put_record(made("c"))
    # Another ranking than the one that is there cannot be made by this user, so the old one goes on.
    with CorpusStore.open(f"{reading_url}&lexical=tsvector") as other:
        assert found(other, "fox") == ["a"]


def test_a_user_who_may_only_read_is_told_of_words_that_an_older_analyzer_gave(
    store: PostgresStore, reading_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(opened: CorpusStore, mode: str = "lexical") -> tuple[list[str], list[str]]:
        hits = ir.Corpus("notes", opened, lambda texts: np.ones((len(texts), 3)), "ones").search("fox", mode=mode)
        return hits.meta["degraded"], hits.meta["notes"]

    with CorpusStore.open(reading_url) as reader:
        assert told(reader) == ([], [])
        monkeypatch.setattr(analyzer, "VERSION", analyzer.VERSION + 1)
        degraded, (note,) = told(reader)
        assert degraded == ["lexical"]
        assert "'notes' are indexed as 'terms" in note
        assert told(reader, "dense") == ([], [])
        assert told(store) == ([], []), "who may write brings the words up to date"
        assert told(reader) == ([], [])


def test_a_corpus_that_is_removed_under_a_reader_is_said_to_be_removed(store: PostgresStore, corpus_url: str) -> None:
    with CorpusStore.open(corpus_url) as other:
        assert len(other) == 2
        store.drop()
        assert len(store) == 0, "who removed it may go on with nothing"
        for read in (lambda: len(other), other.record_ids, lambda: found(other, "fox"), lambda: other.get_record("a")):
            with pytest.raises(CorpusNotBuilt, match="was removed after it was opened here"):
                read()
        other.put_record(made("c", "blue fox"))
        assert found(store, "fox") == found(other, "fox") == ["c"]


# -- many at once -------------------------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_writes(store: PostgresStore, corpus_url: str) -> None:
    with CorpusStore.open(corpus_url) as other, other.transaction():
        other.put_record(made("c"))
        told: list[BaseException] = []

        def write() -> None:
            try:
                store.put_record(made("d"))
            except CorpusBusy as error:
                told.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        thread.join(30)
        assert len(told) == 1
        assert "being written by another session (ir process " in str(told[0])
        assert len(store) == 2
    assert len(store) == 3


def test_a_full_pool(corpus_url: str) -> None:
    store = CorpusStore.open(f"{corpus_url}&pool=2&timeout=0.3")
    store.put_record(made("a"))
    with store.snapshot(), store.snapshot() as held:
        with pytest.raises(CorpusBusy, match=r"All 2 connections .* in use"):
            len(store)
        assert len(held) == 1
    assert len(store) == 1
    store.close()


def test_a_query_that_takes_too_long(corpus_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.postgres.snapshot._KINDS", "SELECT pg_sleep(60)::text")
    store = CorpusStore.open(f"{corpus_url}&timeout=0.3")
    store.put_record(made("a"))
    began = time.monotonic()
    with pytest.raises(CorpusError, match=r"did not answer within 0\.3 seconds"), store.snapshot() as snapshot:
        snapshot.kinds()
    assert time.monotonic() - began < 10
    assert len(store) == 1
    store.close()


def test_a_query_that_is_cancelled(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.postgres.snapshot._KINDS", "SELECT pg_cancel_backend(pg_backend_pid())::text")
    with pytest.raises(CorpusError, match="was cancelled on the server"), store.snapshot() as snapshot:
        snapshot.kinds()
    assert found(store, "fox") == ["a"]


def test_a_session_that_the_server_ends(store: PostgresStore) -> None:
    def end_all() -> None:
        with psycopg.connect(**store.address.parameters) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND application_name LIKE 'ir process%'"
            )

    assert found(store, "fox") == ["a"]
    end_all()
    assert found(store, "fox") == ["a"], "a connection that died while idle is not used again"

    def search() -> None:
        with store.snapshot() as snapshot:
            end_all()
            snapshot.dense(unit(1, 0, 0), 5, EVERYTHING)

    def write() -> None:
        with store.transaction():
            store.put_record(made("c"))
            end_all()
            store.put_record(made("d"))

    for use in (search, write):
        with pytest.raises(CorpusError, match="was lost"):
            use()
    assert sorted(store.record_ids()) == ["a", "b"]


def test_a_collision_is_tried_again(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.store.postgres.writing import Writing

    commit, failures = Writing.commit, [psycopg.errors.SerializationFailure("x"), psycopg.errors.DeadlockDetected("y")]

    def collide(self: Writing, **how: Any) -> None:
        if failures:
            raise failures.pop()
        commit(self, **how)

    monkeypatch.setattr(Writing, "commit", collide)
    store.put_record(made("c"))
    store.set_links("a", {"ref": ["c"]})
    assert len(store) == 3
    failures.append(psycopg.errors.SerializationFailure("z"))
    with pytest.raises(CorpusBusy, match=r"nothing was written\. Try again"), store.transaction():
        store.put_record(made("d"))
    assert len(store) == 3


def test_a_real_deadlock_is_tried_again(corpus_url: str) -> None:
    # Who has waited for so long without the deadlock being there is never its victim: a busy machine needs more time.
    store = PostgresStore(f"{corpus_url}&options=-c%20deadlock_timeout%3D3s")
    for record_id in ("a", "b"):
        store.put_record(made(record_id))
    name = store.address.schema
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
    with psycopg.connect(**store.address.parameters) as other, ThreadPoolExecutor(1) as writer:
        other.execute("SET deadlock_timeout = '60s'")
        other.execute(f'LOCK TABLE "{name}".state IN EXCLUSIVE MODE'.encode())
        written = writer.submit(store.put_record, made("c"))
        with psycopg.connect(**store.address.parameters, autocommit=True) as watcher:
            while watcher.execute(waiting, (f'"{name}".state',)).fetchone() != (1,):
                assert not written.done()
        # The writer holds a lock on the records: each of the two now waits for the other.
        other.execute(f'LOCK TABLE "{name}".records IN ACCESS EXCLUSIVE MODE'.encode())
        other.commit()
        written.result(timeout=30)
    assert sorted(store.record_ids()) == ["a", "b", "c"]
    store.close()


def test_writers_take_turns_whatever_the_databases_default_is(corpus_url: str) -> None:
    store = PostgresStore(f"{corpus_url}&options=-c%20default_transaction_isolation%3Dserializable")
    store.put_record(made("a"))

    def add(name: str) -> None:
        for at in range(5):
            with store.transaction():
                store.put_record(made(f"{name}{at}"))

    with ThreadPoolExecutor(3) as several:
        list(several.map(add, "xyz"))
    assert len(store) == 16
    store.close()


# -- replicas -----------------------------------------------------------------------------------------------------


def test_reading_falls_back_to_the_primary(corpus_url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = CorpusStore.open(f"{corpus_url}&replica=127.0.0.1:9")
    store.put_record(made("a", "red fox"))
    with caplog.at_level(logging.WARNING):
        assert found(store, "fox") == ["a"]
    assert "Reading from the primary" in caplog.text
    store.close()


def test_a_replica_is_read_once_it_has_what_was_written() -> None:
    """Two databases stand for primary and replica: what a reader sees shows which of them was asked."""
    url, second = new_corpus_url(), new_corpus_url()
    store = PostgresStore(url)
    copy = PostgresStore(second)
    copy.put_record(made("old", "on the replica"))
    replica = Address.parse(second)
    store.put_record(made("a"))
    joined = Address.parse(url)
    both = PostgresStore(Address(joined.parameters, joined.corpus, replica=Address(replica.parameters, replica.corpus)))
    assert both.record_ids() == ["old"]
    for number in range(3):
        both.put_record(made(f"new{number}"))
    assert "a" in both.record_ids(), "own writes are read from the primary until the replica has them"
    for number in range(9):
        copy.put_record(made(f"later{number}"))
    assert "later8" in both.record_ids()
    for each in (store, copy, both):
        each.close()


@pytest.mark.slow
def test_a_real_replica(server: PostgresServer, database: str) -> None:
    url = server.url(database, corpus="copied")
    with CorpusStore.open(url) as store:
        store.put_record(made("a", "red fox"))
    with running_server(primary=server) as follower, CorpusStore.open(f"{url}&replica={follower.folder}") as both:
        assert found(both, "fox") == ["a"]
        both.put_records([made("b", "blue fox"), made("c", "hen")])
        assert found(both, "fox") == ["a", "b"], "own writes are seen at once, wherever they are read"
        with CorpusStore.open(follower.url(database, corpus="copied")) as alone:
            deadline = time.monotonic() + 30
            while len(alone) < 3:
                assert time.monotonic() < deadline, "the replica does not follow"
            assert found(alone, "fox") == ["a", "b"]
            with pytest.raises(StoreUnwritable, match="the primary server for writing"):
                alone.put_record(made("d"))
        assert found(both, "hen") == ["c"]


def test_a_search_through_the_public_door(corpus_url: str) -> None:
    source = ir.CorpusSource.from_mapping({"a": "red foxes run", "b": "white hens"}, name="animals", embedder="light")
    with CorpusStore.open(corpus_url) as store:
        corpus = ir.build(source, store=store)
        assert corpus.search("fox", mode="hybrid")[0].artifact_id == "a"
        assert ir.build(source, store=store).report.unchanged == ["a", "b"]  # type: ignore[union-attr]
