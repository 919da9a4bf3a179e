"""DR-10 and DR-11: the query at every door, with the same answer and the same refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.extras import needs
from tests.query.conftest import PROGRAM, RerankServer, source

import ir
from ir import operations
from ir.app.documents import tokens_of
from ir.app.session import Session
from ir.cli.main import run
from ir.query.envelope import answer_schema
from ir.serve.budget import cost
from ir.serve.offer import page
from ir.serve.service import Service
from ir.serve.tasks import Caller, Task
from ir.serve.tools import TOOLS

LONG = "how is a receipt mailed to the customer"
NAMES = {
    *("semanticQuery", "objectType", "precision", "followLinks", "linkDepth", "chunkLevel", "provenance", "branch"),
    *("topK", "minRelevance", "distanceMetric", "interfaceName", "traverseLink", "filter", "domain", "include"),
}
META = {
    *("ontologyVersion", "hybrid", "reranked", "skippedRerank", "cacheHit", "degraded", "expandedContext"),
    *("couldBenefitFromLinkExpansion", "backend"),
}


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("IR_DAEMON", "off")
    monkeypatch.setenv("IR_EMBEDDER", "light")
    ir.build(source(PROGRAM))
    return "shop"


@pytest.fixture
def tool(corpus: str) -> Iterator[Any]:
    service = Service(watching=False)

    def call(**arguments: Any) -> dict[str, Any]:
        given = {"corpus": corpus, **arguments}
        answer = service.answer(Task("tools/call", {"name": "ontology_query", "arguments": given}, Caller()))
        result: dict[str, Any] = answer["result"]
        json.dumps(result, allow_nan=False)
        return result

    yield call
    service.stop()


def offered() -> dict[str, Any]:
    (found,) = [one for one in page()["tools"] if one["name"] == "ontology_query"]
    return dict(found)


def test_the_tool_documents_every_parameter_and_the_envelope() -> None:
    told = offered()
    properties = told["inputSchema"]["properties"]
    assert set(properties) == NAMES | {"corpus"}
    assert told["inputSchema"]["required"] == ["semanticQuery"]
    assert "workspace" not in properties
    assert all(one["description"] for one in properties.values())
    envelope = told["outputSchema"]["properties"]["_meta"]["properties"]
    assert set(envelope) == META
    assert "_meta.degraded" in told["description"]


def test_both_forms_of_an_answer_say_everything_and_conform_to_the_schema(tool: Any) -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    result = tool(semanticQuery=LONG, followLinks=True, topK=3, include=["signature"])
    assert not result["isError"]
    structured, text = result["structuredContent"], result["content"][0]["text"]
    assert not list(Draft202012Validator(offered()["outputSchema"]).iter_errors(structured))
    whole = answer_schema()["properties"]["_meta"]
    assert not list(Draft202012Validator(whole).iter_errors(structured["_meta"]))
    assert structured["results"][0]["symbolKey"] in text
    assert structured["_meta"]["expandedContext"][0]["linkedNode"]["symbolKey"] in text
    assert '"degraded":[]' in text
    assert structured["_meta"]["ontologyVersion"] in text


@pytest.mark.parametrize("links", [True, False])
def test_both_forms_stay_within_the_length(tool: Any, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    for budget in (800, 2000):
        monkeypatch.setenv("IR_MCP_MAX_TOKENS", str(budget))
        service = Service(watching=False)
        arguments = {"corpus": "shop", "semanticQuery": LONG, "followLinks": links, "include": ["text"]}
        task = Task("tools/call", {"name": "ontology_query", "arguments": arguments}, Caller())
        result = service.answer(task)["result"]
        service.stop()
        assert tokens_of(result["content"][0]["text"]) <= budget
        assert cost(result["structuredContent"]) <= budget


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"chunkLevel": "page"}, "'method'"),
        ({"provenance": "guessed"}, "'hand-authored'"),
        ({"distanceMetric": "l1"}, "'l2'"),
        ({"linkDepth": 2}, "linkDepth"),
        ({"include": ["pictures"]}, "'signature'"),
        ({"topK": 0}, "topK"),
        ({"depth": 1}, "'linkDepth'"),
        ({"branch": "feature"}, "'main'"),
        ({"objectType": "widget"}, "'function'"),
        ({"traverseLink": "marries"}, "'calls'"),
        ({"interfaceName": "Stor"}, "'Store'"),
        ({"semanticQuery": " "}, "empty"),
        ({"workspace": "other"}, "Unknown"),
        ({"corpus": "nowhere"}, "nowhere"),
    ],
)
def test_what_is_wrong_is_a_tool_error_that_names_what_is_allowed(
    tool: Any, arguments: dict[str, Any], named: str
) -> None:
    result = tool(**{"semanticQuery": LONG, **arguments})
    assert result["isError"]
    assert named in result["content"][0]["text"]
    assert "Traceback" not in result["content"][0]["text"]


def test_calls_of_one_process_share_what_was_answered(tool: Any) -> None:
    first, second = (tool(semanticQuery=LONG)["structuredContent"] for _ in range(2))
    assert (first["_meta"]["cacheHit"], second["_meta"]["cacheHit"]) == (False, True)
    assert first["results"] == second["results"]


def test_every_door_gives_the_same_answer(tool: Any, capsys: pytest.CaptureFixture[str]) -> None:
    by_tool = tool(semanticQuery=LONG, topK=4, objectType="function")["structuredContent"]
    assert run(["ontology-query", "shop", LONG, "-k", "4", "--object-type", "function", "--json"]) == 0
    by_command = json.loads(capsys.readouterr().out)
    by_python = operations.ontology_query(semantic_query=LONG, target="shop", top_k=4, object_type="function")
    operations.close()
    chunks = [[one["chunkId"] for one in found["results"]] for found in (by_tool, by_command, by_python.to_dict())]
    assert chunks[0] == chunks[1] == chunks[2]
    assert by_command["_meta"]["ontologyVersion"] == by_tool["_meta"]["ontologyVersion"]


def test_the_command_shows_results_links_and_what_to_try(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ontology-query", corpus, "send_receipt", "-k", "1", "--follow-links"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("shop/mail.py:")
    assert "-> calls" in shown
    assert run(["ontology-query", corpus, "who calls send_receipt"]) == 0
    assert "--follow-links" in capsys.readouterr().err
    assert run(["ontology-query", corpus, "order", "--provenance", "hand-authored"]) == 1


def test_precision_reranks_by_what_is_configured_and_says_so(
    tool: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_RERANK_BASE_URL", rerank_server.url)
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "20000")
    monkeypatch.setenv("IR_RETRIEVAL_RERANKER", "http:some-model")
    with Session() as session:
        asked = {"semantic_query": LONG, "target": "shop"}
        meta = session.call("ontology-query", asked).answer.meta
        assert (meta.reranked, meta.reranker) == (True, "http:some-model")
        meta = session.call("ontology-query", {**asked, "precision": False}).answer.meta
        assert (meta.reranked, meta.reranker) == (False, None)
        rerank_server.mode = "fails"
        meta = session.call("ontology-query", {**asked, "top_k": 3}).answer.meta
        assert (meta.reranked, meta.degraded) == (False, ("reranker",))


def test_a_reranker_that_cannot_be_had_is_not_degraded(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_RETRIEVAL_RERANKER", "cross-encoder:not-there")
    with Session() as session:
        response = session.call("ontology-query", {"semantic_query": LONG, "target": corpus})
    assert (response.answer.meta.reranked, response.answer.meta.degraded) == (False, ())
    assert "not-there" in response.notes[-1]


def test_own_phrases_come_from_the_settings(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_RETRIEVAL_LINK_PHRASES", "touches, gets * from")
    with Session() as session:
        for query, told in (("what touches mail", True), ("who calls mail", False)):
            found = session.call("ontology-query", {"semantic_query": query, "target": corpus})
            assert found.answer.meta.could_benefit_from_link_expansion is told


def test_the_tool_is_listed_with_the_operation_that_answers_it() -> None:
    assert TOOLS["ontology_query"].operations == ("ontology-query",)


def test_the_keyword_engine_is_the_one_that_is_set_and_its_silence_is_told(
    corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("IR_RETRIEVAL_KEYWORD_BACKEND", "azure-ai-search")
    monkeypatch.setenv("IR_AZURE_SEARCH_BASE_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", "none")
    with Session() as session:
        meta = session.call("ontology-query", {"semantic_query": LONG, "target": corpus}).answer.meta
    assert (meta.hybrid, meta.degraded, meta.backend) == (False, ("keyword",), None)
