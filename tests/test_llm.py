from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import ir
from ir.errors import InvalidInput, LlmError
from ir.llm import LlmClient, first_use
from ir.select import make_llm_selector

KEY = "sk-very-secret-123"
Behaviour = Callable[[BaseHTTPRequestHandler], None]


def chat(text: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


def reply(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json", **more: str
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in more.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


class Endpoint:
    """A real server on the loopback interface that does, request by request, what it is told."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                endpoint.requests.append({"path": self.path, **json.loads(body)})
                endpoint.headers.append(dict(self.headers))
                place = min(len(endpoint.requests), len(endpoint.behaviours)) - 1
                try:
                    endpoint.behaviours[place](self)
                except (BrokenPipeError, ConnectionResetError):
                    return

            def log_message(self, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def client(self, *behaviours: Behaviour, **options: Any) -> LlmClient:
        self.behaviours = list(behaviours)
        return LlmClient(self.url, "tiny", **{"api_key": KEY, "backoff_s": 0.0, "timeout_s": 5.0, **options})

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Endpoint()
    yield server
    server.close()


def says(text: Any) -> Behaviour:
    return lambda handler: reply(handler, 200, chat(text))


def status(code: int, body: bytes = b"{}", **headers: str) -> Behaviour:
    return lambda handler: reply(handler, code, body, **headers)


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def events(*chunks: str, done: bool = True) -> Behaviour:
    lines = [json.dumps({"choices": [{"delta": {"content": chunk}}]}) for chunk in chunks]
    text = "".join(f": keep alive\n\ndata: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])])
    return lambda handler: reply(handler, 200, text.encode(), "text/event-stream")


def test_it_asks_the_chat_endpoint_with_the_key(endpoint: Endpoint) -> None:
    client = endpoint.client(says(" hello "), temperature=0.0, max_tokens=7)
    assert client.complete("say hello") == " hello "
    (sent,) = endpoint.requests
    assert sent == {
        "path": "/v1/chat/completions",
        "model": "tiny",
        "messages": [{"role": "user", "content": "say hello"}],
        "stream": False,
        "temperature": 0.0,
        "max_tokens": 7,
    }
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert client([{"role": "system", "content": "be brief"}]) == " hello "
    assert endpoint.requests[1]["messages"] == [{"role": "system", "content": "be brief"}]


@pytest.mark.parametrize("trouble", [status(429), status(500), status(503, Retry_After="0"), hangs_up])
def test_passing_trouble_is_tried_again(endpoint: Endpoint, trouble: Behaviour) -> None:
    assert endpoint.client(trouble, trouble, says("at last")).complete("q") == "at last"
    assert len(endpoint.requests) == 3


def test_lasting_trouble_is_an_error_that_counts_the_tries(endpoint: Endpoint) -> None:
    with pytest.raises(LlmError, match=r"after 3 tries: HTTP status 500"):
        endpoint.client(status(500)).complete("q")


def test_a_refusal_is_not_tried_again(endpoint: Endpoint) -> None:
    with pytest.raises(LlmError, match="refused the request: HTTP status 401"):
        endpoint.client(status(401)).complete("q")
    assert len(endpoint.requests) == 1


def test_a_server_that_asks_for_more_patience_than_there_is(endpoint: Endpoint) -> None:
    with pytest.raises(LlmError, match="after 1 tries: HTTP status 429"):
        endpoint.client(status(429, Retry_After="3600")).complete("q")


def test_a_redirect_is_not_followed_with_the_key(endpoint: Endpoint) -> None:
    with pytest.raises(LlmError, match="HTTP status 302"):
        endpoint.client(status(302, Location="http://127.0.0.1:9/")).complete("q")


def test_a_slow_server_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    released = threading.Event()
    began = time.monotonic()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        released.wait(20)

    client = endpoint.client(silent, timeout_s=0.3)
    with pytest.raises(LlmError, match="timed out"):
        client.complete("q")
    released.set()
    assert time.monotonic() - began < 5


def test_a_dripping_server_is_given_up_at_the_deadline(endpoint: Endpoint) -> None:
    released = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not released.wait(0.02):
            handler.wfile.write(b" ")

    began = time.monotonic()
    with pytest.raises(LlmError, match="timed out"):
        endpoint.client(drip, timeout_s=0.3).complete("q")
    released.set()
    assert time.monotonic() - began < 5


def test_a_server_that_is_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = LlmClient(f"http://127.0.0.1:{port}/v1", "tiny", retries=1, backoff_s=0.0)
    with pytest.raises(LlmError, match=rf"127\.0\.0\.1:{port} did not answer after 2 tries: .*refused"):
        client.complete("q")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b"\xff\xfe",
        chat(""),
        chat("  "),
        chat(None),
        chat(3),
    ],
)
def test_nonsense_is_an_error(endpoint: Endpoint, body: bytes) -> None:
    with pytest.raises(LlmError, match=r"holds no text|is not JSON"):
        endpoint.client(lambda handler: reply(handler, 200, body)).complete("q")
    assert len(endpoint.requests) == 1


def test_a_stream_comes_piece_by_piece(endpoint: Endpoint) -> None:
    client = endpoint.client(events("Hel", "", "lo"))
    assert list(client.stream("q")) == ["Hel", "lo"]
    assert endpoint.requests[0]["stream"] is True


def test_a_stream_is_tried_again_before_its_first_piece(endpoint: Endpoint) -> None:
    assert list(endpoint.client(status(503), hangs_up, events("ok")).stream("q")) == ["ok"]


def test_a_stream_that_breaks_off_raises_after_what_came(endpoint: Endpoint) -> None:
    stream = endpoint.client(events("half", done=False)).stream("q")
    assert next(stream) == "half"
    with pytest.raises(LlmError, match="broke off"):
        next(stream)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("data", ["not json", "[1]", '{"error": {"message": "overloaded"}}', '{"choices": [7]}'])
def test_a_stream_of_nonsense_is_an_error(endpoint: Endpoint, data: str) -> None:
    body = f"data: {data}\n\n".encode()
    with pytest.raises(LlmError, match="language model"):
        list(endpoint.client(lambda handler: reply(handler, 200, body, "text/event-stream")).stream("q"))


def test_an_empty_stream_is_an_error(endpoint: Endpoint) -> None:
    with pytest.raises(LlmError, match="empty text"):
        list(endpoint.client(events()).stream("q"))


def test_a_server_without_streaming_answers_in_one_piece(endpoint: Endpoint) -> None:
    assert list(endpoint.client(says("whole")).stream("q")) == ["whole"]


def test_the_key_is_shown_nowhere(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    for behaviour in (status(401, f"bad key {KEY}".encode()), status(500, KEY.encode()), hangs_up):
        client = endpoint.client(behaviour)
        with pytest.raises(LlmError) as caught:
            client.complete("q")
        told += [repr(client), str(client), str(caught.value), repr(caught.value), caplog.text]
    with pytest.raises(LlmError) as caught:
        LlmClient(endpoint.url, "tiny", api_key=f"{KEY}\nX-Evil: 1")
    told.append(str(caught.value))
    assert all(KEY not in text for text in told)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:80", "", "http://me:pw@host/v1"])
def test_addresses_that_are_no_endpoint_are_refused(url: str) -> None:
    with pytest.raises(LlmError, match=r"llm\.base_url must"):
        LlmClient(url, "tiny")


def test_settings_describe_the_client(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_LLM_BASE_URL", endpoint.url)
    monkeypatch.setenv("IR_LLM_MODEL", "from-settings")
    monkeypatch.setenv("IR_LLM_API_KEY_ENV", "MY_KEY")
    monkeypatch.setenv("IR_LLM_TIMEOUT_S", "4.5")
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    client = LlmClient.from_settings(model=None)
    assert (client.base_url, client.model, client.api_key, client.timeout_s) == (
        endpoint.url,
        "from-settings",
        KEY,
        4.5,
    )
    assert LlmClient.from_settings(model="other").model == "other"


def test_without_settings_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IR_LLM_BASE_URL", raising=False)
    with pytest.raises(LlmError, match=r"llm\.base_url is not set.*ir config set"):
        LlmClient.from_settings()


def test_first_use_waits_for_the_first_question(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = first_use(model="tiny")
    with pytest.raises(LlmError, match="not set"):
        complete("q")
    monkeypatch.setenv("IR_LLM_BASE_URL", endpoint.url)
    endpoint.behaviours = [says("now")]
    assert complete("q") == "now"
    with pytest.raises(InvalidInput, match=r"Unknown language model setting 'modle'.*Did you mean 'model'"):
        first_use(modle="x")


@pytest.fixture
def configured(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """The endpoint as the user's settings name it."""
    monkeypatch.setenv("IR_LLM_BASE_URL", endpoint.url)
    monkeypatch.setenv("IR_LLM_MODEL", "tiny")
    return endpoint


HITS = [ir.SearchHit("brew", "document", 0.9, "tea"), ir.SearchHit("bake", "document", 0.3, "bread")]


def test_the_seams_ask_the_configured_model(configured: Endpoint) -> None:
    configured.behaviours = [says("1. green tea\n2. black tea\n\n- herbal tea\nwhite tea")]
    assert ir.make_llm_formulator(n=3)("tea") == ["green tea", "black tea", "herbal tea"]
    assert "3 short" in configured.requests[0]["messages"][0]["content"]
    configured.behaviours = [says("- `bake`\n")]
    assert ir.select(HITS, strategy=make_llm_selector("loaf")).selected_ids == ["bake"]
    assert "- brew: tea" in configured.requests[1]["messages"][0]["content"]
    configured.behaviours = [says("NONE.")]
    assert ir.select(HITS, strategy=make_llm_selector("planes")).reason == "abstain:custom"
    configured.behaviours = [says(" About {tea}. ")]
    strategy = ir.with_synopsis(ir.WholeText(), synthesize=ir.make_llm_synthesizer())
    assert [surface.text for surface in strategy.decompose("a", "tea {x}").surfaces] == ["About {tea}.", "tea {x}"]
    assert "Document:\ntea {x}" in configured.requests[3]["messages"][0]["content"]


@pytest.mark.parametrize("trouble", [status(400), says("  "), lambda handler: reply(handler, 200, b"<html>")])
def test_the_seams_do_without_a_model_that_fails(
    configured: Endpoint, trouble: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    configured.behaviours = [trouble]
    assert ir.make_llm_formulator()("tea") == "tea"
    selection = ir.select(HITS, strategy=make_llm_selector("tea"))
    assert selection.selected_ids == ["brew"]
    assert "selecting without it" in selection.signals["note"]
    strategy = ir.with_synopsis(ir.WholeText(), synthesize=ir.make_llm_synthesizer(timeout_s=1.0))
    assert [surface.kind for surface in strategy.decompose("a", "tea").surfaces] == ["document"]
    assert len(caplog.records) == 3


def silent(handler: BaseHTTPRequestHandler) -> None:
    """Hold the line until the client gives up."""
    handler.connection.settimeout(20)
    handler.connection.recv(1)


@pytest.mark.parametrize("down", [True, False])
def test_the_seams_do_without_a_model_that_is_down_or_slow(
    configured: Endpoint, down: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configured.behaviours = [silent]
    if down:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            monkeypatch.setenv("IR_LLM_BASE_URL", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    hurried = {"timeout_s": 0.2, "retries": 0}
    began = time.monotonic()
    assert ir.make_llm_formulator(**hurried)("tea") == "tea"
    selection = ir.select(HITS, strategy=make_llm_selector("tea", **hurried))
    assert selection.selected_ids == ["brew"]
    assert "selecting without it" in selection.signals["note"]
    strategy = ir.with_synopsis(ir.WholeText(), synthesize=ir.make_llm_synthesizer(**hurried))
    assert [surface.kind for surface in strategy.decompose("a", "tea").surfaces] == ["document"]
    assert len(caplog.records) == 3
    assert all(("refused" if down else "timed out") in record.getMessage() for record in caplog.records)
    assert time.monotonic() - began < 10


def test_making_seams_asks_nothing(configured: Endpoint) -> None:
    ir.make_llm_formulator()
    ir.make_llm_synthesizer()
    make_llm_selector("q")
    ir.with_synopsis(ir.WholeText())
    assert configured.requests == []
