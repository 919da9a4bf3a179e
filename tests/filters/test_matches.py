"""What each operator means."""

from __future__ import annotations

from typing import Any

import pytest

from ir.filters import And, Leaf, Not, Or, leaves, matches, parse_filter, values_at

DOCUMENT = {
    "owner": "me",
    "stars": 10,
    "ratio": 0.5,
    "done": True,
    "nothing": None,
    "tags": ["red", "big", 3],
    "empty": [],
    "grid": [[1, 2], [3]],
    "author": {"name": "Ann", "age": 40, "pets": ["cat"]},
    "parts": [{"name": "wheel", "count": 4}, {"name": "door"}, "loose"],
    "version.major": 2,
}


def passes(spec: dict[str, Any]) -> bool:
    tree = parse_filter(spec)
    assert tree is not None
    return matches(tree, DOCUMENT)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"owner": "me"}, True),
        ({"owner": "you"}, False),
        ({"owner": {"$eq": "me"}}, True),
        ({"stars": 10.0}, True),
        ({"stars": "10"}, False),
        ({"done": True}, True),
        ({"done": 1}, False),
        ({"stars": True}, False),
        ({"tags": "red"}, True),
        ({"tags": 3.0}, True),
        ({"tags": ["red", "big", 3]}, True),
        ({"tags": ("red", "big", 3)}, True),
        ({"tags": ["red", "big"]}, False),
        ({"tags": ["big", "red", 3]}, False),
        ({"grid": [3]}, True),
        ({"grid": 3}, False),
        ({"empty": []}, True),
        ({"author": {"age": 40.0, "name": "Ann", "pets": ["cat"]}}, True),
        ({"author": {"name": "Ann"}}, False),
        ({"nothing": None}, True),
        ({"missing": None}, True),
        ({"owner": None}, False),
        ({"empty": None}, False),
        ({"missing": "x"}, False),
    ],
)
def test_equality(spec: dict[str, Any], expected: bool) -> None:
    assert passes(spec) is expected
    ((path, value),) = spec.items()
    if not isinstance(value, dict) or "$eq" not in value:
        assert passes({path: {"$ne": value}}) is not expected
        assert passes({path: {"$in": [value]}}) is expected
        assert passes({path: {"$nin": [value]}}) is not expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"stars": {"$gt": 9}}, True),
        ({"stars": {"$gt": 10}}, False),
        ({"stars": {"$gte": 10}}, True),
        ({"stars": {"$lt": 10.5}}, True),
        ({"stars": {"$lt": 10}}, False),
        ({"stars": {"$lte": 10}}, True),
        ({"stars": {"$gt": 3, "$lt": 9}}, False),
        ({"owner": {"$gt": "aa", "$lte": "me"}}, True),
        ({"owner": {"$gt": 1}}, False),
        ({"stars": {"$gt": ""}}, False),
        ({"done": {"$gte": 0}}, False),
        ({"nothing": {"$lt": 5}}, False),
        ({"missing": {"$lt": 5}}, False),
        ({"tags": {"$gt": 2}}, True),
        ({"tags": {"$gt": 3}}, False),
        ({"tags": {"$gt": "redd"}}, False),
        ({"author": {"$gt": 0}}, False),
    ],
)
def test_ordering(spec: dict[str, Any], expected: bool) -> None:
    assert passes(spec) is expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"owner": {"$in": ["you", "me"]}}, True),
        ({"owner": {"$in": {"you", "me"}}}, True),
        ({"owner": {"$in": []}}, False),
        ({"owner": {"$nin": []}}, True),
        ({"tags": {"$in": ["green", "big"]}}, True),
        ({"missing": {"$in": [None, 1]}}, True),
        ({"missing": {"$nin": [1]}}, True),
        ({"missing": {"$ne": 1}}, True),
        ({"owner": {"$exists": True}}, True),
        ({"nothing": {"$exists": True}}, True),
        ({"empty": {"$exists": True}}, True),
        ({"missing": {"$exists": True}}, False),
        ({"missing": {"$exists": False}}, True),
        ({"owner": {"$exists": False}}, False),
        ({"author.name": {"$contains": "nn"}}, True),
        ({"author.name": {"$contains": "NN"}}, False),
        ({"tags": {"$contains": "red"}}, True),
        ({"tags": {"$contains": "re"}}, False),
        ({"tags": {"$contains": 3}}, True),
        ({"stars": {"$contains": "1"}}, False),
        ({"owner": {"$contains": 1}}, False),
        ({"owner": {"$contains": ""}}, True),
        ({"missing": {"$contains": ""}}, False),
        ({"author": {"$contains": "name"}}, False),
    ],
)
def test_membership_existence_and_containment(spec: dict[str, Any], expected: bool) -> None:
    assert passes(spec) is expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"owner": "me", "stars": 11}, False),
        ({"$and": [{"owner": "me"}, {"stars": 10}]}, True),
        ({"$and": [{"owner": "me"}, {"stars": 11}]}, False),
        ({"$or": [{"owner": "you"}, {"stars": 10}]}, True),
        ({"$or": []}, False),
        ({"$nor": [{"owner": "you"}, {"stars": 11}]}, True),
        ({"$nor": [{"owner": "you"}, {"stars": 10}]}, False),
        ({"$not": {"owner": "me"}}, False),
        ({"$not": {"owner": "me", "stars": 11}}, True),
        ({"stars": {"$not": {"$gt": 10}}}, True),
        ({"stars": {"$not": {"$gt": 5, "$lt": 20}}}, False),
        ({"missing": {"$not": {"$gt": 10}}}, True),
        ({"missing": {"$not": {"$exists": True}}}, True),
        ({"owner": {"$not": {"$not": {"$eq": "me"}}}}, True),
        ({"$or": [{"$and": [{"owner": "me"}, {"$not": {"done": False}}]}, {"stars": 0}]}, True),
    ],
)
def test_connectives(spec: dict[str, Any], expected: bool) -> None:
    assert passes(spec) is expected


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("author.name", ["Ann"]),
        ("author.pets", [["cat"]]),
        ("author.pets.0", ["cat"]),
        ("parts.name", ["wheel", "door"]),
        ("parts.count", [4]),
        ("parts.1.name", ["door"]),
        ("parts.2", ["loose"]),
        ("parts.9", []),
        ("parts." + "9" * 5000, []),
        ("version.major", [2]),
        ("version", []),
        ("owner.length", []),
        ("author.missing.deeper", []),
        ("", []),
    ],
)
def test_paths(path: str, values: list[Any]) -> None:
    assert values_at(DOCUMENT, path) == values


def test_a_path_across_a_list_matches_if_any_member_does() -> None:
    assert passes({"parts.name": "door"})
    assert passes({"parts.count": {"$gte": 4}})
    assert not passes({"parts.count": {"$gt": 4}})


def test_no_filter() -> None:
    assert parse_filter(None) is None
    assert parse_filter({}) is None
    assert parse_filter({"$and": []}) is None


def test_a_tree_parses_to_itself() -> None:
    tree = parse_filter({"$or": [{"a": 1}, {"b": {"$ne": 2}}]})
    assert parse_filter(tree) is tree
    assert tree == Or((Leaf("a", "$eq", 1), Not(Leaf("b", "$eq", 2))))


def test_leaves_lists_every_test() -> None:
    tree = parse_filter({"$nor": [{"a": 1}, {"$and": [{"b": 2}, {"a": {"$gt": 0}}]}]})
    assert tree is not None
    assert [(leaf.path, leaf.op) for leaf in leaves(tree)] == [("a", "$eq"), ("b", "$eq"), ("a", "$gt")]


def test_equal_filters_are_one_cache_key() -> None:
    first, second = parse_filter({"a": [1, {"x": 2}]}), parse_filter({"a": (1, {"x": 2})})
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, "1"), (None, "null"), ([], {}), (0, False)])
def test_operands_that_differ_are_different_keys(one: Any, other: Any) -> None:
    assert parse_filter({"a": one}) != parse_filter({"a": other})
    assert Leaf("a", "$eq", one) != Leaf("a", "$eq", other)


def test_a_tree_does_not_follow_its_operands() -> None:
    wanted = ["me"]
    tree = parse_filter({"owner": {"$in": wanted}})
    wanted[0] = "you"
    assert tree is not None
    assert matches(tree, {"owner": "me"})


def test_numpy_scalars_are_numbers() -> None:
    import numpy as np

    tree = parse_filter({"stars": {"$gte": np.int64(10)}, "ratio": np.float32(0.5), "done": np.True_})
    assert isinstance(tree, And)
    assert matches(tree, DOCUMENT)
