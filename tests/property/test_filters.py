"""Parsed filters mean what a naive reading of the same specification means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.errors import FilterError
from ir.filters import OPERATORS, matches, parse_filter

pytestmark = pytest.mark.slow
# Four tests of 625 filters, each on four documents: ten thousand cases.
thorough = settings(
    max_examples=625, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

# -- a naive evaluator of the specification itself -------------------------------------------------------------


def shape(value: Any) -> Any:
    """A value as something that is equal just when the values count as equal."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (int, float)):
        return ("number", float(value))
    if isinstance(value, list):
        return ("list", tuple(shape(item) for item in value))
    if isinstance(value, dict):
        return ("dict", tuple(sorted((key, shape(item)) for key, item in value.items())))
    return (type(value).__name__, value)


def reach(value: Any, steps: list[str]) -> list[Any]:
    if not steps:
        return [value]
    first, *rest = steps
    found = []
    if isinstance(value, dict) and first in value:
        found += reach(value[first], rest)
    if isinstance(value, list):
        if first in [str(at) for at in range(len(value))]:
            found += reach(value[int(first)], rest)
        for member in value:
            if isinstance(member, dict):
                found += reach(member, steps)
    return found


def holds(spec: dict[str, Any], document: dict[str, Any]) -> bool:
    verdicts = []
    for key, value in spec.items():
        if key == "$and":
            verdicts.append(all(holds(part, document) for part in value))
        elif key == "$or":
            verdicts.append(any(holds(part, document) for part in value))
        elif key == "$nor":
            verdicts.append(not any(holds(part, document) for part in value))
        elif key == "$not":
            verdicts.append(not holds(value, document))
        else:
            found = [document[key]] if key in document else reach(document, key.split("."))
            is_condition = isinstance(value, dict) and any(name.startswith("$") for name in value)
            verdicts.append(field_holds(value if is_condition else {"$eq": value}, found))
    return all(verdicts)


def field_holds(conditions: dict[str, Any], found: list[Any]) -> bool:
    return all(condition_holds(op, operand, found) for op, operand in conditions.items())


def condition_holds(op: str, operand: Any, found: list[Any]) -> bool:
    members = [member for value in found if isinstance(value, list) for member in value]
    if op == "$eq":
        shapes = [shape(value) for value in found + members] or [shape(None)] * (not found)
        return shape(operand) in shapes
    if op == "$ne":
        return not condition_holds("$eq", operand, found)
    if op == "$in":
        return any(condition_holds("$eq", item, found) for item in operand)
    if op == "$nin":
        return not condition_holds("$in", operand, found)
    if op == "$exists":
        return (len(found) > 0) == operand
    if op == "$not":
        return not field_holds(operand, found)
    if op == "$contains":
        if shape(operand) in [shape(member) for member in members]:
            return True
        return isinstance(operand, str) and any(operand in value for value in found if isinstance(value, str))
    family = shape(operand)[0]
    rivals = [value for value in found + members if shape(value)[0] == family]
    return any(
        {"$gt": value > operand, "$gte": value >= operand, "$lt": value < operand, "$lte": value <= operand}[op]
        for value in rivals
    )


# -- random documents and filters ------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "0"])
paths = st.one_of(names, st.lists(names, min_size=2, max_size=3).map(".".join))
numbers = st.one_of(st.integers(-2, 3), st.sampled_from([-0.5, 0.0, 1.0, 2.5]))
strings = st.text("ab", max_size=3)
scalars = st.one_of(st.none(), st.booleans(), numbers, strings)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=2)),
    max_leaves=5,
)
documents = st.dictionaries(paths, values, max_size=4)
collections = st.lists(documents, min_size=4, max_size=4)
tests = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$contains"]), values),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.one_of(numbers, strings)),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
)
plain_conditions = st.lists(tests, min_size=1, max_size=2).map(dict)
conditions = st.one_of(plain_conditions, plain_conditions.map(lambda inner: {"$not": inner}))
fields = st.dictionaries(paths, st.one_of(values, conditions), max_size=2)
filters = st.recursive(
    fields,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, max_size=3)).map(lambda one: dict([one])),
        inner.map(lambda part: {"$not": part}),
        st.tuples(inner, inner).map(lambda pair: {**pair[0], **pair[1]}),
    ),
    max_leaves=5,
)


def agree(spec: dict[str, Any], several: list[dict[str, Any]]) -> None:
    tree = parse_filter(spec)
    chosen = [tree is None or matches(tree, document) for document in several]
    assert chosen == [holds(spec, document) for document in several]


@thorough
@given(paths, st.one_of(values, conditions), collections)
def test_one_field(path: str, condition: Any, several: list[dict[str, Any]]) -> None:
    agree({path: condition}, several)


@thorough
@given(st.data(), paths, st.lists(values, min_size=4, max_size=4))
def test_one_field_that_is_there(data: st.DataObject, path: str, held: list[Any]) -> None:
    members = [member for value in held if isinstance(value, list) for member in value]
    operand = data.draw(st.sampled_from(held + members))
    condition = data.draw(
        st.one_of(
            st.sampled_from(["$eq", "$ne", "$contains"]).map(lambda op: {op: operand}),
            st.sampled_from(["$in", "$nin"]).map(lambda op: {op: [operand, "z"]}),
            conditions,
        )
    )
    agree({path: condition}, [{path: value} for value in held])


@thorough
@given(filters, collections)
def test_whole_filters(spec: dict[str, Any], several: list[dict[str, Any]]) -> None:
    agree(spec, several)


@thorough
@given(filters, filters, collections)
def test_whole_filters_combined(left: dict[str, Any], right: dict[str, Any], several: list[dict[str, Any]]) -> None:
    agree({"$nor": [{"$and": [left, right]}, {"$not": left}]}, several)


unknown = st.text("abcdefgheqinotx", min_size=1, max_size=6).map("$".__add__).filter(lambda op: op not in OPERATORS)


@settings(thorough, max_examples=300)
@given(unknown, values, filters, st.sampled_from(["top", "field", "not", "value", "deep"]))
def test_unknown_operators_always_raise(op: str, operand: Any, rest: dict[str, Any], where: str) -> None:
    bad = {
        "top": {op: operand},
        "field": {"a": {op: operand}},
        "not": {"a": {"$not": {op: operand}}},
        "value": {"a": {"$in": [{op: operand}]}},
        "deep": {"$or": [{"$and": [{"b.c": {"$exists": True, op: operand}}]}]},
    }[where]
    with pytest.raises(FilterError, match="operator"):
        parse_filter({"$and": [rest, bad]})
