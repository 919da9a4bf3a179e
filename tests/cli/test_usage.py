"""Wrong words in the right place: told at once, with a remedy that helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ir.config import corpus_dir, registry_path
from ir.errors import InvalidInput
from ir.index import build
from ir.registry import register
from ir.sources import CorpusSource

Ir = Callable[..., Any]


@pytest.mark.parametrize(
    "options",
    [
        ["--mode", "zz"],
        ["-k", "0"],
        ["--fusion", "zz"],
        ["--filter", '{"a": {"$near": 1}}'],
        ["--rerank", "zz"],
    ],
)
def test_a_search_with_a_wrong_option_indexes_nothing(ir: Ir, notes: Path, options: list[str]) -> None:
    done = ir("search", "notes", "tea", *options)
    assert done.code == 2, done.err
    assert "indexing" not in done.err
    assert ir("ls").out == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--mode", "zz"],
        ["-k", "0"],
        ["--filter", '{"a": {"$near": 1}}'],
        ["--strategy", "zz"],
        ["--max-k", "0"],
        ["--rel", "7"],
        ["--disclose", "zz"],
        ["--expand", "zz"],
        ["--min-score", "zz=0.5"],
    ],
)
def test_a_discovery_with_a_wrong_option_indexes_nothing(ir: Ir, notes: Path, options: list[str]) -> None:
    done = ir("discover", "notes", "tea", *options)
    assert done.code == 2, done.err
    assert "indexing" not in done.err
    assert ir("ls").out == ""


@pytest.mark.parametrize("depth", [70, 990, 3000, 200_000])
def test_a_filter_that_is_too_deep_is_wrong_usage(ir: Ir, notes: Path, depth: int) -> None:
    deep = '{"$not":' * depth + '{"a": 1}' + "}" * depth
    for command in ("search", "discover"):
        done = ir(command, "notes", "tea", "--filter", deep)
        assert done.code == 2, done.err
        assert "nested" in done.err
    assert ir("search", "notes", "tea", "--where", "a=" + "[" * depth).code == 1


@pytest.mark.parametrize("name", ["a/b", "a\\b", ".a", "~a", "../a", "milvus:a", " ", ""])
def test_a_name_that_could_not_be_used_is_refused_at_the_door(ir: Ir, notes: Path, tmp_path: Path, name: str) -> None:
    refused = ir("register", name, "notes")
    assert refused.code == 2
    assert "name" in refused.err
    ir("build", "notes")
    file = tmp_path / "notes.ir"
    ir("export", "notes", str(file))
    assert ir("import", str(file), "--name", name).code == 2
    assert len(ir("ls").out.splitlines()) == 2


def test_a_corpus_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        CorpusSource.from_mapping({"a": "b"}, name="")


def test_a_folder_with_any_name_can_be_searched(ir: Ir, notes: Path, tmp_path: Path) -> None:
    for name in (".hidden", "~tilde", "-dash", "a\\b", "with space"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("tea\n")
        assert ir("search", f"./{name}", "tea").code == 0, name


def test_an_embedder_that_is_registered_anew_is_used_and_named(ir: Ir, notes: Path) -> None:
    ir("register", "kit", "notes", "--embedder", "light")
    ir("build", "kit")
    ir("register", "kit", "notes", "--embedder", "org/nosuch")
    done = ir("build", "kit")
    assert done.code == 3
    assert "'org/nosuch', as registered; it was built with 'light'" in done.err
    again = ir("build", "kit", "--embedder", "light")
    assert "3 unchanged" in again.out
    assert ir("build", "kit").code == 0, "what a build was told on purpose holds from then on"


@pytest.mark.parametrize(
    "arguments", [["search", "notes", "tea", "-k"], ["search", "-k", "x", "tea"], ["search", "--zz"]]
)
def test_wrong_words_lead_to_the_help_of_their_command(ir: Ir, notes: Path, arguments: list[str]) -> None:
    done = ir(*arguments)
    assert (done.code, done.err.splitlines()[-1]) == (2, "    See: ir search --help")


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ([], "ir register kit PATH"),
        (["--kind", "jsonl"], "ir register kit PATH --kind jsonl"),
        (["--kind", "records"], "ir register kit FILE.py:FUNCTION --kind records"),
    ],
)
def test_a_registration_without_its_path_says_how_to_write_it(ir: Ir, options: list[str], command: str) -> None:
    done = ir("register", "kit", *options)
    assert done.code == 2
    assert f"    Write: {command}\n" in done.err


def test_a_corpus_that_nobody_registered_names_the_command_as_it_is(ir: Ir, notes: Path) -> None:
    build(CorpusSource.from_mapping({"a": "tea"}, name="mine", embedder="light"))
    done = ir("build", "mine")
    assert done.code == 3
    assert "ir register mine PATH" in done.err


def test_an_embedder_of_ones_own_is_not_looked_for_among_models(ir: Ir, notes: Path) -> None:
    register("kit", "files", root=str(notes), all_text=True)
    from ir.registry import source_for

    build(source_for("kit"), embedder=lambda texts: [[1.0, 0.0] for _ in texts])
    done = ir("build", "kit")
    assert done.code == 3
    assert "embedder of your own" in done.err
    assert "models pull" not in done.err
    assert ir("build", "kit", "--embedder", "light").code == 0


def test_a_tool_that_comes_twice_is_not_told_of_a_key(ir: Ir, notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"name": "a", "description": "x"}] * 2))
    ir("register", "tools", str(file), "--kind", "mcp")
    done = ir("build", "tools")
    assert done.code == 3
    assert "comes twice: tool 1 and tool 2" in done.err
    assert "of records, id_key=" in done.err


@pytest.mark.parametrize("wrong", [{"params": 5}, {"kind": "zz"}, {"embedder": 5}, {"strategy": 5}])
def test_a_registry_that_was_edited_wrongly_is_said_to_be(ir: Ir, notes: Path, wrong: dict[str, Any]) -> None:
    ir("register", "kit", "notes")
    registry = json.loads(registry_path().read_text())
    registry["corpora"]["kit"].update(wrong)
    registry_path().write_text(json.dumps(registry))
    for command in (["ls"], ["search", "kit", "tea"], ["build", "kit"], ["info", "kit"], ["rm", "kit", "-n"]):
        done = ir(*command)
        assert "Unexpected" not in done.err, command
        if "params" in wrong:
            assert done.code == 3
            assert "the params of 'kit' are not a mapping" in done.err
    health = ir("doctor")
    assert health.code == 3
    assert "BROKEN" in health.out


@pytest.mark.parametrize("query", ["!!!", "🙂🙂", "—"])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_query_of_which_nothing_is_left_finds_nothing(ir: Ir, notes: Path, query: str, mode: str) -> None:
    for command in ("search", "discover"):
        done = ir(command, "notes", query, "--mode", mode)
        assert (done.code, done.out) == (1, ""), command
    if mode != "dense":
        assert "has no words" in done.err


def test_a_query_longer_than_a_file_name_is_a_query(ir: Ir, notes: Path) -> None:
    assert ir("search", "green tea " * 500).code == 0
    assert ir("search", "x" * 5000, "tea").code == 3
    assert not corpus_dir("notes").exists()
