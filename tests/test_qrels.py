"""Our own judged questions: that two judges can be compared, and that what was judged exists where it was judged."""

from __future__ import annotations

import ast
import json
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
QRELS = ROOT / "qrels"
if not QRELS.is_dir():
    pytest.skip("the judged questions are not part of this copy", allow_module_level=True)

from qrels import agreement  # noqa: E402

OPERATIONS = {"callers", "callees", "implementations", "tests_of", "impact"}


def lines_of(name: str) -> list[dict[str, Any]]:
    return list(agreement.read_lines(QRELS / name))


CONCEPTS, RELATIONS, POOLS = (lines_of(name) for name in ("concepts.jsonl", "relations.jsonl", "pools.jsonl"))
JUDGES = sorted(path.name for path in QRELS.glob("judge*.jsonl"))
COMMIT = json.loads((QRELS / "commit.json").read_text("utf-8"))["commit"]


# -- κ ---------------------------------------------------------------------------------------------------------------


def test_full_agreement_is_one_and_luck_is_zero() -> None:
    assert agreement.kappa([(0, 0), (1, 1), (2, 2)]) == 1
    assert agreement.kappa([(0, 0), (0, 2), (2, 0), (2, 2)]) == 0
    assert agreement.kappa([(0, 2), (2, 0)]) == -1
    assert agreement.kappa([(0, 0), (0, 0)]) == 1


def test_a_worked_example() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: 0.7 are equal, 0.5 would be by chance.
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert agreement.kappa(pairs) == pytest.approx(0.4)
    assert agreement.kappa_of_label(pairs, [1]) == pytest.approx(0.4)


def test_weights_forgive_near_misses() -> None:
    near = [(0, 0)] * 8 + [(2, 2)] * 8 + [(1, 2)] * 4
    far = [(0, 0)] * 8 + [(2, 2)] * 8 + [(0, 2)] * 4
    plain, by_steps, by_squares = (
        agreement.kappa(near, how) for how in (agreement.different, agreement.linear, agreement.quadratic)
    )
    assert plain < by_steps < by_squares < 1
    assert agreement.kappa(far, agreement.quadratic) < by_squares
    # With two grades in use, weights change nothing.
    assert agreement.kappa(far, agreement.quadratic) == pytest.approx(agreement.kappa(far))


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing"):
        agreement.kappa([])


def test_a_candidate_that_a_judge_left_out_is_a_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, pool, settled, gold = (tmp_path / name for name in ("one", "two", "pool", "settled", "gold"))
    first.write_text(
        '{"id": "c1", "path": "a.py", "grade": 2}\n{"id": "r1", "path": "a.py", "symbol": "f", "grade": 2}\n'
    )
    second.write_text(
        '{"id": "c1", "path": "a.py", "grade": 1}\n{"id": "r1", "path": "a.py", "symbol": "f", "grade": 2}\n'
    )
    pool.write_text(
        '{"id": "c1", "candidates": ["a.py", "b.py"]}\n{"id": "r1", "candidates": ["a.py::f", "a.py::g"]}\n'
    )
    both = [str(first), str(second), "--pool", str(pool)]
    assert agreement.main(both) == 0
    out = capsys.readouterr().out
    assert "c1  2 / 1  a.py" in out
    assert "b.py" not in out
    assert [row.split()[:3] for row in out.splitlines()[1:4]] == [
        ["all", "4", "0.750"],
        ["c", "2", "0.500"],
        ["r", "2", "1.000"],
    ]
    assert agreement.main([*both, "--gold", str(gold)]) == 2
    assert "not settled; the first is c1 a.py" in capsys.readouterr().err
    settled.write_text('{"id": "c1", "path": "a.py", "grade": 2, "why": "it decides"}\n')
    assert agreement.main([*both, "--gold", str(gold), "--settled", str(settled)]) == 0
    assert gold.read_text() == "c1 0 a.py 2\nr1 0 a.py::f 2\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "c1", "path": "a.py", "grade": 3}', "must be 0, 1 or 2"),
        ('{"id": "c1", "path": "a.py", "grade": 1}\n{"id": "c1", "path": "a.py", "grade": 2}', "judged twice"),
        ('{"id": "c1", "path": "z.py", "grade": 1}', "not in the pool"),
        ("{", "one:1"),
    ],
)
def test_wrong_judgements_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    one, pool = tmp_path / "one", tmp_path / "pool"
    one.write_text(line)
    pool.write_text('{"id": "c1", "candidates": ["a.py"]}')
    assert agreement.main([str(one), str(one), "--pool", str(pool)]) == 2
    assert said in capsys.readouterr().err


# -- the questions and what was judged -------------------------------------------------------------------------------


def test_the_questions() -> None:
    assert [line["id"] for line in CONCEPTS] == [f"c{number:02}" for number in range(1, 51)]
    assert [line["id"] for line in RELATIONS] == [f"r{number:02}" for number in range(1, 26)]
    assert len({line["query"] for line in CONCEPTS + RELATIONS}) == 75
    assert {line["operation"] for line in RELATIONS} == OPERATIONS
    assert 5 <= sum(line["kind"] != "plain" for line in CONCEPTS) <= 8


def test_every_question_has_a_pool_without_repeats() -> None:
    assert [line["id"] for line in POOLS] == [line["id"] for line in CONCEPTS + RELATIONS]
    for line in POOLS:
        assert max(Counter(line["candidates"]).values()) == 1


@pytest.mark.parametrize("judge", JUDGES)
def test_what_was_judged_was_in_the_pool_and_every_question_has_an_answer(judge: str) -> None:
    grades = agreement.read_judgements(QRELS / judge)
    assert set(grades) <= set(agreement.read_pool(QRELS / "pools.jsonl"))
    assert {pair[0] for pair, grade in grades.items() if grade == 2} == {line["id"] for line in POOLS}


def test_every_difference_is_settled_with_a_reason_and_nothing_else_is() -> None:
    first, second = (agreement.read_judgements(QRELS / name) for name in ("judge1.jsonl", "judge2.jsonl"))
    grades = agreement.both(first, second, agreement.read_pool(QRELS / "pools.jsonl"))
    differing = {(one.id, one.candidate) for one in agreement.differences(grades)}
    assert set(agreement.read_judgements(QRELS / "settled.jsonl")) == differing
    assert all(len(line["why"].split()) >= 4 for line in lines_of("settled.jsonl"))


def test_the_judges_agree_well_enough_and_the_gold_is_made_of_them(tmp_path: Path) -> None:
    names = ("judge1.jsonl", "judge2.jsonl", "pools.jsonl", "settled.jsonl", "gold.qrels")
    first, second, pool, settled, gold = (QRELS / name for name in names)
    grades = agreement.both(*map(agreement.read_judgements, (first, second)), agreement.read_pool(pool))
    assert agreement.kappa(list(grades.values())) >= 0.7
    made = tmp_path / "gold"
    asked = [str(first), str(second), "--pool", str(pool), "--settled", str(settled), "--gold", str(made)]
    assert agreement.main(asked) == 0
    assert made.read_text("utf-8") == gold.read_text("utf-8")
    best = [line.split() for line in gold.read_text("utf-8").splitlines() if line.endswith(" 2")]
    assert {line[0] for line in best} == {line["id"] for line in POOLS}


# -- the commit ------------------------------------------------------------------------------------------------------


@cache
def source(path: str) -> str | None:
    """A file as it was at the commit; ``None`` if it was not there."""
    found = subprocess.run(["git", "show", f"{COMMIT}:{path}"], cwd=ROOT, capture_output=True, check=False)
    return found.stdout.decode() if found.returncode == 0 else None


@cache
def definitions(path: str) -> dict[str, tuple[int, int]]:
    """The definitions of a file by their qualified names, with their lines."""
    found: dict[str, tuple[int, int]] = {}

    def walk(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                found[before + child.name] = (first, child.end_lineno or first)
                walk(child, f"{before}{child.name}.")
            else:
                walk(child, before)

    walk(ast.parse(source(path) or ""), "")
    return found


@pytest.fixture(scope="module")
def at_commit() -> None:
    try:
        known = subprocess.run(["git", "cat-file", "-e", f"{COMMIT}^{{commit}}"], cwd=ROOT, capture_output=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if known.returncode:
        pytest.skip("this copy does not have the commit that was judged")


@pytest.mark.usefixtures("at_commit")
def test_every_candidate_and_symbol_exists_at_the_commit() -> None:
    names = {candidate for line in POOLS for candidate in line["candidates"]}
    names |= {symbol for line in RELATIONS for symbol in line["symbols"]}
    for name in sorted(names):
        path, _, symbol = name.partition("::")
        assert source(path) is not None, name
        assert not symbol or symbol in definitions(path), name


@pytest.mark.usefixtures("at_commit")
@pytest.mark.parametrize("judge", JUDGES)
def test_lines_are_those_of_the_definitions_at_the_commit(judge: str) -> None:
    for line in lines_of(judge):
        named = [(one["name"], one["lines"]) for one in line.get("definitions", [])]
        named += [(line["symbol"], line["lines"])] if "lines" in line else []
        for name, lines in named:
            assert definitions(line["path"])[name] == tuple(lines), (line["id"], line["path"], name)
