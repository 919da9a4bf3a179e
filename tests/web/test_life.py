"""A server comes, is killed, comes again, and leaves in an orderly way."""

from __future__ import annotations

import threading
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from tests.web.served import Process, Served, wait_until

from ir.cli.main import run
from ir.errors import Cancelled


def test_a_killed_server_comes_back_with_everything(notes: Path) -> None:
    first = Process()
    stop = threading.Event()
    answers: list[int] = []

    def load() -> None:
        while not stop.is_set():
            try:
                answers.append(first.call("search", query="tea", target="notes").status)
            except (OSError, HTTPException):
                return

    clients = [threading.Thread(target=load) for _ in range(4)]
    for client in clients:
        client.start()
    (notes / "new.md").write_text("# Zeppelin\n\nSomething new.\n")
    job = first.call("build", target="notes").json["job"]
    assert first.finished(job)["state"] == "done"
    first.call("build", target="notes")  # one may be under way when the kill comes
    first.end(kill=True)
    stop.set()
    for client in clients:
        client.join(10)
    assert answers
    assert {*answers} == {200}
    second = Process()
    try:
        wait_until(second.ready)
        found = second.call("search", query="zeppelin", target="notes", mode="lexical")
        assert [one["artifact_id"] for one in found.json["found"]] == ["new.md"]
    finally:
        assert second.end() == 0


def test_a_server_that_is_told_to_stop_finishes_what_it_has(notes: Path) -> None:
    process = Process()
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(process.call("search", query="tea", target="notes").status)

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    time.sleep(0.05)
    assert process.end() == 0
    for client in clients:
        client.join(10)
    assert {*statuses} <= {200}


def test_a_server_without_corpora_says_how_to_make_one() -> None:
    process = Process()
    wait_until(process.ready)
    wait_until(lambda: any("ir build PATH" in line for line in process.lines))
    assert process.end() == 0


def test_a_server_whose_tokens_cannot_be_looked_up_says_so_at_once(notes: Path) -> None:
    process = Process("--access", "postgresql://u:hush@127.0.0.1:1/nothing")
    assert process.call("search", query="tea", target="notes").status == 503
    wait_until(lambda: any("503" in line and "{" not in line for line in process.lines))
    assert process.end() == 0
    assert "hush" not in "".join(process.lines)


def test_who_is_told_twice_to_stop_leaves_without_a_traceback(notes: Path) -> None:
    process = Process()
    wait_until(process.ready)
    process.process.terminate()
    process.end()
    assert "Traceback" not in "".join(process.lines)


@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_there_is_not_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--port", port]) == 2
    assert f"There is no port {port}." in capsys.readouterr().err


def test_who_leaves_is_not_worked_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    noticed = threading.Event()

    def waits(name: str, arguments: Any, *, cancelled: Any, **more: Any) -> Any:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if cancelled():
                noticed.set()
                raise Cancelled("The call was cancelled.")
            time.sleep(0.005)

    monkeypatch.setattr(served.application.session, "call", waits)
    with pytest.raises(TimeoutError):
        served.ask("POST", "/v1/search", {"query": "tea"}, timeout=0.3)
    assert noticed.wait(5)
    wait_until(lambda: served.application.searching.held == 0)


def test_who_stops_listening_to_an_answer_stops_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.answer import Event

    noticed = threading.Event()

    def writes(name: str, arguments: Any, *, cancelled: Any, emit: Any, **more: Any) -> Any:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if cancelled():
                noticed.set()
                raise Cancelled("The call was cancelled.")
            emit(Event("token", {"text": "word "}))
            time.sleep(0.005)

    monkeypatch.setattr(served.application.session, "call", writes)
    events = served.events("POST", "/v1/ask", {"question": "tea"})
    assert next(events)[0] == "token"
    events.close()  # type: ignore[attr-defined]
    assert noticed.wait(5)
