"""What the operations answer over HTTP, and in which form."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.served import Served, serving

from ir.app.operation import operations
from ir.app.session import Session

QUESTIONS = {
    "search": {"query": "green tea", "target": "notes"},
    "discover": {"query": "green tea", "targets": ["notes"]},
    "get": {"items": ["tea.md"], "target": "notes"},
    "similar": {"item": "tea.md", "target": "notes"},
    "expand": {"item": "tea.md", "target": "notes"},
    "traverse": {"query": "green tea", "target": "notes"},
    "ask": {"question": "how hot is the water for green tea", "target": "notes", "llm": False},
    "ontology-query": {"semantic_query": "green tea", "target": "notes"},
    "status": {"target": "notes"},
    "grep": {"pattern": "tea", "target": "notes"},
    "info": {"target": "notes"},
    "ls": {},
}
#: What differs between two answers to the same question.
_VARYING = ("meta", "_meta", "seconds", "signals", "open", "result", "timings_ms", "answer")


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_operation_answers_what_the_library_answers(name: str, served: Served) -> None:
    answer = served.call(name, **QUESTIONS[name])
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    with Session() as session:
        own = session.call(name, QUESTIONS[name], door="http").to_dict()
    assert set(answer.json) == {*own}
    assert {k: v for k, v in answer.json.items() if k not in _VARYING} == {
        k: v for k, v in own.items() if k not in _VARYING
    }


def test_every_operation_with_the_door_has_a_route(served: Served) -> None:
    paths = served.get("/openapi.json").json["paths"]
    offered = {f"/v1/{name}" for name, one in operations().items() if "http" in one.doors}
    assert offered <= {*paths}
    assert {f"/v1/{name}" for name in (*QUESTIONS, "ground", "build", "refresh", "eval")} <= offered


def test_what_is_not_offered_here_is_not_found(served: Served) -> None:
    for name in ("rm", "config", "no-such-thing", "../etc/passwd"):
        assert served.call(name).code == "not_found"


def test_wrong_requests_say_what_is_wrong(served: Served) -> None:
    for body, status, code in (
        (b"{", 400, "not_json"),
        (b"[]", 400, "not_an_object"),
        (b'"\\ud800"', 400, "not_json"),
        (b"\xff\xfe", 400, "not_json"),
        (b"{}", 422, "invalid_input"),
        (b'{"query": 5}', 422, "invalid_input"),
        (b'{"query": "tea", "no_such_field": 1}', 422, "invalid_input"),
        (b'{"query": "tea", "target": "nobody"}', 404, "corpus_not_built"),
        (b'{"query": "tea", "filter": {"$nope": 1}}', 422, "filter_error"),
        (b'{"query": "tea", "embedder": "no-such-model"}', 422, "embedder_mismatch"),
    ):
        answer = served.ask("POST", "/v1/search", body)
        assert (answer.status, answer.code) == (status, code), answer.body
    assert served.get("/v1/search").status == 405
    assert served.get("/v1/search").headers["allow"] == "POST"
    assert served.call("get", items=["nobody.md"], target="notes").status == 404


def test_too_much_is_brought_down_with_a_note(served: Served) -> None:
    found = served.call("search", query="tea", target="notes", k=10**6).json
    assert "1000" in found["notes"][0]


def test_an_answer_comes_piece_by_piece_to_those_who_ask_for_events(served: Served) -> None:
    asked = {"question": "how hot is the water for green tea", "target": "notes", "llm": False}
    events = list(served.events("POST", "/v1/ask", asked))
    kinds = [kind for kind, _ in events]
    assert kinds[:2] == ["search", "context"]
    assert kinds[-1] == "complete"
    assert "80 degrees" in events[-1][1]["answer"]
    whole = served.call("ask", **asked).json
    assert whole["answer"] == events[-1][1]["answer"]


def test_what_goes_wrong_before_the_first_event_is_a_plain_refusal(served: Served) -> None:
    answer = served.ask(
        "POST", "/v1/ask", {"question": "tea", "target": "nobody"}, headers={"Accept": "text/event-stream"}
    )
    assert (answer.status, answer.code) == (404, "corpus_not_built")


def test_me_says_who_asks(served: Served) -> None:
    me = served.get("/v1/me").json
    assert me | {"version": ""} == {
        "name": "anybody",
        "workspace": "default",
        "corpora": None,
        "scopes": ["read", "write", "admin"],
        "version": "",
        "auth": "none",
    }


def test_health_readiness_and_request_ids(served: Served) -> None:
    assert served.get("/healthz").json == {"status": "ok"}
    assert served.get("/readyz").json == {"status": "ready"}
    assert served.get("/healthz", X_Request_Id="my-own.id").headers["x-request-id"] == "my-own.id"
    made = served.get("/healthz", X_Request_Id="not {allowed}").headers["x-request-id"]
    assert made != "not {allowed}"
    assert len(made) == 16


def test_a_change_is_seen_by_the_next_question(served: Served, notes: Path) -> None:
    assert not served.call("search", query="zeppelin", target="notes", mode="lexical").json["found"]
    (notes / "air.md").write_text("# Zeppelin\n\nA zeppelin flies slowly.\n")
    job = served.call("refresh", target="notes").json
    assert served.finished(job["job"])["result"]["added"] == 1
    assert served.call("search", query="zeppelin", target="notes", mode="lexical").json["found"]


def test_a_call_that_takes_too_long_is_ended(notes: Path) -> None:
    from dataclasses import replace

    from tests.web.served import LIMITS

    with serving(replace(LIMITS, call_s=0.0005)) as served:
        answer = served.call("search", query="tea", target="notes")
        assert (answer.status, answer.code) == (504, "deadline_exceeded")


def test_a_request_that_leads_nowhere_is_told_where_to_look(served: Served) -> None:
    for answer in (
        served.call("nothing"),
        served.get("/v1/search"),
        served.ask("POST", "/v1/search", b"tea"),
        served.ask("POST", "/v1/search", b"[]"),
    ):
        assert "/openapi.json" in answer.json["remedy"], answer.body
    assert "POST" in served.get("/v1/search").json["remedy"]
