"""``ir tune``, and what searches make of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]

WORDS = ("anchor", "basket", "candle", "drum", "engine", "feather", "guitar", "hammer", "island", "jacket", "kettle")


@pytest.fixture
def shed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ir: Ir) -> Path:
    """A folder of things, built as a corpus."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shed"
    folder.mkdir()
    for word in WORDS:
        for place in ("left", "right"):
            text = f"The {word} hangs on the {place} wall of the shed.\n"
            (folder / f"{word}-{place}.txt").write_text(text, "utf-8")
    assert ir("build", "shed").code == 0
    return folder


@pytest.fixture
def cases(shed: Path) -> str:
    lines = [
        {"query": f"{word} on the {place} wall", "gold": [f"{word}-{place}.txt"]}
        for word in WORDS
        for place in ("left", "right")
    ]
    path = shed.parent / "cases.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


def test_the_default_stays_where_nothing_is_better(ir: Ir, cases: str) -> None:
    done = ir("tune", "shed", cases)
    assert done.code == 1
    assert "Kept the default" in done.out
    assert "blend α=0.5" in done.out


def test_json_holds_the_table(ir: Ir, cases: str) -> None:
    report = ir("tune", "shed", cases, "--dry-run", "--folds", "3", "--json").json
    assert report["saved"] is False
    assert report["tuning"]["folds"] == 3
    assert {trial["name"] for trial in report["tuning"]["trials"]} >= {"default", "dense", "lexical", "rrf"}


def tuned(ir: Ir, **options: Any) -> None:
    """Put a choice in the corpus, as tuning would."""
    import ir as library
    from ir.app.targets import resolve
    from ir.tune import Tuning, Way

    corpus = library.open_corpus(resolve("shed").name)
    Tuning("shed", corpus.embedder_id, "ndcg@10", 50, 5, (), Way("mine", options), "").save(corpus)


def test_search_and_discover_use_the_choice_unless_told_otherwise(ir: Ir, shed: Path) -> None:
    tuned(ir, mode="lexical")
    assert ir("search", "shed", "left hammer", "--json").json["meta"]["mode"] == "lexical"
    assert ir("search", "shed", "left hammer", "--mode", "dense", "--json").json["meta"]["mode"] == "dense"
    assert ir("search", "shed", "left hammer", "--fusion", "rrf", "--json").json["meta"]["fusion"] == "rrf"
    assert ir("discover", "shed", "left hammer", "--json").json["mode"] == "lexical"
    assert ir("discover", "shed", "left hammer", "--mode", "hybrid", "--json").json["mode"] == "hybrid"


def test_a_setting_of_the_users_wins_over_the_choice(ir: Ir, shed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned(ir, mode="lexical")
    monkeypatch.setenv("IR_MODE", "dense")
    assert ir("search", "shed", "left hammer", "--json").json["meta"]["mode"] == "dense"


def test_eval_measures_what_searches_do(ir: Ir, cases: str) -> None:
    tuned(ir, mode="lexical")
    assert ir("eval", "shed", cases, "--json").json["report"]["mode"] == "lexical"


def test_a_choice_can_be_forgotten(ir: Ir, shed: Path) -> None:
    tuned(ir, mode="lexical")
    assert "mine is forgotten" in ir("tune", "shed", "--forget").out
    assert ir("search", "shed", "left hammer", "--json").json["meta"]["mode"] == "hybrid"
    again = ir("tune", "shed", "--forget")
    assert again.code == 1
    assert "nothing was tuned" in again.out


def with_off_topic(cases: str, *, labels: str = "right") -> str:
    """The cases and as many without an answer: about other things, or (labels drawn at random) about the same."""
    import random

    rng = random.Random(5)
    lines = [json.loads(line) for line in Path(cases).read_text("utf-8").splitlines()]
    if labels == "right":
        lines += [{"query": f"parliament election {number} results", "gold": []} for number in range(20)]
    else:
        lines = [{**line, "gold": line["gold"] if rng.random() < 0.5 else []} for line in lines * 5]
    path = Path(cases).with_name(f"{labels}.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


@pytest.mark.slow
def test_noise_sets_no_floor_and_says_so(ir: Ir, cases: str) -> None:
    noise = with_off_topic(cases, labels="random")
    done = ir("tune", "shed", noise)
    assert "No floor: J " in done.out
    assert ir("discover", "shed", "hammer on the left wall").code == 0
    made = ir("calibrate-min-score", "shed", noise)
    assert made.code == 1
    assert "no better than chance (held-out J " in made.out
    found = ir("discover", "shed", "hammer on the left wall", "--json").json
    assert found["signals"]["floor_from"] == "probes"  # the one that the build made


def test_a_floor_that_tuning_set_is_forgotten_with_the_rest(ir: Ir, cases: str) -> None:
    done = ir("tune", "shed", with_off_topic(cases))
    assert "Floor 0." in done.out
    assert "kept with the corpus" in done.out
    assert ir("discover", "shed", "parliament election", "--json").json["signals"]["floor_from"] == "cases"
    assert "the floor that tuning set is forgotten" in ir("tune", "shed", "--forget").out
    assert ir("discover", "shed", "hammer", "--json").json["signals"]["floor_from"] == "probes"
    assert ir("tune", "shed", "--forget").code == 1


@pytest.mark.parametrize("args", [("tune", "shed"), ("tune", "shed", "x.jsonl", "--forget")])
def test_wrong_usage_is_told(ir: Ir, shed: Path, args: tuple[str, ...]) -> None:
    done = ir(*args)
    assert done.code == 2
    assert "give one of the two" in done.err


def test_a_corpus_that_was_never_built_is_an_error(ir: Ir, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert ir("tune", str(tmp_path / "empty"), "x.jsonl").code == 3


def test_a_collection_in_beirs_layout_keeps_its_grades(ir: Ir, shed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "anchor-left.txt", "title": "", "text": "x"}\n', "utf-8")
    queries = [{"_id": f"q{n}", "text": f"{word} wall"} for n, word in enumerate(WORDS * 2)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in queries), "utf-8")
    judged = [
        f"q{n}\t{word}-{place}.txt\t{grade}"
        for n, word in enumerate(WORDS * 2)
        for place, grade in (("left", 2), ("right", 1))
    ]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]), "utf-8")
    done = ir("tune", "shed", str(folder), "--dry-run", "--json")
    report = done.json
    assert report["tuning"]["n_queries"] == 22
    # With grades 2 and 1 a ranking that has the right one first is worth less than 1, without them exactly 1.
    assert 0 < report["tuning"]["trials"][0]["value"] < 1
