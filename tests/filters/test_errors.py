"""A filter that does not parse says why, and never matches anything by accident."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ir.errors import FilterError
from ir.filters import MAX_DEPTH, OPERATORS, parse_filter


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("owner", "A filter must be a mapping such as {'owner': 'me'}, not str."),
        ([("owner", "me")], "A filter must be a mapping such as {'owner': 'me'}, not list."),
        ({1: 2}, "A filter's keys are field names or operators, not 1."),
        ({"$near": 1}, "Unknown filter operator '$near' at the top level. Use one of $eq, $ne,"),
        ({"a": {"$near": 1}}, "Unknown filter operator '$near' at 'a'. Use one of $eq, $ne,"),
        ({"a": {"$gt": 1, "b": 2}}, "Unknown filter operator 'b' at 'a'."),
        ({"a": {"$and": []}}, "Unknown filter operator '$and' at 'a'."),
        ({"a": {"$not": {"$near": 1}}}, "Unknown filter operator '$near' at 'a'."),
        ({"$or": [{"a": {"$regex": "x"}}]}, "Unknown filter operator '$regex' at 'a'."),
        ({"$gt": 3}, "The operator '$gt' needs a field: write {'field': {'$gt': ...}}."),
        ({"$and": {"a": 1}}, "$and takes a list, not {'a': 1}."),
        ({"$or": "a"}, "$or takes a list, not 'a'."),
        ({"$nor": [1]}, "$nor takes a mapping of conditions, not 1."),
        ({"$not": [{"a": 1}]}, "$not takes a mapping of conditions, not [{'a': 1}]."),
        ({"a": {"$not": 3}}, "$not at 'a' takes a mapping of conditions, not 3."),
        ({"a": {"$not": {}}}, "$not at 'a' takes conditions such as {'$gt': 3}, not {}."),
        ({"a": {"$not": {"b": 1}}}, "$not at 'a' takes conditions such as {'$gt': 3}, not {'b': 1}."),
        ({"a": {"$in": "xy"}}, "$in at 'a' takes a list, not 'xy'."),
        ({"a": {"$nin": 3}}, "$nin at 'a' takes a list, not 3."),
        ({"a": {"$exists": 1}}, "$exists at 'a' takes true or false, not 1."),
        ({"a": {"$gt": None}}, "$gt at 'a' compares with a number or a string, not None."),
        ({"a": {"$lte": True}}, "$lte at 'a' compares with a number or a string, not True."),
        ({"a": {"$lt": [1]}}, "$lt at 'a' compares with a number or a string, not [1]."),
        ({"a": object}, "A filter compares with JSON values; at 'a' stands <class 'object'>."),
        ({"a": {"$in": [b"x"]}}, "A filter compares with JSON values; at 'a' stands b'x'."),
        ({"a": {"b": {"$gt": 1}}}, "The operator '$gt' stands inside a value at 'a'. Reach into a field with"),
        ({"a": [{"$near": 1}]}, "The operator '$near' stands inside a value at 'a'."),
    ],
)
def test_message(spec: Any, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(spec)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, ValueError)


def test_an_unknown_operator_names_every_known_one() -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter({"a": {"$like": "x"}})
    assert caught.value.remedy == f"Use one of {', '.join(OPERATORS)}."


def test_dates_are_written_as_strings() -> None:
    with pytest.raises(FilterError, match="JSON values"):
        parse_filter({"when": {"$gt": datetime.date(2024, 1, 1)}})


def test_too_deep() -> None:
    spec: dict[str, Any] = {"a": 1}
    for _ in range(10_000):
        spec = {"$not": spec}
    with pytest.raises(FilterError, match=f"nested more than {MAX_DEPTH} levels deep"):
        parse_filter(spec)


def test_fairly_deep_is_fine() -> None:
    spec: dict[str, Any] = {"a": 1}
    for _ in range(25):
        spec = {"$and": [spec]}
    assert parse_filter(spec) is not None
