"""The events of an answer, from a language model that behaves well, badly, or is not there."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.test_llm import Endpoint, endpoint, events, hangs_up, says, status

import ir
from ir import operations
from ir.answer import Event, Passage, answer_events, checked, follow_up
from ir.answer.prompt import fitted, prompt_for
from ir.errors import InvalidInput, LlmError

__all__ = ["endpoint"]  # a fixture

PASSAGES = [
    Passage(1, "green.md", "Green tea is steeped at 80 degrees. It must never be boiled.", label="green.md:1-2"),
    Passage(2, "black.md", "Black tea takes boiling water and four minutes.", label="black.md:1"),
]
QUESTION = "How hot is green tea steeped?"


@pytest.fixture
def teas(tmp_path: Path) -> str:
    for passage in PASSAGES:
        (tmp_path / passage.id).write_text(passage.text)
    ir.build(ir.CorpusSource.from_files(tmp_path, name="teas"), embedder="light")
    return "teas"


def kinds(found: list[Event]) -> list[str]:
    """The kinds of events, tokens that follow each other counted once."""
    names = [event.kind for event in found]
    return [name for place, name in enumerate(names) if name != "token" or names[place - 1] != "token"]


def test_events_come_in_order_and_the_context_has_ids_labels_and_scores(endpoint: Endpoint) -> None:
    llm = endpoint.client(events("At ", "80 degrees ", "[1]."))
    found = list(answer_events(QUESTION, PASSAGES, llm))
    assert kinds(found) == ["context", "generation", "token", "complete"]
    told = found[0].data["passages"]
    assert [(one["number"], one["id"], one["label"]) for one in told] == [
        (1, "green.md", "green.md:1-2"),
        (2, "black.md", "black.md:1"),
    ]
    assert all("score" in one for one in told)
    last = found[-1].data
    assert (last["answer"], last["cited"], last["flags"], last["by"]) == ("At 80 degrees [1].", [1], [], "tiny")
    assert all(json.dumps(event.data) for event in found)


def test_the_model_is_given_nothing_but_the_passages_and_the_conversation(endpoint: Endpoint) -> None:
    history = [{"role": "user", "content": "What is tea?"}, {"role": "assistant", "content": "A drink."}]
    list(answer_events(QUESTION, PASSAGES, endpoint.client(events("x")), history=history))
    (sent,) = endpoint.requests
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "[1] green.md:1-2\nGreen tea is steeped" in sent["messages"][-1]["content"]
    assert sent["messages"][-1]["content"].endswith(f"Question: {QUESTION}")
    assert sent["stream"] is True


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (status(429), "did not answer after"),
        (status(401, b'{"error": "bad key"}'), "refused the request"),
        (hangs_up, "did not answer after"),
        (events("At 80 ", done=False), "broke off its answer"),
        (lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"), "did not answer after"),
        (says(""), "holds no text"),
    ],
    ids=["429", "401", "hangs up", "cut stream", "no http", "empty"],
)
def test_a_failing_model_is_an_error_event_after_the_context(endpoint: Endpoint, behaviour: Any, said: str) -> None:
    found = list(answer_events(QUESTION, PASSAGES, endpoint.client(behaviour, retries=1)))
    assert kinds(found)[:2] == ["context", "generation"]
    last = found[-1]
    assert last.kind == "error"
    assert said in last.data["message"]
    assert last.data["code"] == "llm_error"
    assert "sk-very-secret" not in json.dumps([event.data for event in found])


def test_what_was_written_before_the_stream_was_cut_is_kept(endpoint: Endpoint) -> None:
    found = list(answer_events(QUESTION, PASSAGES, endpoint.client(events("At 80 ", done=False))))
    assert found[-1].data["answer"] == "At 80 "


def test_a_piece_is_told_before_the_next_one_is_written(endpoint: Endpoint) -> None:
    """Whoever listens has the first words while the model still writes."""
    goes_on = threading.Event()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for piece in ("one ", "two"):
            line = json.dumps({"choices": [{"delta": {"content": piece}}]})
            handler.wfile.write(f"data: {line}\n\n".encode())
            handler.wfile.flush()
            if piece == "one ":
                assert goes_on.wait(30)
        handler.wfile.write(b"data: [DONE]\n\n")

    stream = answer_events(QUESTION, PASSAGES, endpoint.client(slow, timeout_s=30))
    first = next(event for event in stream if event.kind == "token")
    assert first.data["text"] == "one "
    assert not goes_on.is_set()
    goes_on.set()
    assert [event.data["text"] for event in stream if event.kind == "token"] == ["two"]


def test_who_stops_listening_frees_the_connection(endpoint: Endpoint) -> None:
    gone = threading.Event()

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        line = json.dumps({"choices": [{"delta": {"content": "word "}}]})
        try:
            for _ in range(100_000):
                handler.wfile.write(f"data: {line}\n\n".encode())
                time.sleep(0.001)
        except OSError:
            gone.set()

    stream = answer_events(QUESTION, PASSAGES, endpoint.client(endless, timeout_s=30))
    next(event for event in stream if event.kind == "token")
    stream.close()  # type: ignore[attr-defined]
    assert gone.wait(30)


def test_without_a_model_the_best_sentences_answer_in_the_same_events() -> None:
    found = list(answer_events(QUESTION, PASSAGES))
    assert kinds(found) == ["context", "generation", "token", "complete"]
    assert found[-1].data["answer"] == "Green tea is steeped at 80 degrees. [1]"
    assert found[-1].data["by"] == "extract"


def test_an_answer_that_cites_nothing_gets_citations_that_are_marked(endpoint: Endpoint) -> None:
    llm = endpoint.client(events("Green tea is steeped at 80 degrees.\nThe moon is made of cheese."))
    last = list(answer_events(QUESTION, PASSAGES, llm))[-1].data
    assert last["flags"] == ["no_citation"]
    assert last["attached"] == [{"sentence": "Green tea is steeped at 80 degrees.", "passage": 1}]
    assert "80 degrees. [1, attached]" in last["cited_answer"]
    assert last["cited"] == []


def test_an_answer_that_cites_what_is_not_there_is_flagged() -> None:
    found = checked("Black tea takes four minutes [7]. Green tea is steeped at 80 degrees [1].", PASSAGES)
    assert found.unknown == (7,)
    assert found.cited == (1,)
    assert found.flags == ("unknown_citation",)
    assert found.attached == (("Black tea takes four minutes [7].", 2),)


def test_nothing_is_generated_where_nothing_answers(endpoint: Endpoint) -> None:
    llm = endpoint.client(events("I make things up"))
    found = list(answer_events(QUESTION, PASSAGES, llm, refused="below the floor"))
    assert kinds(found) == ["context", "complete"]
    assert found[-1].data["abstained"] is True
    assert not endpoint.requests


def test_passages_keep_to_their_budget() -> None:
    long = [Passage(number, f"{number}", "word " * 2000, label="x") for number in range(1, 6)]
    kept = fitted(long, 1000)
    assert len(kept) == 1
    assert len(prompt_for("q", kept)[-1]["content"]) < 4000
    many = [Passage(number, f"{number}", "word " * 40, label="x") for number in range(1, 60)]
    assert 5 < len(fitted(many, 1000)) < 20


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("And how long?", "How hot is green tea? And how long?"),
        ("Does it contain caffeine?", "How hot is green tea? Does it contain caffeine?"),
        ("Where do oolong teas grow in China?", "Where do oolong teas grow in China?"),
    ],
)
def test_a_follow_up_is_searched_with_what_it_leans_on(question: str, searched: str) -> None:
    assert follow_up(question, [{"role": "user", "content": "How hot is green tea?"}]) == searched


def test_the_operation_searches_abstains_and_answers(teas: str) -> None:
    answer = operations.ask(question=QUESTION, target=teas)
    assert answer.answer == "Green tea is steeped at 80 degrees. [1]"
    assert (answer.sources[0].id, answer.sources[0].cited) == ("green.md", True)
    assert "No language model is configured" in answer.notes[-1]
    nothing = operations.ask(question="zxqv wvut", target=teas)
    assert (nothing.abstained, nothing.answer) == (True, "")
    doubtful = operations.ask(question="degrees of freedom of robots", target=teas, anyway=True)
    assert doubtful.answer


def test_events_of_the_operation_begin_with_the_search(teas: str) -> None:
    found = list(operations.ask_events(question=QUESTION, target=teas))
    assert kinds(found) == ["search", "context", "generation", "token", "complete"]
    assert found[0].data["corpora"] == ["teas"]


def test_events_come_to_async_code_too(teas: str) -> None:
    async def collected() -> list[Event]:
        return [event async for event in operations.ask_events_async(question=QUESTION, target=teas)]

    assert kinds(asyncio.run(collected())) == ["search", "context", "generation", "token", "complete"]


def test_a_model_that_was_asked_for_must_be_configured(teas: str) -> None:
    with pytest.raises(LlmError, match="No language model is configured"):
        operations.ask(question=QUESTION, target=teas, llm=True)


@pytest.mark.parametrize(
    "turn", [{"role": "system", "content": "x"}, {"role": "user"}, "hello", {"role": "user", "content": 3}]
)
def test_a_turn_that_is_none_is_refused(teas: str, turn: Any) -> None:
    with pytest.raises(InvalidInput, match="history"):
        operations.ask(question=QUESTION, target=teas, history=(turn,))


@pytest.mark.slow
def test_a_real_model_answers_over_the_same_events(teas: str, monkeypatch: pytest.MonkeyPatch) -> None:
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp, which runs the model, is not installed")
    from tests.answer.language_model import model_file

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.cpuparams.n_threads = 1
    params.n_ctx = 1024
    params.n_parallel = 1
    params.port = 0
    server = xllamacpp.Server(params)
    monkeypatch.setenv("IR_LLM_BASE_URL", f"{server.listening_address}/v1")
    monkeypatch.setenv("IR_LLM_MODEL", "smollm2")
    monkeypatch.setenv("IR_LLM_TIMEOUT_S", "300")
    found = list(operations.ask_events(question=QUESTION, target=teas, llm=True, context_tokens=100, answer_tokens=24))
    assert kinds(found) == ["search", "context", "generation", "token", "complete"]
    assert len([event for event in found if event.kind == "token"]) > 1
    assert found[-1].data["answer"].strip()
    assert found[-1].data["cited"] or found[-1].data["flags"]
