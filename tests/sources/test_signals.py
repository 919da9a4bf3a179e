from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.sources import content_hash_signal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@dataclass
class Point:
    x: int


class Plain:
    def __init__(self, value: int) -> None:
        self.value = value


@given(JSON)
def test_equal_content_has_an_equal_signal_in_any_key_order(raw: object) -> None:
    twisted = dict(reversed(raw.items())) if isinstance(raw, dict) else raw
    assert content_hash_signal("a", raw) == content_hash_signal("b", twisted)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", 1),
        ("a", b"a"),
        (["ab"], ["a", "b"]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, [["a", 1]]),
        ({1: "x"}, {"1": "x"}),
        ({1, 2}, [1, 2]),
        (True, 1),
        (None, "None"),
        (Point(1), Point(2)),
        (Plain(1), Plain(2)),
        (np.array([1.0]), np.array([2.0])),
        ({"a": b"x"}, {"a": b"y"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_different_content_has_a_different_signal(one: object, other: object) -> None:
    assert content_hash_signal("a", one) != content_hash_signal("a", other)


def test_objects_have_the_signal_of_what_they_hold() -> None:
    assert content_hash_signal("a", Plain(1)) == content_hash_signal("a", Plain(1))
    assert content_hash_signal("a", {1: "x", "y": {2, 3}}) == content_hash_signal("a", {"y": {3, 2}, 1: "x"})
    assert content_hash_signal("a", "half \ud800") != content_hash_signal("a", "half \ud801")
