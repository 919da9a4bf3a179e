"""Which model a corpus has, which one new corpora get, and remedies that do not lead in a circle."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models import tiny

import ir as library

Ir = Callable[..., Any]


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(tiny.write_bert(tmp_path / "mine"))


def command_in(text: str, start: str) -> list[str]:
    """The command that a message tells to run, as the words after ``ir``."""
    found = re.search(rf"{start}[^;\n]*?(?=(?:\. | moves |;|$))", text, re.MULTILINE)
    assert found, text
    return shlex.split(found[0])[1:]


def test_the_remedy_for_another_embedder_moves_the_corpus_to_it(ir: Ir, notes: Path, model: str) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    refused = ir("search", "kitchen", "tea", "--embedder", model)
    assert (refused.code, "Leave the embedder out" in refused.err) == (3, True), refused.err
    assert ir("search", "kitchen", "tea").code == 0
    assert ir(*command_in(refused.err, "ir build")).code == 0
    assert ir("search", "kitchen", "tea", "--embedder", model).code == 0
    assert ir("search", "kitchen", "tea").code == 0


def test_a_model_that_is_not_here_is_not_asked_for_to_search_a_corpus_of_another(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    refused = ir("search", "kitchen", "tea", "--embedder", "static")
    assert "Leave the embedder out" in refused.err
    assert "models pull" not in refused.err
    assert command_in(refused.err, "ir build") == ["build", "kitchen", "--embedder", "static"]


def test_the_remedy_for_a_model_that_is_gone_works(ir: Ir, notes: Path, model: str) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen", "--embedder", model)
    Path(model).rename(f"{model}-away")
    refused = ir("search", "kitchen", "tea", "--mode", "dense")
    assert refused.code == 3
    assert 'embedder="light" always works' not in refused.err  # it would be refused for this corpus
    assert ir("search", "kitchen", "tea", "--mode", "lexical").code == 0
    assert ir(*command_in(refused.err, "ir build")).code == 0
    assert ir("search", "kitchen", "tea", "--mode", "dense").code == 0


def test_a_corpus_built_from_python_is_not_sent_to_a_command_that_cannot_build_it(ir: Ir) -> None:
    library.build(library.CorpusSource.from_mapping({"a": "tea"}, name="mine"), embedder="light")
    refused = ir("search", "mine", "tea", "--embedder", "static")
    assert "ir build" not in refused.err
    assert "ir.build(…, embedder='static')" in refused.err


def test_a_model_that_looks_like_a_folder_is_not_to_be_pulled(ir: Ir, notes: Path) -> None:
    for words in (["--embedder", "./nowhere"], ["--rerank", "cross-encoder:./nowhere"]):
        refused = ir("search", "notes", "tea", *words)
        assert "check its path" in refused.err
        assert "models pull" not in refused.err


@pytest.mark.parametrize("name", ["lihgt", "minlm", "statik"])
def test_an_embedder_that_nothing_answers_to_is_refused_with_the_nearest_name(
    ir: Ir, notes: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = {"lihgt": "light", "minlm": "minilm", "statik": "static"}[name]
    monkeypatch.delenv("IR_EMBEDDER")
    for words in (["config", "set", "embedder", name], ["register", "kitchen", "notes", "--embedder", name]):
        refused = ir(*words)
        assert refused.code == 2, words
        assert f"Did you mean '{near}'?" in refused.err
    assert ir("config", "get", "embedder", "--json").json["settings"][0]["origin"] == "default"
    monkeypatch.setenv("IR_EMBEDDER", name)
    doctor = ir("doctor", "--json")
    (check,) = (check for check in doctor.json["checks"] if check["name"] == "setting embedder")
    assert (doctor.code, check["status"]) == (3, "broken")
    assert near in check["remedy"]


@pytest.mark.parametrize("name", ["light", "default", "minilm-int8", "org/model", "./folder", "openai:m", "ollama:m"])
def test_an_embedder_that_may_come_to_be_can_be_set(
    ir: Ir, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("IR_EMBEDDER")
    assert ir("config", "set", "embedder", name).code == 0
    assert ir("doctor").code == 0


def test_the_doctor_tells_of_a_model_that_is_set_and_not_here(ir: Ir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_EMBEDDER", "static")
    checks = {check["name"]: check for check in ir("doctor", "--json").json["checks"]}
    assert checks["setting embedder"]["status"] == "warning"
    assert "ir models pull static" in checks["setting embedder"]["remedy"]


def test_setting_another_embedder_says_which_corpora_keep_theirs(
    ir: Ir, notes: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    library.build(library.CorpusSource.from_mapping({"a": "tea"}, name="memory"), embedder="light")
    monkeypatch.delenv("IR_EMBEDDER")
    assert ir("config", "set", "embedder", "light").err == ""
    told = ir("config", "set", "embedder", model)
    assert "kitchen (light) keeps its embedder" in told.err
    assert "memory" not in told.err
    assert ir(*command_in(told.err, "ir build")).code == 0
    assert ir("config", "set", "embedder", model).err == ""


def test_pulling_a_model_says_what_uses_it_and_what_does_not(ir: Ir, notes: Path, model: str) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    told = ir("models", "pull", "mine/own", "--from", model)
    assert "new corpora are embedded with 'light'" in told.err
    assert "ir config set embedder mine/own" in told.err
    assert "kitchen (light) keeps its embedder" in told.err
    assert ir(*command_in(told.err, "ir build")).code == 0
    assert "keeps" not in ir("models", "pull", "mine/own", "--from", model).err


def test_a_corpus_of_another_model_than_is_set_is_hinted_at_once(
    ir: Ir, notes: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir("register", "kitchen", "notes")
    ir("register", "pantry", "notes")
    ir("build", "kitchen")
    assert ir("build", "pantry").err == ""
    monkeypatch.setenv("IR_EMBEDDER", model)
    hinted = ir("search", "kitchen", "tea")
    assert "'kitchen' keeps the embedder 'light'" in hinted.err
    assert command_in(hinted.err, "ir build") == ["build", "kitchen", "--embedder", model]
    for words in (["search", "kitchen", "tea"], ["discover", "kitchen", "tea"], ["build", "kitchen"]):
        assert "keeps the embedder" not in ir(*words).err
    assert "'pantry' keeps the embedder 'light'" in ir("build", "pantry").err
    assert "keeps the embedder" not in ir("search", "pantry", "tea").err


def test_who_chose_an_embedder_gets_no_hint_at_another(
    ir: Ir, notes: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_EMBEDDER", model)
    assert ir("build", "notes", "--embedder", "light").code == 0
    assert ir("search", "notes", "tea").err == ""


@pytest.mark.slow
def test_a_better_model_that_came_later_is_hinted_at(ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.models.pulled import as_installed

    ir("build", "notes")
    monkeypatch.delenv("IR_EMBEDDER")
    assert "keeps the embedder 'light'; new corpora get 'box'" in ir("search", "notes", "tea").err
    assert ir("search", "notes", "tea").err == ""
    as_installed("static")
    assert "new corpora get 'static'" in ir("search", "notes", "tea").err
    assert ir("search", "notes", "tea").err == ""
