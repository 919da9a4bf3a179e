"""The metadata filter language: parsed once to a small tree, evaluated by each back end in its own way.

Filters look like MongoDB's. A tree has four node types: :class:`And`, :class:`Or`, :class:`Not` and
:class:`Leaf` (a path, one of :data:`LEAF_OPERATORS` and an operand); ``$ne``, ``$nin``, ``$nor`` and ``$not``
become :class:`Not`. Nodes are hashable, so a parsed filter can key a cache.

What the operators mean:

* a list-valued field matches if any member does, and equality also matches the whole list;
* ``None`` matches a missing field too; ``$ne``, ``$nin``, ``$not`` and ``$nor`` hold for missing fields;
* ordering compares numbers with numbers and strings with strings, anything else is no match;
* ``True`` and ``1`` differ, ``1`` and ``1.0`` do not;
* ``$contains`` is a substring of a string or a member of a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir.errors import FilterError
from ir.surrogates import storable

__all__ = [
    "LEAF_OPERATORS",
    "OPERATORS",
    "And",
    "Filter",
    "Leaf",
    "Not",
    "Or",
    "leaves",
    "matches",
    "parse_filter",
    "values_at",
]

LEAF_OPERATORS = ("$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$exists", "$contains")
#: How deep a filter may be nested, operands included.
MAX_DEPTH = 64
OPERATORS = (
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$and",
    "$or",
    "$nor",
    "$not",
    "$contains",
)


@dataclass(frozen=True)
class And:
    """Every item holds; with no items, anything does."""

    items: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """Some item holds; with no items, nothing does."""

    items: tuple[Filter, ...]


@dataclass(frozen=True)
class Not:
    item: Filter


@dataclass(frozen=True)
class Leaf:
    """One test of one field. ``key`` stands for the operand in comparisons and hashes."""

    path: str
    op: str
    operand: Any = field(compare=False)
    key: str = ""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", json.dumps(self.operand, sort_keys=True))

    def accepts(self, values: Sequence[Any]) -> bool:
        """Whether the values found at ``path`` (see :func:`values_at`) pass."""
        return _TESTS[self.op](values, self.operand)


Filter = And | Or | Not | Leaf


def parse_filter(spec: Mapping[str, Any] | Filter | None) -> Filter | None:
    """The tree of a filter, ``None`` for no filter.

    >>> parse_filter({"stars": {"$gte": 10}})
    Leaf(path='stars', op='$gte', operand=10, key='10')
    >>> parse_filter({"stars": {"$near": 3}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ir.errors.FilterError: Unknown filter operator '$near' at 'stars'. Use one of $eq, $ne, $gt, ...
    """
    if spec is None or isinstance(spec, (And, Or, Not, Leaf)):
        return spec
    if not isinstance(spec, Mapping):
        raise FilterError(f"A filter must be a mapping such as {{'owner': 'me'}}, not {type(spec).__name__}.")
    _check_depth(spec)
    tree = _parse_mapping(spec)
    return None if tree == And(()) else tree


def matches(node: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether ``metadata`` passes the filter.

    >>> matches(parse_filter({"tags": "red", "size": {"$gt": 2}}), {"tags": ["red", "big"], "size": 3})
    True
    """
    if isinstance(node, Leaf):
        return node.accepts(values_at(metadata, node.path))
    if isinstance(node, Not):
        return not matches(node.item, metadata)
    if isinstance(node, And):
        return all(matches(item, metadata) for item in node.items)
    return any(matches(item, metadata) for item in node.items)


def leaves(node: Filter) -> Iterator[Leaf]:
    """Every leaf of the tree."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Not):
        yield from leaves(node.item)
    else:
        for item in node.items:
            yield from leaves(item)


def values_at(document: Mapping[str, Any], path: str) -> list[Any]:
    """The values at a dotted path: none if it is missing, several if it crosses a list of mappings.

    A key that itself contains the dots is found first.

    >>> values_at({"a": {"b": 1}}, "a.b"), values_at({"a": [{"b": 1}, {"b": 2}]}, "a.b"), values_at({}, "a")
    ([1], [1, 2], [])
    """
    if path in document:
        return [document[path]]
    found: list[Any] = [document]
    for step in path.split("."):
        found = list(_step(found, step))
    return found


def _step(holders: Iterable[Any], step: str) -> Iterator[Any]:
    for holder in holders:
        if isinstance(holder, Mapping):
            if step in holder:
                yield holder[step]
        elif isinstance(holder, (list, tuple)):
            if step.isdecimal() and len(step) < 10 and int(step) < len(holder):
                yield holder[int(step)]
            yield from _step([item for item in holder if isinstance(item, Mapping)], step)


# -- parsing ---------------------------------------------------------------------------------------------


def _check_depth(spec: Any) -> None:
    # Everything that walks a filter recurses, here and in the stores: one bound, checked where filters come in.
    level = [spec]
    for _ in range(MAX_DEPTH):
        level = [part for item in level for part in _parts(item)]
        if not level:
            return
    raise FilterError(
        f"The filter is nested more than {MAX_DEPTH} levels deep.", remedy="Put conditions side by side in one $and."
    )


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()


def _parse_mapping(spec: Mapping[str, Any]) -> Filter:
    items = [_parse_entry(key, value) for key, value in spec.items()]
    return items[0] if len(items) == 1 else And(tuple(items))


def _parse_entry(key: Any, value: Any) -> Filter:
    if not isinstance(key, str):
        raise FilterError(f"A filter's keys are field names or operators, not {key!r}.")
    if not key.startswith("$"):
        return _parse_field(key, value)
    if key in ("$and", "$or", "$nor"):
        parts = tuple(_parse_mapping(_as_mapping(part, key)) for part in _as_list(value, key))
        if key == "$and":
            return And(parts)
        return Or(parts) if key == "$or" else Not(Or(parts))
    if key == "$not":
        return Not(_parse_mapping(_as_mapping(value, key)))
    if key in OPERATORS:
        raise FilterError(f"The operator {key!r} needs a field: write {{'field': {{{key!r}: ...}}}}.")
    raise _unknown(key, "the top level")


def _parse_field(path: str, value: Any) -> Filter:
    if not isinstance(value, Mapping) or not any(isinstance(key, str) and key.startswith("$") for key in value):
        return _leaf(path, "$eq", value)
    items = [_parse_operator(path, op, operand) for op, operand in value.items()]
    return items[0] if len(items) == 1 else And(tuple(items))


def _parse_operator(path: str, op: Any, operand: Any) -> Filter:
    if op == "$ne":
        return Not(_leaf(path, "$eq", operand))
    if op == "$nin":
        return Not(_leaf(path, "$in", _as_list(operand, f"$nin at {path!r}")))
    if op == "$not":
        return Not(_parse_negated(path, operand))
    if op in LEAF_OPERATORS:
        return _leaf(path, op, operand)
    raise _unknown(op, repr(path))


def _parse_negated(path: str, operand: Any) -> Filter:
    conditions = _as_mapping(operand, f"$not at {path!r}")
    if not conditions or not all(isinstance(key, str) and key.startswith("$") for key in conditions):
        raise FilterError(f"$not at {path!r} takes conditions such as {{'$gt': 3}}, not {operand!r}.")
    return _parse_field(path, conditions)


def _leaf(path: str, op: str, operand: Any) -> Leaf:
    operand = _plain(tuple(_as_list(operand, f"$in at {path!r}")) if op == "$in" else operand, path)
    if op == "$exists" and not isinstance(operand, bool):
        raise FilterError(f"$exists at {path!r} takes true or false, not {operand!r}.")
    if op in ("$gt", "$gte", "$lt", "$lte") and (
        isinstance(operand, bool) or not isinstance(operand, (int, float, str))
    ):
        raise FilterError(f"{op} at {path!r} compares with a number or a string, not {operand!r}.")
    return Leaf(storable(path), op, operand)


def _plain(value: Any, path: str) -> Any:
    """A copy of an operand as stores keep values, so that the tree stays as it is whatever becomes of the original."""
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if isinstance(key, str) and key.startswith("$"):
                raise FilterError(
                    f"The operator {key!r} stands inside a value at {path!r}.",
                    remedy=f"Reach into a field with a dotted path: {{'{path}.name': {{'$gt': 3}}}}.",
                )
        return {storable(str(key)): _plain(item, path) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, path) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item, path) for item in value), key=str)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), path)
    raise FilterError(f"A filter compares with JSON values; at {path!r} stands {value!r}.")


def _as_list(value: Any, op: str) -> list[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    raise FilterError(f"{op} takes a list, not {value!r}.")


def _as_mapping(value: Any, op: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise FilterError(f"{op} takes a mapping of conditions, not {value!r}.")


def _unknown(op: Any, where: str) -> FilterError:
    return FilterError(f"Unknown filter operator {op!r} at {where}.", remedy=f"Use one of {', '.join(OPERATORS)}.")


# -- evaluation ------------------------------------------------------------------------------------------


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def _each(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        yield value
        if isinstance(value, (list, tuple)):
            yield from value


def _equal(values: Sequence[Any], operand: Any) -> bool:
    if operand is None and not values:
        return True
    return any(_same(value, operand) for value in _each(values))


def _among(values: Sequence[Any], operand: Sequence[Any]) -> bool:
    return any(_equal(values, item) for item in operand)


def _exists(values: Sequence[Any], operand: bool) -> bool:
    return bool(values) is operand


def _contains(values: Sequence[Any], operand: Any) -> bool:
    for value in values:
        if isinstance(value, str):
            if isinstance(operand, str) and operand in value:
                return True
        elif isinstance(value, (list, tuple)) and any(_same(member, operand) for member in value):
            return True
    return False


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any], Any], bool]:
    def test(values: Sequence[Any], operand: Any) -> bool:
        kind = str if isinstance(operand, str) else (int, float)
        return any(
            isinstance(value, kind) and not isinstance(value, bool) and compare(value, operand)
            for value in _each(values)
        )

    return test


_TESTS: dict[str, Callable[[Sequence[Any], Any], bool]] = {
    "$eq": _equal,
    "$in": _among,
    "$exists": _exists,
    "$contains": _contains,
    "$gt": _ordered(lambda value, operand: value > operand),
    "$gte": _ordered(lambda value, operand: value >= operand),
    "$lt": _ordered(lambda value, operand: value < operand),
    "$lte": _ordered(lambda value, operand: value <= operand),
}
