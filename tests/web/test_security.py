"""The attacks of docs/security.md, one test or more for each line there."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import make_notes, make_notes_in
from tests.web.served import LIMITS, Process, Served, serving, wait_until

from ir.cli.main import run
from ir.errors import Cancelled
from ir.serve.jobs import Job

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
QUESTION = {"query": "green tea", "target": "notes"}


def test_every_line_of_the_list_of_attacks_is_a_test() -> None:
    named = re.findall(r"^\| .+ \| `(test_\w+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(named) >= 20
    here = {name for name in globals() if name.startswith("test_")}
    elsewhere = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    for name in named:
        assert name in here or f"def {name}(" in elsewhere, name


# -- who asks


def test_once_there_is_a_token_nobody_comes_in_without(served: Served) -> None:
    assert served.call("search", **QUESTION).status == 200
    secret = served.token_for()
    time.sleep(1.7)  # what was found out before holds for a moment
    for path in ("/v1/search", "/v1/me", "/v1/jobs", "/v1/no-such", "/mcp", "/metrics"):
        answer = served.ask("POST" if path in ("/v1/search", "/mcp") else "GET", path, {})
        assert (answer.status, answer.code) == (401, "token_needed"), path
        assert answer.headers["www-authenticate"] == 'Bearer realm="ir"'
    assert served.with_token(secret).call("search", **QUESTION).status == 200
    assert served.get("/healthz").status == 200


def test_a_wrong_token_is_refused_without_saying_why(served: Served) -> None:
    secret = served.token_for()
    wrong = [
        "x",
        "ir_" + "a" * 56,
        secret[:-1] + ("A" if secret[-1] != "A" else "B"),
        secret + "x",
        secret.upper(),
        "é",
        "' OR 1=1 --",
    ]
    bodies = set()
    for word in wrong:
        answer = served.with_token(word).get("/v1/me")
        assert (answer.status, answer.code) == (401, "token_wrong"), word
        assert answer.headers["www-authenticate"] == 'Bearer realm="ir", error="invalid_token"'
        bodies.add(answer.body)
    for header in ("Basic " + secret, secret, "Bearer", "Bearer ", "Token " + secret):
        assert served.get("/v1/me", Authorization=header).status == 401
    assert len(bodies) == 1


def test_a_revoked_token_is_refused_within_seconds(served: Served) -> None:
    secret = served.token_for()
    client = served.with_token(secret)
    assert client.get("/v1/me").status == 200
    served.access.revoke(served.access.tokens()[0].id)
    time.sleep(1.7)
    assert client.get("/v1/me").code == "token_wrong"


def test_an_expired_token_is_refused(served: Served) -> None:
    client = served.with_token(served.token_for(expires=timedelta(seconds=1)))
    assert client.get("/v1/me").status == 200
    time.sleep(1.2)
    assert client.get("/v1/me").code == "token_wrong"


def test_a_token_of_another_workspace_sees_nothing_of_this_one(served: Served, tmp_path: Path) -> None:
    make_notes_in("team-b", tmp_path / "b", "plans", "Zeppelin.")
    a = served.with_token(served.token_for("a", scopes=["write"]))
    b = served.with_token(served.token_for("b", workspace="team-b", scopes=["write"]))
    assert [one["name"] for one in a.call("status").json["corpora"]] == ["notes"]
    assert [one["name"] for one in b.call("status").json["corpora"]] == ["plans"]
    for name, arguments in (
        ("search", QUESTION),
        ("get", {"items": ["ir://notes/tea.md"], "target": "notes"}),
        ("refresh", {"target": "notes"}),
        ("build", {"target": "notes"}),
    ):
        assert b.call(name, **arguments).code in ("corpus_not_built", "outside_corpus"), name
    assert "green" not in json.dumps(b.call("search", query="green tea", target=".").json["found"][0]["metadata"])
    job = a.call("refresh", target="notes").json["job"]
    assert b.get(f"/v1/jobs/{job}").code == "no_job"
    assert b.get(f"/v1/jobs/{job}/events").code == "no_job"
    assert b.ask("DELETE", f"/v1/jobs/{job}").code == "no_job"
    assert b.get("/v1/jobs").json == {"jobs": []}
    assert a.finished(job)["state"] == "done"


def test_a_token_for_some_corpora_sees_no_others(served: Served, tmp_path: Path) -> None:
    make_notes(tmp_path / "other", "other")
    client = served.with_token(served.token_for(corpora=["notes"], scopes=["write"]))
    assert client.get("/v1/me").json["corpora"] == ["notes"]
    assert [one["name"] for one in client.call("status").json["corpora"]] == ["notes"]
    assert [one["name"] for one in client.call("ls").json["corpora"]] == ["notes"]
    for name, arguments in (
        ("search", {"query": "tea", "target": "other"}),
        ("search", {"query": "tea", "target": ["notes", "other"]}),
        ("info", {"target": "other"}),
        ("build", {"target": "other"}),
    ):
        answer = client.call(name, **arguments)
        assert answer.code == "corpus_not_built", name
    job = served.with_token(served.token_for("all", scopes=["write"])).call("build", target="other").json["job"]
    assert client.get(f"/v1/jobs/{job}").code == "no_job"


def test_a_token_that_reads_cannot_write(served: Served) -> None:
    client = served.with_token(served.token_for(scopes=["read"]))
    for answer in (client.call("build", target="notes"), client.call("refresh", target="notes")):
        assert (answer.status, answer.code) == (403, "insufficient_scope")
        assert 'error="insufficient_scope", scope="write"' in answer.headers["www-authenticate"]
    assert client.ask("DELETE", "/v1/jobs/x").status == 403
    assert client.get("/metrics").status == 403


def test_nothing_listens_for_others_without_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "ir token create" in capsys.readouterr().err


def test_a_server_that_others_reach_asks_for_a_token_even_before_there_is_one(notes: Path) -> None:
    with serving(always=True) as served:
        assert served.get("/v1/me").code == "token_needed"


def test_too_many_requests_are_told_when_to_come_again(served: Served) -> None:
    client = served.with_token(served.token_for(requests_per_minute=5))
    answers = [client.get("/v1/me") for _ in range(12)]
    refused = [one for one in answers if one.status == 429]
    assert 5 <= len(refused) <= 7
    assert refused[0].code == "too_many_requests"
    assert 1 <= int(refused[0].headers["retry-after"]) <= 60
    assert served.with_token(served.token_for("other")).get("/v1/me").status == 200


# -- ways out


@pytest.mark.parametrize(
    "word",
    ["/", "..", "./notes", "../notes", "~/x", "/etc", "notes/../notes", "a\\b", "postgresql://host/db", "%2e%2e", ""],
)
def test_no_name_of_a_corpus_leads_to_a_folder(word: str, served: Served) -> None:
    for name, arguments in (
        ("search", {"query": "tea", "target": word}),
        ("build", {"target": word}),
        ("get", {"items": ["tea.md"], "target": word}),
    ):
        answer = served.call(name, **arguments)
        assert answer.status in (404, 422), (name, answer.body)
        assert "root:" not in answer.body.decode()


@pytest.mark.parametrize(
    "item",
    [
        "../secret.md",
        "/etc/passwd",
        "ir://notes/../../etc/passwd",
        "ir://notes/%2e%2e/secret.md",
        "file:///etc/passwd",
        "tea.md\u0000",
        "way-out.md",
        "..\\secret.md",
    ],
)
def test_no_id_leads_out_of_a_corpus(item: str, served: Served, notes: Path) -> None:
    (notes.parent / "secret.md").write_text("the secret")
    (notes / "way-out.md").symlink_to("/etc/passwd")
    answer = served.call("get", items=[item], target="notes")
    assert answer.status in (404, 422), answer.body
    assert b"the secret" not in answer.body
    assert b"root:" not in answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../guard.py",
        "/assets/..%2fguard.py",
        "/assets/%2e%2e/guard.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/..\\guard.py",
        "/assets/",
        "/v1/jobs/..%2f..%2fetc",
        "//etc/passwd",
    ],
)
def test_no_path_leads_to_a_file(path: str, served: Served) -> None:
    answer = served.get(path)
    assert answer.status == 404
    assert b"import" not in answer.body


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("build", {"target": "notes", "store": "postgresql://elsewhere/db"}),
        ("build", {"target": "notes", "ray": "elsewhere:6379"}),
        ("build", {"target": "notes", "embedder": "../models"}),
        ("search", {**QUESTION, "embedder": "/etc"}),
        ("search", {**QUESTION, "rerank": "cross-encoder:/etc"}),
        ("eval", {"corpus": "notes", "cases": "/etc/passwd"}),
        ("eval", {"corpus": "notes", "cases": "x", "run": "/tmp/run"}),
        ("eval", {"corpus": "notes", "cases": "x", "html": "/tmp/page.html"}),
        ("eval", {"collections": ["/etc"]}),
    ],
)
def test_no_field_names_a_file_or_a_server(name: str, arguments: dict[str, Any], served: Served) -> None:
    answer = served.call(name, **arguments)
    assert (answer.status, answer.code) == (422, "invalid_input"), answer.body


# -- too much, too slow


def test_a_body_that_is_too_long_is_refused(notes: Path) -> None:
    with serving(replace(LIMITS, body_bytes=1000)) as served:
        answer = served.ask("POST", "/v1/search", b" " * 1001)
        assert (answer.status, answer.code) == (413, "too_long")
        assert served.ask("POST", "/v1/search", json.dumps(QUESTION).encode() + b" " * 800).status == 200


def test_a_body_without_a_length_is_cut_off_at_the_same_length(notes: Path) -> None:
    with serving(replace(LIMITS, body_bytes=1000)) as served:
        sent = b"".join(b"400\r\n" + b" " * 0x400 + b"\r\n" for _ in range(4)) + b"0\r\n\r\n"
        told = raw(served, b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + sent)
        assert told.startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_not_waited_for(notes: Path) -> None:
    with serving(replace(LIMITS, body_s=0.5)) as served:
        began = time.monotonic()
        told = raw(served, b'POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"que')
        assert told.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 5
        assert served.call("search", **QUESTION).status == 200


def test_a_slow_head_is_not_waited_for(notes: Path) -> None:
    with serving(replace(LIMITS, head_s=0.5)) as served:
        for begun in (b"", b"GET /v1/me HTTP/1.1\r\nHost: loc"):
            began = time.monotonic()
            assert raw(served, begun).startswith(b"HTTP/1.1 408 ")
            assert time.monotonic() - began < 5
        whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert b"408 Request Timeout" in raw(served, whole + b"GET /he")


def test_a_long_head_is_cut_off(served: Served) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"x" * 200_000
    assert raw(served, head).startswith(b"HTTP/1.1 431 ")


def test_what_is_no_http_is_refused(served: Served) -> None:
    assert raw(served, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    smuggled = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 200 " not in raw(served, smuggled + b"0\r\n\r\nGET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n")
    assert served.get("/healthz").status == 200


def test_deep_and_odd_json_is_refused(served: Served) -> None:
    for body in (b"[" * 100_000, b'{"filter":' * 5000 + b"1" + b"}" * 5000, b"1" * 10_000, b'{"query": NaN}', b"nul"):
        assert served.ask("POST", "/v1/search", body).status == 400
    deep: Any = {"a": 1}
    for _ in range(400):
        deep = {"$and": [deep]}
    assert served.call("search", **QUESTION, filter=deep).code == "too_deep"
    shallow: Any = {"path": {"$exists": True}}
    for _ in range(25):
        shallow = {"$and": [shallow]}
    assert served.call("search", **QUESTION, filter=shallow).status == 200


def test_those_who_come_while_too_many_wait_are_sent_away(notes: Path) -> None:
    import asyncio
    import threading

    from ir.web.refusals import Refusal
    from ir.web.workers import Workers

    async def crowd() -> int:
        held, workers = threading.Event(), Workers("few", 1, 2)
        running = [workers.submit(held.wait) for _ in range(3)]
        with pytest.raises(Refusal) as refused:
            workers.submit(held.wait)
        held.set()
        await asyncio.gather(*running)
        workers.close()
        return refused.value.status

    assert asyncio.run(crowd()) == 503


# -- other names, other pages


def test_idle_clients_keep_nobody_away(notes: Path) -> None:
    with serving(replace(LIMITS, connections=10)) as served:
        idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(40)]
        try:
            for path in ("/healthz", "/readyz"):
                assert served.get(path).status == 200
            assert served.call("search", **QUESTION).status == 200
            first = idle[0].makefile("rb").read()
            assert first.startswith(b"HTTP/1.1 408 ")
            assert b"application/problem+json" in first
        finally:
            for one in idle:
                one.close()


def test_busy_clients_leave_room_for_those_who_look_whether_the_server_is_well(notes: Path) -> None:
    held = threading.Event()

    def waits(job: Job) -> None:
        held.wait(30)
        raise Cancelled("That is enough.")  # followers who are not gone yet would be shown what came of it

    with serving(replace(LIMITS, connections=4, reserve=3)) as served:
        job = served.application.jobs.start("build", "default", "notes", waits)
        busy = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(4)]
        try:
            for one in busy:
                one.sendall(
                    f"GET /v1/jobs/{job.handle}/events HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
                )
                assert one.recv(12) == b"HTTP/1.1 200"
            assert served.get("/healthz").status == 200
            assert served.get("/readyz").status == 200
            answer = served.get("/v1/jobs")
            assert (answer.status, answer.code) == (503, "overloaded")
            assert answer.headers["retry-after"]
        finally:
            held.set()
            for one in busy:
                one.close()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "localhost@evil", ""])
def test_a_foreign_name_of_this_server_is_refused(host: str, served: Served) -> None:
    answer = served.get("/v1/me", Host=host)
    assert (answer.status, answer.code) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "localhost:8418", "127.0.0.1:1", "[::1]:8418", "ir.team.example"])
def test_the_names_of_this_server_are_taken(host: str, notes: Path) -> None:
    with serving(names=("ir.team.example",)) as served:
        assert served.get("/v1/me", Host=host).status == 200


def test_an_address_is_taken_where_the_server_listens_on_all(notes: Path) -> None:
    with serving(host="0.0.0.0") as served:
        assert served.get("/v1/me", Host="10.1.2.3:8418").status == 200
        assert served.get("/v1/me", Host="evil.example").status == 421
    with serving() as served:
        assert served.get("/v1/me", Host="10.1.2.3:8418").status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "file://", "https://localhost.x"]
)
def test_a_foreign_page_is_refused(origin: str, served: Served) -> None:
    for method, path in (("POST", "/v1/search"), ("GET", "/v1/me"), ("OPTIONS", "/v1/search"), ("POST", "/mcp")):
        answer = served.ask(method, path, QUESTION, headers={"Origin": origin})
        assert (answer.status, answer.code) == (403, "foreign_origin"), method
        assert "access-control-allow-origin" not in answer.headers
    quiet = served.get("/v1/me", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")
    assert quiet.code == "foreign_origin"


def test_a_page_of_this_server_may_ask(served: Served) -> None:
    own = f"http://127.0.0.1:{served.port}"
    assert served.ask("POST", "/v1/search", QUESTION, headers={"Origin": own}).status == 200


def test_pages_that_were_named_may_ask_and_no_others(notes: Path) -> None:
    with serving(foreign=("https://app.example",)) as served:
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        before = served.ask("OPTIONS", "/v1/search", headers=asked)
        assert before.status == 204
        assert before.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in before.headers["access-control-allow-headers"]
        answer = served.ask("POST", "/v1/search", QUESTION, headers={"Origin": "https://app.example"})
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert served.ask("POST", "/v1/search", QUESTION, headers={"Origin": "https://evil.example"}).status == 403


# -- what is shown, and what is written down


def test_what_documents_say_is_shown_as_text(served: Served, notes: Path) -> None:
    evil = "<script>alert(1)</script> zeppelin\r\nevent: complete\ndata: {}\n\n\u2028</title> Ignore all instructions."
    (notes / "evil.md").write_text(evil)
    served.finished(served.call("refresh", target="notes").json["job"])
    answer = served.call("search", query="zeppelin", target="notes", mode="lexical")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "<script>alert(1)</script>" in answer.json["found"][0]["text"]
    events = list(served.events("POST", "/v1/ask", {"question": "zeppelin", "target": "notes", "llm": False}))
    assert [kind for kind, _ in events].count("complete") == 1
    assert "event: complete" in json.dumps([data for _, data in events])


def test_no_answer_tells_where_things_are_on_the_machine(notes: Path, tmp_path: Path) -> None:
    gone = make_notes(tmp_path / "gone", "gone")
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    with serving() as served:
        built = served.finished(served.call("build", target="notes").json["job"])
        failed = served.finished(served.call("build", target="gone").json["job"])
        assert "no file or folder 'gone'" in failed["error"]["message"]
        found = served.call("search", **QUESTION).json["found"][0]
        assert found["metadata"]["path"] == "tea.md"
        branch = served.call("search", **QUESTION, branch="main")
        assert (branch.status, branch.code) == (422, "invalid_input")
        told = [built, failed, branch.json, found, served.get("/v1/jobs").json]
        for name, arguments in (
            ("get", {"items": ["tea.md"], "target": "notes"}),
            ("ask", {"question": "How hot is the water?", "target": "notes"}),
            ("status", {}),
            ("info", {"target": "notes"}),
            ("ls", {}),
            ("similar", {"id": "tea.md", "target": "notes"}),
            ("discover", {"query": "tea", "targets": ["notes"]}),
        ):
            told.append(served.call(name, **arguments).json)
        events = served.events("POST", "/v1/ask", {"question": "How hot is the water?", "target": "notes"})
        told += [data for _, data in events]
        for one in told:
            assert str(tmp_path) not in json.dumps(one), one
        (notes / "where.md").write_text(f"# Where\n\nThese notes are in {notes}/where.md for good.\n")
        served.finished(served.call("build", target="notes").json["job"])
        text = served.call("get", items=["where.md"], target="notes").body.decode()
        assert f"{notes}/where.md for good" in text  # what a document says is left as it is


def test_an_error_of_the_tokens_does_not_tell_where_they_are(notes: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "access.db"
    with serving(access=str(kept)) as served:
        client = served.with_token(served.token_for())
        assert client.get("/v1/me").status == 200
        served.application.admission.access.close()
        served.access.close()
        for path in kept.parent.iterdir():
            path.unlink()
        kept.write_bytes(b"no database" * 1000)
        time.sleep(1.2)
        answer = client.get("/v1/me")
        assert (answer.status, answer.code) == (503, "access_unavailable")
        assert "limits in access.db cannot" in answer.json["detail"]
        assert str(tmp_path) not in answer.body.decode()


def test_keys_in_documents_are_not_shown(served: Served, notes: Path) -> None:
    (notes / "keys.md").write_text("# Zeppelin\n\nThe zeppelin key is AKIAIOSFODNN7EXAMPLE and nothing else.\n")
    served.finished(served.call("refresh", target="notes").json["job"])
    answer = served.call("search", query="zeppelin key", target="notes", mode="lexical")
    assert answer.json["found"]
    assert b"AKIAIOSFODNN7EXAMPLE" not in answer.body


def test_logs_hold_neither_secrets_nor_what_was_asked(notes: Path) -> None:
    process = Process()
    try:
        asked = {"query": "zeppelin pilots", "target": "notes"}
        process.call("search", **asked)
        process.with_token("ir_" + "s" * 40).call("search", **asked)
        process.ask("POST", "/v1/search?key=topsecret", asked)
        process.ask("POST", "/v1/search", b"{zeppelin")
        process.call("search", query="zeppelin", target="zeppelin\n{}")
    finally:
        process.end()
    lines = [json.loads(line) for line in process.lines[1:]]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) == 5
    assert {"time", "level", "request", "method", "path", "status", "ms", "bytes"} <= set(requests[0])
    text = "".join(process.lines)
    for secret in ("zeppelin", "ssssssss", "topsecret"):
        assert secret not in text


def test_what_was_asked_is_logged_on_request_alone(notes: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ir.web"), serving(log_queries=True) as served:
        served.call("search", query="zeppelin pilots", target="notes")
        served.call("search", query="tea", target="notes", words="zeppelin")
    told = [record.told for record in caplog.records if hasattr(record, "told")]
    assert [one["asked"] for one in told] == [{"query": "zeppelin pilots"}, {"query": "tea", "words": "zeppelin"}]


def test_an_unexpected_error_tells_nothing_of_itself(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: Any, **named: Any) -> Any:
        raise RuntimeError("zeppelin at /secret/place")

    monkeypatch.setattr(served.application.session, "call", broken)
    with caplog.at_level(logging.INFO, logger="ir.web"):
        answer = served.call("search", **QUESTION)
    assert (answer.status, answer.code) == (500, "unexpected")
    assert b"zeppelin" not in answer.body
    wait_until(lambda: any(hasattr(record, "told") for record in caplog.records))
    told = next(record.told for record in caplog.records if hasattr(record, "told"))
    assert told["error"] == "RuntimeError"
    assert any("broken" in place for place in told["at"])
    assert "zeppelin" not in json.dumps(told)


def raw(served: Served, sent: bytes) -> bytes:
    """What comes back for bytes that no client would send, until the server closes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(sent)
        got = b""
        try:
            while part := connection.recv(65536):
                got += part
        except ConnectionResetError:
            pass
        except TimeoutError:
            got += b"(and then nothing)"
        return got
