"""What a caller may choose: nothing that sends texts of a corpus, or a key, to a server that no user chose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.serving import Server
from tests.models.serving import serving as playing
from tests.web.served import Served

import ir
from ir.app.fields import fields_of
from ir.app.operation import operations
from ir.app.session import Session
from ir.config import set_setting
from ir.errors import InvalidInput
from ir.registry import source_for

QUESTION = {"query": "green tea", "target": "notes"}


def play(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
    if path.endswith("/rerank"):
        scores = [{"index": number, "relevance_score": 0.5} for number in range(len(body["documents"]))]
        return 200, {"results": scores}, {}
    rows = [{"index": number, "embedding": [1.0, 0.5, len(text)]} for number, text in enumerate(body["input"])]
    return 200, {"data": rows}, {}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with models that is not chosen for anything yet, though its address and the key are there."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    with playing(play) as running:
        monkeypatch.setenv("IR_EMBED_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("IR_OLLAMA_BASE_URL", running.url)
        monkeypatch.setenv("IR_RERANK_BASE_URL", f"{running.url}/v1")
        yield running


def test_nobody_sends_a_corpus_to_a_server_that_the_user_did_not_choose(elsewhere: Server, served: Served) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("build", {"target": "notes"}),
        ("search", QUESTION),
        ("discover", {"query": "green tea", "targets": ["notes"]}),
        ("ask", {"question": "How hot?", "target": "notes"}),
        ("eval", {"corpus": "notes", "cases": "mine"}),
    ]
    for name, arguments in asked:
        for embedder in ("openai:text-embedding-3-small", "ollama:nomic", "own:model"):
            answer = served.call(name, **arguments, embedder=embedder)
            assert (answer.status, answer.code) == (422, "invalid_input"), (name, answer.body)
            assert answer.json["detail"] == "embedder names a server that the user did not choose."
    assert served.get("/v1/jobs").json == {"jobs": []}
    assert elsewhere.requests == []


def test_every_embedder_and_reranker_that_can_be_named_from_elsewhere_is_looked_at() -> None:
    for name, one in operations().items():
        if one.doors & {"http", "mcp"}:
            for field in fields_of(one.request).values():
                if any(word in field.name for word in ("embedder", "rerank")):
                    assert field.arg.setting is not None, (name, field.name)


def test_an_agent_is_refused_the_same(elsewhere: Server, notes: Path) -> None:
    with Session() as session, pytest.raises(InvalidInput, match="did not choose"):
        session.call("search", {**QUESTION, "embedder": "openai:small"}, door="mcp")


def test_the_embedder_that_the_user_chose_may_be_named(
    elsewhere: Server, served: Served, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir.register("remote", "files", root=str(notes), embedder="openai:small")
    ir.build(source_for("remote"), embedder="openai:small")
    assert served.call("search", query="tea", target="remote", embedder="openai:small").status == 200
    assert served.call("search", query="tea", target=["remote", "notes"], embedder="openai:small").status == 422
    assert served.call("search", query="tea", target="remote", embedder="openai:large").status == 422
    monkeypatch.delenv("IR_EMBEDDER")
    set_setting("embedder", "openai:small")
    told = served.finished(served.call("build", target="notes", embedder="openai:small").json["job"])
    assert told["state"] == "done", told


def test_nobody_spends_the_users_money_on_a_reranker(elsewhere: Server, served: Served) -> None:
    for name, arguments in (("search", QUESTION), ("ask", {"question": "How hot?", "target": "notes"})):
        answer = served.call(name, **arguments, rerank="http:large")
        assert (answer.status, answer.code) == (422, "invalid_input"), answer.body
    assert elsewhere.requests == []
    assert "not on this machine" in served.call("search", **QUESTION, rerank="cross-encoder:nobody").json["detail"]
    set_setting("retrieval.reranker", "http:large")
    assert served.call("search", **QUESTION, rerank="http:large").status == 200
    assert [path for path, _ in elsewhere.requests] == ["/v1/rerank"]
    assert served.call("search", **QUESTION, rerank="http:larger").status == 422


def test_an_unknown_field_is_told_the_fields_that_there_are_here(served: Served) -> None:
    for name, private in (("build", ("ray", "store")), ("eval", ("collections", "html"))):
        told = served.call(name, keep=1).json["detail"] + served.call(name, keep=1).json["remedy"]
        assert "embedder" in told
        assert not any(f"{word!r}" in told for word in private), told
