"""Cases and their files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ir.errors import InvalidInput
from ir.eval import DiscoveryCase, load_cases, load_meta, save_cases, to_qrels


def test_a_scalar_gold_is_one_id() -> None:
    assert DiscoveryCase.from_dict({"query": "q", "gold": "a"}).gold == ("a",)
    assert DiscoveryCase("q", "a").gold == ("a",)
    assert DiscoveryCase.from_dict({"query": "q", "gold": 7}).gold == ("7",)
    assert DiscoveryCase.from_dict({"query": "q", "gold": 0}).gold == ("0",)


def test_a_case_without_gold_asks_to_abstain() -> None:
    assert DiscoveryCase("q").gold_is_none
    assert DiscoveryCase.from_dict({"query": "q", "gold": None}).gold_is_none
    assert DiscoveryCase.from_dict({"query": "q", "gold": []}).gold_is_none
    assert not DiscoveryCase("q", ("a", "b")).gold_is_none


def test_only_gold_itself_says_that_nothing_answers() -> None:
    with pytest.raises(InvalidInput) as caught:
        DiscoveryCase.from_dict({"query": "q", "answers": ["a"]})
    assert "needs 'gold' (it has 'answers', 'query'); [] says that nothing answers it" in str(caught.value)
    with pytest.raises(InvalidInput, match="gold"):
        DiscoveryCase.from_dict({"query": "q", "gold": ""})


def test_dict_round_trip_keeps_everything() -> None:
    case = DiscoveryCase("q", ("a", "b"), "notes", "a", {"level": 2})
    assert DiscoveryCase.from_dict(case.to_dict()) == case
    assert DiscoveryCase("q").to_dict() == {"query": "q", "gold": []}


@pytest.mark.parametrize("query", ["", "  ", None, 3])
def test_a_query_must_be_text(query: object) -> None:
    with pytest.raises(InvalidInput, match="query"):
        DiscoveryCase(query)  # type: ignore[arg-type]


@pytest.mark.parametrize("gold", [["", "a"], [None], {"a": {}}.values(), 1.5, [True]])
def test_gold_must_be_ids(gold: object) -> None:
    with pytest.raises(InvalidInput, match="gold"):
        DiscoveryCase("q", gold)  # type: ignore[arg-type]


def test_file_round_trip_with_a_meta_line(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cases.jsonl"
    cases = [
        DiscoveryCase("où est-ce ?", "a"),
        DiscoveryCase("off topic"),
        DiscoveryCase("line break\u2028inside", "b"),
    ]
    save_cases(cases, path, meta={"signature": "abc"})
    assert load_cases(path) == cases
    assert load_meta(path) == {"signature": "abc"}
    assert path.read_text(encoding="utf-8").startswith('{"__meta__"')


def test_a_file_without_meta_has_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    save_cases([DiscoveryCase("q", "a")], path)
    assert load_meta(path) == {}
    save_cases([], path)
    assert load_cases(path) == []
    assert load_meta(path) == {}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"query": "q"', "not valid JSON"),
        ('["q"]', "expected a JSON object"),
        ('{"gold": "a"}', "'query'"),
        ('{"query": "", "gold": []}', "query"),
        ('{"query": "q"}', "a case needs 'gold'"),
        ('{"query": "q", "expected": "a"}', "it has 'expected', 'query'"),
        ('{"query": "q", "gold": [null]}', "gold"),
        ('{"query": "q", "gold": [], "metadata": 3}', "metadata"),
    ],
)
def test_a_broken_line_is_named_by_file_and_number(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"query": "fine", "gold": "a"}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=what) as caught:
        load_cases(path)
    assert f"{path}:3" in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_pipes_and_links_are_written_to_and_stay_what_they_are(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    save_cases([DiscoveryCase("q", "a")], f"/dev/fd/{writer}")
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == '{"query": "q", "gold": ["a"]}\n'
    (tmp_path / "link").symlink_to(tmp_path / "cases.jsonl")
    for query in ("q", "longer than before", "q"):
        save_cases([DiscoveryCase(query)], tmp_path / "link")
        assert load_cases(tmp_path / "cases.jsonl") == [DiscoveryCase(query)]
    assert (tmp_path / "link").is_symlink()


def test_a_missing_or_binary_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_cases(tmp_path / "none.jsonl")
    (tmp_path / "cases.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        load_cases(tmp_path / "cases.jsonl")


def test_qrels_are_numbered_by_position_and_skip_abstention() -> None:
    queries, qrels = to_qrels([DiscoveryCase("one", ("a", "b")), DiscoveryCase("none"), DiscoveryCase("two", "c")])
    assert queries == {"q00000": "one", "q00002": "two"}
    assert qrels == {"q00000": {"a": 1.0, "b": 1.0}, "q00002": {"c": 1.0}}
    assert to_qrels([DiscoveryCase("q", "a")], grade=2)[1] == {"q00000": {"a": 2}}


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000])
def test_json_that_python_cannot_read_names_its_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(f'{{"query": "q", "gold": {value}}}\n')
    with pytest.raises(InvalidInput, match=r"cases\.jsonl:1: "):
        load_cases(path)
