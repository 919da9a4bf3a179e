"""Azure AI Search as it is spoken over HTTP: requests, limits, refusals. Not run against the service itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.serving import dripping
from tests.words.azure_service import KEY, AzureService, running

import ir
from ir.errors import InvalidInput, KeywordError
from ir.keyword import KeywordMirror
from ir.keyword.azure import AzureKeywords
from ir.keywords import KeywordRequest
from ir.testing.keyword_contract import as_records


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def service() -> AzureService:
    return AzureService()


@pytest.fixture
def url(service: AzureService) -> Iterator[str]:
    with running(service) as address:
        yield address


def stored(documents: dict[str, tuple[str, dict[str, Any]]]) -> Any:
    store = ir.CorpusStore.memory()
    store.put_records(as_records(documents))
    return store


def test_a_collection_is_an_index_and_a_sync_uploads_and_deletes(
    service: AzureService, url: str, tmp_path: Path
) -> None:
    store = stored({f"d{at}": (f"word{at} same", {"at": str(at)}) for at in range(3)})
    engine = AzureKeywords(url, KEY)
    mirror = KeywordMirror(store, engine, "My Corpus", tmp_path / "n.db")
    mirror.sync()
    (index,) = service.indexes
    assert index.startswith("ir-my-corpus-")
    assert service.actions == {"upload": 5}  # three, and the mark of the mirror when it began and with them
    service.actions.clear()
    store.delete_record("d1")
    store.put_records(as_records({"d2": ("other", {})}))
    mirror.sync()
    assert service.actions == {"upload": 2, "delete": 1}
    found = engine.search(KeywordRequest("same other", "My Corpus", 5))
    assert {one.document_id for one in found} == {"d0", "d2"}
    method, path, body = service.requests[-1]
    assert method == "POST"
    assert path == f"/indexes/{index}/docs/search?api-version=2024-07-01"
    assert (body["queryType"], body["searchMode"], body["top"], body["select"]) == ("simple", "any", 5, "id")


def test_many_documents_go_in_batches_and_many_results_in_pages(
    service: AzureService, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir.keyword.azure._MOST_DOCUMENTS", 10)
    monkeypatch.setattr("ir.keyword.azure._MOST_RESULTS", 7)
    store = stored({f"d{at:02}": ("same words", {}) for at in range(25)})
    engine = AzureKeywords(url, KEY)
    KeywordMirror(store, engine, "c", tmp_path / "n.db").sync()
    assert max(len(body["value"]) for _, path, body in service.requests if path.split("?")[0].endswith("index")) <= 10
    assert sorted(engine.ids("c")) == sorted(store.record_ids())
    found = engine.search(KeywordRequest("same", "c", 20))
    assert [one.document_id for one in found] == [f"d{at:02}" for at in range(20)]


@pytest.mark.parametrize("bearer", [False, True])
def test_the_key_goes_as_a_key_or_as_a_token_and_is_shown_nowhere(
    bearer: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    service = AzureService(bearer=bearer)
    with running(service) as url:
        engine = AzureKeywords(url, KEY, bearer=bearer)
        KeywordMirror(stored({"a": ("tea", {})}), engine, "c", tmp_path / "n.db").sync()
        sent = {name.lower(): value for name, value in service.headers[-1].items()}
        assert sent.get("authorization" if bearer else "api-key") == (f"Bearer {KEY}" if bearer else KEY)
        assert sent.get("api-key" if bearer else "authorization") is None
        with pytest.raises(KeywordError, match="403") as caught:
            AzureKeywords(url, "wrong-secret-9", bearer=bearer).search(KeywordRequest("tea", "c", 3))
        assert "wrong-secret-9" not in str(caught.value) + caplog.text + repr(engine.__dict__)
    with pytest.raises(KeywordError, match="https address"):
        AzureKeywords("search.example", KEY)


@pytest.mark.parametrize(
    "answer",
    [(500, {}), (503, b""), (400, {"error": {}}), (200, b"<html>"), (200, {"value": [{}]}), (200, {}), (200, [])],
    ids=str,
)
def test_whatever_else_it_answers_is_a_keyword_error(service: AzureService, url: str, answer: Any) -> None:
    service.instead = lambda path, body: answer
    with pytest.raises(KeywordError, match=r"azure-ai-search|Azure AI Search"):
        AzureKeywords(url, KEY).search(KeywordRequest("tea", "c", 3), timeout_s=20)


def test_a_service_that_hangs_or_is_not_there_is_given_up(service: AzureService) -> None:
    for first in (b"", b"HTTP/1.1 200 OK\r\n"):
        with dripping(first, b"X") as url, pytest.raises(KeywordError, match="did not answer"):
            AzureKeywords(url, KEY).search(KeywordRequest("tea", "c", 3), timeout_s=0.2)
    with pytest.raises(KeywordError, match="did not answer"):
        AzureKeywords("http://127.0.0.1:1", KEY).search(KeywordRequest("tea", "c", 3), timeout_s=2)


def test_a_document_that_is_refused_is_told_and_sent_again(service: AzureService, url: str, tmp_path: Path) -> None:
    store = stored({"a": ("tea", {}), "b": ("bread", {})})
    mirror = KeywordMirror(store, AzureKeywords(url, KEY), "c", tmp_path / "n.db")

    def refuse(path: str, body: Any) -> Any:
        if "docs/index" not in path or len(body["value"]) < 2:
            return None
        rows = [{"key": one["key"], "status": False, "errorMessage": "too long"} for one in body["value"]]
        return 207, {"value": rows}

    service.instead = refuse
    with pytest.raises(KeywordError, match=r"did not take 3 documents.*too long"):
        mirror.sync()
    service.instead = lambda path, body: None
    assert mirror.sync().total == 2
    assert mirror.behind().total == 0


def test_the_settings_say_where_it_is_and_what_is_missing(
    service: AzureService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.config import Settings
    from ir.keyword import keyword_mirror, keyword_provider

    monkeypatch.setenv("IR_RETRIEVAL_KEYWORD_BACKEND", "azure-ai-search")
    with pytest.raises(InvalidInput, match=r"ir config set azure_search\.base_url"):
        keyword_provider(Settings.load(), {})
    monkeypatch.setenv("IR_AZURE_SEARCH_BASE_URL", url)
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", KEY)
    store = stored({"a": ("tea", {})})
    assert keyword_mirror(Settings.load(), store, "c").sync().added == 1
    provider = keyword_provider(Settings.load(), {})
    assert provider.name == "azure-ai-search"
    assert [one.document_id for one in provider.search(KeywordRequest("tea", "c", 3))] == ["a"]

    monkeypatch.setenv("IR_RETRIEVAL_KEYWORD_BACKEND", "embedded")  # the same call, another engine
    with store.snapshot() as snapshot:
        provider = keyword_provider(Settings.load(), {"c": snapshot})
        assert provider.name == "embedded"
        assert [one.document_id for one in provider.search(KeywordRequest("tea", "c", 3))] == ["a"]
