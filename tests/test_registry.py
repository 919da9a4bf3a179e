"""Named corpora: what may be registered, what comes of it, and that no entry is ever lost."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.config import registry_path
from ir.errors import CorpusCorrupt, CorpusNotBuilt, InvalidInput
from ir.index import build_corpus
from ir.registry import (
    KINDS,
    PRESETS,
    entered,
    get,
    presets,
    register,
    registered,
    retriever_for,
    retrievers,
    source_for,
    source_from_entry,
    unregister,
)
from ir.sources import CorpusSource


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nSteep it in hot water.\n")
    return folder


def test_an_entry_is_kept_found_and_forgotten(docs: Path) -> None:
    entry = register("docs", "files", root=docs, embedder="light")
    assert entry == {"kind": "files", "embedder": "light", "strategy": None, "params": {"root": str(docs)}}
    assert get("docs") == entry
    assert entered() == {"docs": entry}
    assert get("other") is None
    assert unregister("docs")
    assert not unregister("docs")
    assert entered() == {}


def test_registering_again_replaces(docs: Path) -> None:
    register("docs", "files", root=docs)
    register("docs", "files", root=docs, pattern=r".*\.txt$")
    assert list(entered()) == ["docs"]
    assert registered()["docs"]["params"]["pattern"] == r".*\.txt$"


def test_a_relative_path_is_kept_absolute(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs.parent)
    assert register("docs", "files", root="docs")["params"]["root"] == str(docs)


def test_an_entry_becomes_its_source(docs: Path) -> None:
    register("docs", "files", root=docs, embedder="light", strategy={"type": "Chunked", "chunk_size": 321})
    source = source_for("docs")
    assert isinstance(source, CorpusSource)
    assert (source.name, source.embedder) == ("docs", "light")
    assert source.indexing_strategy.chunk_size == 321  # type: ignore[attr-defined]
    assert len(source.scope) == 1
    assert source_from_entry("other", registered()["docs"]).name == "other"


def test_presets_are_known_on_a_fresh_machine() -> None:
    assert PRESETS == ("skills", "packages", "reports", "sessions")
    assert tuple(registered()) == tuple(presets()) == PRESETS
    for name in PRESETS:
        assert source_for(name).name == name
        assert (get(name) or {})["kind"] == name
    assert (entered(), list(retrievers())) == ({}, [])
    assert not registry_path().exists()


def test_a_preset_is_registered_by_its_first_build_with_the_folder_it_was_built_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "docs").mkdir(parents=True)
        (tmp_path / place / "docs" / "plan.md").write_text(f"The plan of {place}.")
    monkeypatch.chdir(tmp_path / "one")
    build_corpus("reports", store=ir.CorpusStore.memory(), embedder="light")
    assert entered() == {}
    build_corpus("reports", embedder="light")
    assert entered()["reports"]["params"] == {"projects_root": str(tmp_path / "one")}
    monkeypatch.chdir(tmp_path / "two")
    assert source_for("reports").scope["docs/plan.md"]["text"] == "The plan of one."
    assert list(retrievers()) == ["reports"]
    assert "reports" not in presets()


def test_the_skills_of_the_folder_and_of_the_user_are_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for root in (".claude/skills", "skills"):
        (tmp_path / root / "tea").mkdir(parents=True)
        (tmp_path / root / "tea" / "SKILL.md").write_text("Makes tea.")
    build_corpus("skills", embedder="light")
    roots = entered()["skills"]["params"]["roots"]
    assert roots == [str(tmp_path / ".claude/skills"), str(tmp_path / "skills")]


def test_a_registration_of_ones_own_wins_over_the_preset(docs: Path) -> None:
    register("reports", "files", root=docs)
    assert registered()["reports"]["kind"] == "files"
    assert list(source_for("reports").scope) == ["tea.md"]


def test_that_a_preset_was_unregistered_is_remembered(docs: Path) -> None:
    assert unregister("sessions")
    assert not unregister("sessions")
    assert "sessions" not in registered()
    assert get("sessions") is None
    assert source_for("sessions").name == "sessions"  # it can still be asked for
    register("reports", "files", root=docs)
    assert unregister("reports")
    assert tuple(presets()) == ("skills", "packages")
    register("sessions", "sessions", root=docs)
    assert "sessions" in registered()


def test_a_search_does_not_refresh_a_corpus_from_python_that_is_called_as_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("mine", "here"):
        (tmp_path / place / "docs").mkdir(parents=True)
        (tmp_path / place / "docs" / f"{place}.md").write_text(f"The plan of {place}.")
    ir.build(CorpusSource.from_md_reports(projects_root=tmp_path / "mine"), embedder="light")
    monkeypatch.chdir(tmp_path / "here")
    outcome = ir.index.refresh_if_cheap("reports")
    assert not outcome.refreshed
    assert ir.search("reports", "plan", mode="lexical")[0].artifact_id == "docs/mine.md"


@pytest.mark.parametrize(
    ("name", "kind", "given", "message"),
    [
        ("x", "file", {"root": "."}, "Unknown kind of corpus 'file'.*Did you mean 'files'"),
        ("x", "files", {"rot": "."}, "Unknown parameter of 'files' 'rot'.*Did you mean 'root'"),
        ("x", "files", {}, "'files' needs 'root'"),
        ("x", "files", {"root": ".", "pattern": {1, 2}}, "cannot be kept in a file"),
        ("x", "files", {"root": ".", "embedder": len}, "is a name"),
        ("x", "files", {"root": ".", "strategy": "Chunkd"}, "Chunked"),
        ("x", "files", {"root": ".", "strategy": {"type": "Chunked", "chunk": 3}}, "chunk_size"),
        (" ", "skills", {}, "needs a name"),
    ],
)
def test_what_cannot_be_registered(name: str, kind: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        register(name, kind, **given)
    assert not registry_path().exists()


def test_every_kind_has_a_constructor() -> None:
    for kind in KINDS.values():
        module, _, name = kind.factory.rpartition(":")
        assert callable(getattr(import_module(module) if module else CorpusSource, name))


def test_an_unknown_name_says_what_to_do(docs: Path) -> None:
    register("notebook", "files", root=docs)
    with pytest.raises(CorpusNotBuilt, match=r"Did you mean 'notebook'\? .*ir register notebok"):
        source_for("notebok")


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 99, "corpora": {}}', '{"format": 1, "corpora": {"a": 1}}', ""])
def test_a_broken_registry_is_named_and_left_alone(text: str, docs: Path) -> None:
    registry_path().parent.mkdir(parents=True)
    registry_path().write_text(text)
    for touch in (registered, lambda: register("docs", "files", root=docs), lambda: unregister("docs")):
        with pytest.raises(CorpusCorrupt, match=r"registry\.json"):
            touch()
    assert registry_path().read_text() == text


@pytest.mark.slow
def test_processes_do_not_lose_each_others_entries() -> None:
    script = (
        "import sys\nfrom ir.registry import register\n"
        "for number in range(10): register(f'{sys.argv[1]}-{number}', 'skills')\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, f"p{number}"]) for number in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0, 0]
    assert len(entered()) == 40
    assert json.loads(registry_path().read_text())["format"] == 1


def test_retrievers_open_on_demand(docs: Path) -> None:
    register("docs", "files", root=docs, embedder="light")
    every = retrievers(mode="lexical", k=3)
    assert (list(every), len(every), "docs" in every, "x" in every) == (["docs"], 1, True, False)
    with pytest.raises(KeyError):
        every["x"]
    with pytest.raises(CorpusNotBuilt):
        every["docs"]
    build_corpus("docs")
    assert every["docs"]("hot water")[0].source == "docs"
    assert retriever_for("docs", mode="hybrid")("hot water")[0].artifact_id.endswith("tea.md")
    register("more", "skills")
    assert list(every) == ["docs", "more"]
