"""``ir keyword`` and ``ir keyword-search``: another engine for words, switched by a setting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.words.azure_service import KEY, AzureService, running

from ir.app.session import Session
from ir.cli.main import run
from ir.config import set_setting


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is steeped.\n", "utf-8")
    (folder / "bread.md").write_text("# Bread\n\nDough is baked with tea.\n", "utf-8")
    with Session() as session:
        session.call("register", {"name": "notes", "path": str(folder)})
        session.call("build", {"target": "notes", "embedder": "light"})
    return folder


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureService]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", KEY)
    found = AzureService()
    with running(found) as url:
        set_setting("azure_search.base_url", url)
        yield found


def test_words_are_looked_for_by_the_corpus_itself_unless_told_otherwise(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["keyword-search", "notes", "steeped tea"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "tea.md" in lines[0]
    assert run(["keyword-search", "notes", "zeppelin"]) == 1
    assert run(["keyword-search", "notes", "tea", "-w", "ext=.txt"]) == 1
    assert run(["keyword-search", "notes", "tea", "-w", "ext"]) == 2
    assert run(["keyword", "status", "notes"]) == 0
    assert run(["keyword", "sync", "notes"]) == 2
    assert "postgres-tsvector" in capsys.readouterr().err


def test_another_engine_is_filled_switched_to_and_kept_in_step(
    notes: Path, service: AzureService, capsys: pytest.CaptureFixture[str]
) -> None:
    with Session() as session:  # it lives on while the setting changes
        set_setting("retrieval.keyword_backend", "azure-ai-search")
        assert run(["keyword-search", "notes", "tea"]) == 3
        assert "ir keyword sync notes" in capsys.readouterr().err
        assert run(["keyword", "status", "notes"]) == 1
        assert "is behind: 2 added, 0 changed, 0 removed" in capsys.readouterr().out
        assert run(["keyword", "sync", "notes"]) == 0
        assert "sent 2 added" in capsys.readouterr().out
        assert run(["keyword", "status", "notes"]) == 0
        assert "is up to date" in capsys.readouterr().out
        found = session.call("keyword-search", {"query": "tea", "target": "notes"})
        assert (found.backend, len(found.found)) == ("azure-ai-search", 2)
        set_setting("retrieval.keyword_backend", "embedded")
        assert session.call("keyword-search", {"query": "tea", "target": "notes"}).backend == "embedded"
        set_setting("retrieval.keyword_backend", "azure-ai-search")

        (notes / "bread.md").unlink()
        session.call("build", {"target": "notes"})
        found = session.call("keyword-search", {"query": "tea", "target": "notes"})
        assert (found.gone, len(found.found)) == (1, 1)
        assert "ir keyword sync notes" in found.notes[0]
        assert run(["keyword", "sync", "notes", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["added"], told["changed"], told["removed"]) == (0, 0, 1)
        assert KEY not in json.dumps(told) + found.notes[0]


def test_an_engine_that_fails_is_told_in_a_sentence(
    notes: Path, service: AzureService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.instead = lambda path, body: (401, {"error": {"message": f"bad key {KEY}"}})
    assert run(["keyword", "sync", "notes", "--backend", "azure-ai-search"]) == 3
    told = capsys.readouterr().err
    assert "401" in told
    assert KEY not in told
