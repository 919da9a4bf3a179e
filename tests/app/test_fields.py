"""Requests are checked by their fields: unknown names, types, bounds, words, and what lists and mappings hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from ir.app import Arg, Context, Value
from ir.app.fields import clamped
from ir.app.searching import SearchRequest, search
from ir.errors import InvalidInput


@dataclass(frozen=True)
class Asked(Value):
    name: Annotated[str, Arg("a name", blank=False, max_chars=5)]
    k: Annotated[int | None, Arg("how many", min=1, max=10, clamp=True)] = None
    share: Annotated[float, Arg("a share", min=0, max=1)] = 0.5
    mode: Annotated[str, Arg("a word", choices=("dense", "lexical"))] = "dense"
    flag: bool = False
    tags: Annotated[tuple[str, ...], Arg("some", max_items=2)] = ()
    sizes: tuple[int, ...] = ()
    weights: Mapping[str, float] | None = None
    floor: float | str | Mapping[str, float] | None = None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "name is missing"),
        ({"name": "a", "nmae": 1}, "Did you mean 'name'"),
        ({"name": ""}, "name is empty"),
        ({"name": "toolong"}, "at most 5"),
        ({"name": 3}, "name must be text"),
        ({"name": "a", "k": 0}, "k must be a whole number of at least 1 and at most 10, not 0"),
        ({"name": "a", "k": 11}, "at most 10, not 11"),
        ({"name": "a", "k": True}, "not True"),
        ({"name": "a", "k": 1.0}, "not 1.0"),
        ({"name": "a", "k": "ten"}, "not 'ten'"),
        ({"name": "a", "share": "x"}, "share must be a number between 0 and 1"),
        ({"name": "a", "share": float("nan")}, "nan"),
        ({"name": "a", "share": True}, "True"),
        ({"name": "a", "mode": "denes"}, "Did you mean 'dense'"),
        ({"name": "a", "mode": 7}, "mode must be one of"),
        ({"name": "a", "flag": 1}, "flag must be true or false"),
        ({"name": "a", "flag": "yes"}, "flag must be true or false"),
        ({"name": "a", "tags": "x"}, "tags must be a list"),
        ({"name": "a", "tags": ["x", 3]}, r"tags\[1\] must be text"),
        ({"name": "a", "tags": ["x", "y", "z"]}, "at most 2"),
        ({"name": "a", "sizes": [1, True]}, r"sizes\[1\]"),
        ({"name": "a", "weights": [1]}, "weights must be a mapping"),
        ({"name": "a", "weights": {"x": "1"}}, r"weights\['x'\] must be a number"),
        ({"name": "a", "floor": []}, "floor must be a number or text or a mapping"),
        ({"name": None}, "name must be text"),
        ([], "named fields"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(data: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Asked.from_dict(data)


def test_what_fits_is_taken() -> None:
    asked = Asked.from_dict({"name": "a", "k": None, "share": 1, "tags": ["x"], "weights": {"x": 1}, "floor": "auto"})
    assert asked == Asked("a", None, 1, tags=("x",), weights={"x": 1}, floor="auto")
    assert Asked.from_dict(asked.to_dict()) == asked


def test_a_request_made_in_python_is_checked_when_it_is_run() -> None:
    wrong: Any = "ten"
    with pytest.raises(InvalidInput, match="k must be"):
        search(SearchRequest("tea", k=wrong), Context())


def test_a_long_or_secret_value_is_not_repeated_whole() -> None:
    with pytest.raises(InvalidInput) as refused:
        Asked.from_dict({"name": "a", "k": "x" * 1000})
    assert len(str(refused.value)) < 250
    with pytest.raises(InvalidInput) as refused:
        Asked.from_dict({"name": "a", "k": "ghp_" + "a1B2" * 9})
    assert "a1B2a1B2" not in str(refused.value)


def test_only_what_says_so_is_brought_down() -> None:
    out, notes = clamped(Asked, {"name": "a", "k": 50, "share": 3.0})
    assert (out["k"], out["share"]) == (10, 3.0)
    assert len(notes) == 1
    assert clamped(Asked, {"k": 0})[0] == {"k": 0}


def test_a_wrong_word_of_a_list_is_told_as_one() -> None:
    from ir.app.installing import InstallRequest

    with pytest.raises(InvalidInput, match=r"^Unknown client 'emacs'; use one of 'claude'"):
        InstallRequest.from_dict({"clients": ["emacs"]})
