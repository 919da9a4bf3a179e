"""Filters as they are written on a command line."""

from __future__ import annotations

import pytest

from ir.cli.conditions import read_filter
from ir.errors import FilterError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lang=en", {"lang": {"$eq": "en"}}),
        ("year=2024", {"year": {"$eq": 2024}}),
        ('year="2024"', {"year": {"$eq": "2024"}}),
        ("year>=2020", {"year": {"$gte": 2020}}),
        ("year<2020", {"year": {"$lt": 2020}}),
        ("lang!=de", {"lang": {"$ne": "de"}}),
        ("venue.name~SIGIR", {"venue.name": {"$contains": "SIGIR"}}),
        ("draft=false", {"draft": {"$eq": False}}),
        ("url=a=b", {"url": {"$eq": "a=b"}}),
        ("tags=[1]", {"tags": {"$eq": "[1]"}}),
        (" a = b c ", {"a": {"$eq": "b c"}}),
        ('a="=b"', {"a": {"$eq": "=b"}}),
    ],
)
def test_conditions(text: str, expected: dict[str, object]) -> None:
    assert read_filter(None, [text]) == expected


def test_all_must_hold() -> None:
    assert read_filter('{"a": 1}', ["b=2"]) == {"$and": [{"a": 1}, {"b": {"$eq": 2}}]}
    assert read_filter(None) is None


def test_a_value_that_begins_with_a_sign_is_quoted() -> None:
    assert read_filter(None, ['path~"<b>"', "note!=a=b"]) == {
        "$and": [{"path": {"$contains": "<b>"}}, {"note": {"$ne": "a=b"}}]
    }


@pytest.mark.parametrize("text", ["", "year", "=3", "~x", "year==2024", "year=>2024", "year>>3", "size<>3"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(FilterError, match="condition"):
        read_filter(None, [text])


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(FilterError, match="--filter"):
        read_filter(text)
