"""``ir search``: on folders and names, what it prints, and how it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


def test_a_folder_that_was_never_built_is_indexed_and_searched(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "how hot for green tea")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("notes/tea.md:3: ")
    assert "indexing" in done.err
    again = ir("search", "notes", "dough")
    assert "indexing" not in again.err
    assert again.out.startswith("notes/bread.txt:1: ")


def test_the_current_folder_is_searched_when_only_a_query_is_given(ir: Ir, notes: Path) -> None:
    assert ir("search", "knead the dough").out.startswith("notes/bread.txt:1: ")


def test_every_text_file_is_taken_and_identifiers_match_by_their_parts(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "bicycle chain", "--mode", "lexical")
    assert done.out.startswith("notes/chain.py:1: ")
    assert len(done.out.splitlines()) == 1


def test_one_file_can_be_searched(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes/tea.md", "bitter", "--json")
    assert {hit["artifact_id"] for hit in done.json["found"]} == {"tea.md"}


def test_nothing_found_is_exit_code_one(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "zyzzyva", "--mode", "lexical")
    assert (done.code, done.out) == (1, "")
    assert "nothing" in done.err


def test_json_is_one_document_with_hits_and_their_places(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "green tea", "--json", "-k", "2", "--explain")
    document = done.json
    assert document["query"] == "green tea"
    assert len(document["found"]) <= 2
    top = document["found"][0]
    assert top["rank"] == 1
    assert Path(top["path"]).resolve() == (notes / "tea.md").resolve()
    assert top["line"] == 3
    assert [top["excerpt"][start:end] for start, end in top["marks"]] == ["Tea", "green", "tea"]
    assert top["explanation"]["matched_terms"]
    assert document["meta"]["mode"] == "hybrid"


def test_characters_are_marked_only_where_they_were_asked_for(ir: Ir, notes: Path) -> None:
    (notes / "tea.txt").write_text("紅茶は熱い。緑茶はぬるい。", encoding="utf-8")
    pair = ir("search", "notes/tea.txt", "緑茶", "--json").json
    assert [pair["found"][0]["excerpt"][start:end] for start, end in pair["found"][0]["marks"]] == ["緑茶"]
    assert pair["words"] == {"緑茶": "緑茶"}
    one = ir("search", "notes/tea.txt", "茶", "--json").json["found"][0]
    assert [one["excerpt"][start:end] for start, end in one["marks"]] == ["茶", "茶"]


def test_explain_says_ranks_shares_and_terms(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "steep green submarine", "-k", "1", "--explain")
    assert "dense    rank 1" in done.out
    assert "lexical  rank 1" in done.out
    assert "adds" in done.out
    assert "not here: submarine\n" in done.out


def test_filters_and_conditions_are_applied(ir: Ir, notes: Path) -> None:
    query = "tea dough gauge"
    everything = ir("search", "notes", query, "--mode", "dense", "--json").json["found"]
    assert len(everything) == 3
    (tea,) = [hit["metadata"] for hit in everything if hit["artifact_id"] == "tea.md"]
    key, value = next((key, value) for key, value in tea.items() if isinstance(value, str) and "tea" in value)
    only = ir("search", "notes", query, "--mode", "dense", "--where", f"{key}~tea", "--json").json["found"]
    assert [hit["artifact_id"] for hit in only] == ["tea.md"]
    assert value
    assert ir("search", "notes", "the", "--filter", '{"nosuch": {"$exists": true}}').code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mode", "hybird"], "'hybrid'"),
        (["--fusion", "mean"], "'blend'"),
        (["--k", "0"], "at least 1"),
        (["--k", "many"], "--k"),
        (["--filter", "{"], "not valid JSON"),
        (["--filter", '{"a": {"$near": 1}}'], "$near"),
        (["--where", "nonsense"], "FIELD=VALUE"),
        (["--surface", "nope"], "nope"),
        (["--nope"], "--nope"),
    ],
)
def test_wrong_usage_is_exit_code_two_with_a_message(ir: Ir, notes: Path, arguments: list[str], said: str) -> None:
    plain = ir("search", "notes", "tea", *arguments)
    assert (plain.code, plain.out) == (2, "")
    assert said in plain.err
    assert "Traceback" not in plain.err
    as_json = ir("search", "notes", "tea", "--json", *arguments)
    assert as_json.code == 2
    assert said in " ".join(as_json.json["error"].values())


def test_empty_query_missing_query_and_too_many_words(ir: Ir, notes: Path) -> None:
    assert "empty" in ir("search", "notes", "  ").err
    missing = ir("search", "notes")
    assert missing.code == 2
    assert "add what to search for" in missing.err
    many = ir("search", "notes", "green", "tea")
    assert many.code == 2
    assert "'green tea'" in many.err


def test_a_corpus_that_does_not_exist_or_was_never_built_is_exit_code_three(ir: Ir, notes: Path) -> None:
    unknown = ir("search", "nosuch", "tea")
    assert unknown.code == 3
    assert "ir ls" in unknown.err
    ir("register", "kitchen", "notes")
    unbuilt = ir("search", "kitchen", "tea")
    assert unbuilt.code == 3
    assert "ir build kitchen" in unbuilt.err
    missing = ir("search", "./nosuch", "tea")
    assert missing.code == 2
    assert "no file or folder" in missing.err


def test_a_few_changed_files_are_taken_in_before_searching(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "tea")
    (notes / "coffee.md").write_text("Roasted coffee keeps for a month in a closed tin.\n")
    unaware = ir("search", "notes", "coffee tin", "--mode", "lexical", "--no-refresh")
    assert unaware.code == 1
    fresh = ir("search", "notes", "coffee tin", "--mode", "lexical")
    assert fresh.out.startswith("notes/coffee.md:1: ")


def test_many_changed_files_are_not_taken_in_but_the_result_says_so(
    ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir("search", "notes", "tea")
    monkeypatch.setenv("IR_REFRESH_MAX_CHANGED", "1")
    for number in range(3):
        (notes / f"more{number}.md").write_text(f"Oolong number {number}.\n")
    stale = ir("search", "notes", "oolong", "--mode", "lexical", "--json")
    assert stale.code == 1
    assert stale.json["stale"] is True
    assert "ir build" in " ".join(stale.json["notes"])


def test_a_whole_home_is_not_indexed_by_a_search(ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(notes))
    monkeypatch.chdir(notes)
    refused = ir("search", "tea")
    assert refused.code == 2
    assert "ir build" in refused.err


def test_an_empty_folder_has_no_hits_and_a_note(ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    done = ir("search", "empty", "tea")
    assert done.code == 1
    assert "empty" in done.err


def test_another_embedder_than_the_index_has_is_refused(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    done = ir("search", "notes", "tea", "--embedder", "no-such-model")
    assert done.code == 3
    assert done.out == ""
    assert "no-such-model" in done.err


@pytest.mark.parametrize("name", ["skills", "reports", "sessions", "packages"])
def test_a_folder_named_like_a_preset_is_searched(
    ir: Ir, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.md").write_text("tea\n")
    done = ir("search", name, "tea")
    assert done.out.startswith(f"{name}/a.md:1: "), done.err
    assert "1 unchanged" in ir("build", name).out
    assert ir("rm", name, "--yes").code == 0
    assert ir("ls").out == ""


def test_a_preset_that_ls_shows_wins_over_a_folder_and_one_that_it_does_not_is_no_place(
    ir: Ir, notes: Path, tmp_path: Path
) -> None:
    assert ir("search", "reports").code == 0, "a query, in the current folder"
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "a.md").write_text("tea\n")
    assert "is where to search" in ir("search", "reports").err
    ir("register", "reports", "notes")
    ir("build", "reports")
    assert ir("search", "reports", "bread dough").out.startswith("notes/bread.txt")


def test_a_search_does_not_undo_keep(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    (notes / "chain.py").unlink()
    ir("build", "notes", "--keep")
    for _ in range(2):
        answer = ir("search", "notes", "bicycle chain", "--mode", "lexical")
        assert "took in" not in answer.err
        assert "chain.py" in answer.out
    assert "1 removed" in ir("build", "notes").out


def test_a_corpus_whose_folder_is_gone_answers_from_its_index(ir: Ir, notes: Path) -> None:
    ir("register", "kit", "notes")
    ir("build", "kit")
    notes.rename(notes.with_name("elsewhere"))
    answer = ir("search", "kit", "tea")
    assert (answer.code, "tea.md" in answer.out) == (0, True)
    assert "The index may be stale. The source cannot be read now: There is no file or folder" in answer.err


def test_nothing_that_scores_zero_is_shown(ir: Ir, notes: Path) -> None:
    for mode in ("dense", "hybrid"):
        found = ir("search", "notes", "dough", "--mode", mode, "--json").json["found"]
        assert found[0]["artifact_id"] == "bread.txt"
        assert all(hit["score"] > 0 for hit in found)
        assert [hit["rank"] for hit in found] == list(range(1, len(found) + 1))
    of_a_range = ir("search", "notes", "dough", "--fusion", "minmax", "--json").json["found"]
    assert of_a_range[0]["artifact_id"] == "bread.txt"


def test_a_search_says_when_even_the_best_is_below_the_floor(ir: Ir, notes: Path) -> None:
    done = ir("search", "notes", "asdfqwerzxcv")
    assert "Probably nothing here answers that" in done.err
    assert "below the floor of 0." in done.err
    assert "(from probes)" in done.err
    assert "Probably" not in ir("search", "notes", "green tea").err
    assert any("below the floor" in note for note in ir("search", "notes", "asdfqwerzxcv", "--json").json["notes"])


def test_results_come_before_what_is_said_about_them_in_a_pipe_too(ir: Ir, notes: Path) -> None:
    import os
    import subprocess
    import sys

    ir("build", "notes", "--embedder", "light")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "ir", "discover", "notes", "how hot for green tea", "--min-score", "none"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    assert done.stdout.splitlines()[0].startswith("notes/tea.md"), done.stdout
    assert "ir: " in done.stdout
