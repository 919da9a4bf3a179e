"""``ir discover``: commits, abstains and says why, on one corpus and on several."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


@pytest.fixture
def garden(notes: Path) -> Path:
    folder = notes.parent / "garden"
    folder.mkdir()
    (folder / "rose.md").write_text("# Roses\n\nPrune the rose bush late in winter.\n")
    (folder / "lawn.md").write_text("# Lawn\n\nMow the lawn high in dry weather.\n")
    return folder


def test_commits_to_the_best_and_says_what_ended_it(ir: Ir, notes: Path) -> None:
    done = ir("discover", "notes", "how hot for green tea")
    assert done.code == 0
    assert done.out.startswith("notes/tea.md:1: ")
    assert len(done.out.splitlines()) == 1
    assert "committed to 1 of" in done.err


def test_json_holds_the_whole_result(ir: Ir, notes: Path) -> None:
    found = ir("discover", "notes", "green tea", "--json", "--max-k", "1").json
    assert [item["artifact_id"] for item in found["results"]] == ["tea.md"]
    assert (found["abstained"], found["answerable"]["kind"], found["n_selected"]) == (False, "off_topic", 1)
    assert found["corpora"][0].startswith("notes-")
    assert found["signals"]["top_score"] > 0


def test_a_floor_that_is_not_reached_is_exit_code_one_with_the_numbers(ir: Ir, notes: Path) -> None:
    done = ir("discover", "notes", "parliament election results", "--min-score", "0.9")
    assert (done.code, done.out) == (1, "")
    assert "abstained: off topic" in done.err
    assert "below the floor of 0.900" in done.err
    assert ir("discover", "notes", "zyzzyva", "--mode", "lexical").code == 1


def test_a_calibrated_floor_is_used_and_explained(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    assert "kept" in ir("calibrate-min-score", "notes", "--probes").out
    refused = ir("discover", "notes", "zyzzyva qqq xylophone vvv")
    assert refused.code == 1
    assert "of unrelated queries" in refused.err
    assert "answer may still be missing" in refused.err
    found = ir("discover", "notes", "steep green tea at 80 degrees", "--json")
    assert found.code == 0
    answer = found.json["answerable"]
    assert (answer["kind"], answer["calibration"], answer["probability"]) == ("off_topic", "probes", None)
    assert answer["score"] >= answer["floor"]
    assert ir("discover", "notes", "zyzzyva qqq xylophone vvv", "--min-score", "none").code == 0


def test_auto_without_a_calibration_goes_on_and_says_so(ir: Ir, notes: Path) -> None:
    done = ir("discover", "notes", "green tea", "--min-score", "auto", "--mode", "lexical")
    assert done.code == 0
    assert "No calibration is stored" in done.err


def test_several_corpora_are_merged_and_each_result_says_where_from(ir: Ir, notes: Path, garden: Path) -> None:
    done = ir("discover", "notes", "garden", "prune the rose bush", "--json")
    top = done.json["results"][0]
    assert top["artifact_id"] == "rose.md"
    assert top["source"].startswith("garden-")
    assert set(done.json["signals"]["per_source"]) == set(done.json["corpora"])
    plain = ir("discover", "notes", "garden", "prune the rose bush")
    assert plain.out.startswith("garden-")
    assert "\tgarden/rose.md:1: " in plain.out


def test_floors_of_several_are_named_as_the_user_names_them(ir: Ir, notes: Path, garden: Path) -> None:
    done = ir("discover", "notes", "garden", "prune the rose bush", "--min-score", "garden=0.99", "--json")
    garden_name = done.json["corpora"][1]
    assert done.json["signals"]["per_source"][garden_name]["abstained"] is True
    assert {item["source"] for item in done.json["results"]} <= {done.json["corpora"][0]}


def test_bodies_bundles_and_passages_are_revealed_on_request(ir: Ir, notes: Path) -> None:
    skill = notes / "brew"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: brew\ndescription: Brew oolong in a gaiwan\n---\nRinse first.\n")
    (skill / "chart.txt").write_text("times\n")
    body = ir("discover", "notes", "steep green tea", "--disclose", "body", "--max-k", "1")
    assert "--- body of tea.md\n# Tea" in body.out
    around = ir("discover", "notes", "steep green tea", "--expand", "parent", "--max-k", "1")
    assert "--- passage of tea.md" in around.out
    bundled = ir("discover", "notes", "rinse first", "--disclose", "bundled", "--max-k", "1")
    assert "bundled: chart.txt (6 bytes)" in bundled.out


def test_filters_hold_for_discovery_too(ir: Ir, notes: Path) -> None:
    done = ir("discover", "notes", "the", "--filter", '{"nosuch": {"$exists": true}}')
    assert done.code == 1
    assert "nothing matches" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strategy", "consevative"], "'conservative'"),
        (["--disclose", "all"], "'metadata'"),
        (["--expand", "sideways"], "'window'"),
        (["--min-score", "high"], "CORPUS=NUMBER"),
        (["--min-score", "elsewhere=0.3"], "'elsewhere'"),
        (["--min-score", "0.3", "--min-score", "0.4"], "for which corpus"),
        (["--max-k", "0"], "at least 1"),
        (["--rel", "2"], "between 0 and 1"),
        (["--strategy", "abs_threshold"], "min_score"),
        (["--mode", "hybird"], "'hybrid'"),
    ],
)
def test_wrong_usage_is_exit_code_two(ir: Ir, notes: Path, arguments: list[str], said: str) -> None:
    done = ir("discover", "notes", "tea", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_one_number_cannot_be_the_floor_of_several(ir: Ir, notes: Path, garden: Path) -> None:
    done = ir("discover", "notes", "garden", "tea", "--min-score", "0.4", "--json")
    assert done.code == 2
    assert "different scales" in done.json["error"]["message"]
    twice = ir("discover", "notes", "./notes", "tea")
    assert twice.code == 2
    assert "twice" in twice.err


def test_an_unknown_corpus_is_exit_code_three(ir: Ir, notes: Path) -> None:
    assert ir("discover", "nosuch", "tea").code == 3
    assert ir("discover", "notes", " ").code == 2


def test_without_a_corpus_the_current_folder_is_used(ir: Ir, notes: Path) -> None:
    assert ir("discover", "knead the dough").out.startswith("notes/bread.txt:1: ")
    missing = ir("discover", "notes")
    assert missing.code == 2
    assert "ir discover notes QUERY" in missing.err


@pytest.mark.parametrize("query", ["asdfqwerzxcv", "qwertyuiop", "blorptang zzzz"])
def test_nonsense_is_refused_without_a_calibration(ir: Ir, notes: Path, query: str) -> None:
    done = ir("discover", "notes", query)
    assert (done.code, done.out) == (1, "")
    assert "no word of the query is there" in done.err
    assert ir("discover", "notes", "how hot for green tea").code == 0


def test_the_floor_that_was_used_is_told_in_words_and_in_json(ir: Ir, notes: Path) -> None:
    told = ir("discover", "notes", "green tea")
    assert "floor: 0." in told.err
    assert "from queries about other things, mode hybrid" in told.err
    signals = ir("discover", "notes", "green tea", "--json").json["signals"]
    assert (signals["floor_from"], signals["floor_mode"], signals["gate_scale"]) == ("probes", "hybrid", "dense")
    assert signals["floor"] > 0
    given = ir("discover", "notes", "green tea", "--min-score", "0.01", "--json").json["signals"]
    assert (given["floor"], given["floor_from"]) == (0.01, "given")


def test_that_there_was_no_floor_is_told_too(ir: Ir, notes: Path) -> None:
    unwanted = ir("discover", "notes", "asdfqwerzxcv", "--min-score", "none")
    assert "floor: none" in unwanted.err
    words = ir("discover", "notes", "green tea", "--mode", "lexical")
    assert "No floor was applied" in words.err
    signals = ir("discover", "notes", "green tea", "--mode", "lexical", "--json").json["signals"]
    assert (signals["floor"], signals["floor_from"]) == (None, None)


def test_each_of_several_corpora_says_which_floor_it_had(ir: Ir, notes: Path, garden: Path) -> None:
    done = ir("discover", "notes", "garden", "asdfqwerzxcv")
    assert done.code == 1
    assert done.err.count("from queries about other things") == 2


def test_a_calibrated_floor_can_be_forgotten_for_the_one_that_builds_make(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    before = ir("discover", "notes", "green tea", "--json").json["signals"]["floor"]
    ir("calibrate-min-score", "notes", "--probes", "--percentile", "95")
    calibrated = ir("discover", "notes", "green tea", "--json").json["signals"]["floor"]
    assert calibrated > before
    (notes / "milk.md").write_text("Milk goes in first.\n")
    ir("build", "notes")
    assert ir("discover", "notes", "green tea", "--json").json["signals"]["floor"] == calibrated
    forgotten = ir("calibrate-min-score", "notes", "--forget")
    assert forgotten.code == 0
    assert "the floor is forgotten; the one made with the corpus holds" in forgotten.out
    assert ir("discover", "notes", "green tea", "--json").json["signals"]["floor"] < calibrated
    assert ir("calibrate-min-score", "notes", "--forget").code == 1
    assert ir("calibrate-min-score", "notes", "--forget", "--probes").code == 2


def test_disclosing_a_tool_prints_its_definition(ir: Ir, tmp_path: Path) -> None:
    tool = {"name": "read_file", "description": "Read a file.", "inputSchema": {"type": "object", "required": ["path"]}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": [tool]}))
    assert ir("register", "tools", str(file), "--kind", "mcp").code == 0
    assert ir("build", "tools").code == 0
    done = ir("discover", "tools", "read a file", "--disclose", "body", "--json")
    assert json.loads(done.json["results"][0]["body"]) == tool
    assert '"inputSchema"' in ir("discover", "tools", "read a file", "-d", "body").out
