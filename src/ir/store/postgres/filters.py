"""Metadata filters as conditions on the ``jsonb`` column, with just the meaning they have in :mod:`ir.filters`.

SQL/JSON paths in their lax mode step through lists as filters do: a list of mappings is crossed, members of a list are
compared one by one. What they do otherwise (numeric steps, which index lists) is left to Python.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ir.filters import And, Filter, Leaf, Not
from ir.protocols import Where
from ir.store.postgres.codec import is_plain, packed

__all__ = ["Condition", "condition_of"]

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_MEMBERS = "jsonb_array_elements(CASE jsonb_typeof(v) WHEN 'array' THEN v ELSE '[]' END) AS e"


class Condition(NamedTuple):
    """A condition on ``records`` with its parameters."""

    text: str
    parameters: tuple[Any, ...] = ()


class _Inexpressible(Exception):
    """The filter asks something that SQL would answer differently."""


def condition_of(where: Where) -> Condition | None:
    """The condition that holds for just the records that ``where`` admits; ``None`` if none can be written.

    >>> from ir.filters import parse_filter
    >>> condition_of(Where(parse_filter({"tags": "red"})))
    Condition(text='metadata @? %s::jsonpath', parameters=('$."tags" ? (@.type() != "array" && (@ == "red"))',))
    """
    parts = []
    if where.kinds is not None:
        parts.append(Condition("kind = ANY(%s)", (sorted(map(packed, where.kinds)),)))
    if where.filter is not None:
        try:
            parts.append(_tree(where.filter))
        except _Inexpressible:
            return None
    return _joined(parts, " AND ", "true")


def _tree(node: Filter) -> Condition:
    if isinstance(node, Leaf):
        return _leaf(node)
    if isinstance(node, Not):
        inner = _tree(node.item)
        return Condition(f"({inner.text}) IS NOT TRUE", inner.parameters)
    if isinstance(node, And):
        return _joined([_tree(item) for item in node.items], " AND ", "true")
    return _joined([_tree(item) for item in node.items], " OR ", "false")


def _joined(parts: Sequence[Condition], word: str, empty: str) -> Condition:
    if not parts:
        return Condition(empty)
    if len(parts) == 1:
        return parts[0]
    text = word.join(f"({part.text})" for part in parts)
    return Condition(text, tuple(value for part in parts for value in part.parameters))


def _leaf(leaf: Leaf) -> Condition:
    if not is_plain(leaf.path):
        raise _Inexpressible
    steps = leaf.path.split(".")
    if any(step.isdecimal() for step in steps[1:]):
        raise _Inexpressible
    stepped = _test(leaf, "".join(f".{json.dumps(step)}" for step in steps))
    if len(steps) == 1:
        return stepped
    # A key that itself holds the dots goes first.
    whole = _test(leaf, f".{json.dumps(leaf.path)}")
    return Condition(
        f"(metadata ? %s AND ({whole.text})) OR (NOT metadata ? %s AND ({stepped.text}))",
        (leaf.path, *whole.parameters, leaf.path, *stepped.parameters),
    )


def _test(leaf: Leaf, path: str) -> Condition:
    if leaf.op == "$exists":
        found = _matches(f"${path}")
        return found if leaf.operand else Condition(f"({found.text}) IS NOT TRUE", found.parameters)
    if leaf.op == "$contains":
        return _contains(leaf.operand, path)
    if leaf.op in _COMPARISONS:
        return _some(path, f"@ {_COMPARISONS[leaf.op]} {_literal(leaf.operand)}")
    return _among(leaf.operand if leaf.op == "$in" else (leaf.operand,), path)


def _among(operands: Sequence[Any], path: str) -> Condition:
    """Some value, or some member of a list there, equals one of the operands."""
    scalars = [item for item in operands if not isinstance(item, (list, tuple, dict))]
    parts = []
    if scalars:
        parts.append(_some(path, " || ".join(f"@ == {_literal(item)}" for item in scalars)))
    if any(item is None for item in scalars):
        missing = _matches(f"${path}")
        parts.append(Condition(f"({missing.text}) IS NOT TRUE", missing.parameters))
    for item in operands:
        if isinstance(item, (list, tuple, dict)):
            value = _whole(item)
            text = (
                "EXISTS (SELECT FROM jsonb_path_query(metadata, %s::jsonpath) AS v "
                f"WHERE v = %s::jsonb OR EXISTS (SELECT FROM {_MEMBERS} WHERE e = %s::jsonb))"
            )
            parts.append(Condition(text, (f"${path}", value, value)))
    return _joined(parts, " OR ", "false")


def _contains(operand: Any, path: str) -> Condition:
    value = _whole(operand)
    member = f"EXISTS (SELECT FROM {_MEMBERS} WHERE e = %s::jsonb)"
    parameters: tuple[Any, ...] = (f"${path}", value)
    if isinstance(operand, str):
        member = f"CASE jsonb_typeof(v) WHEN 'string' THEN strpos(v #>> '{{}}', %s) > 0 ELSE {member} END"
        parameters = (f"${path}", operand, value)
    return Condition(f"EXISTS (SELECT FROM jsonb_path_query(metadata, %s::jsonpath) AS v WHERE {member})", parameters)


def _some(path: str, test: str) -> Condition:
    """Some value, or some member of a list there, passes a test; members of members do not count."""
    return _matches(f'${path} ? (@.type() != "array" && ({test}))')


def _matches(path: str) -> Condition:
    return Condition("metadata @? %s::jsonpath", (path,))


def _literal(value: Any) -> str:
    """A scalar as a path writes it."""
    _check(value)
    return json.dumps(value)


def _whole(value: Any) -> str:
    """Any value as JSON."""
    _check(value)
    return json.dumps(value)


def _check(value: Any) -> None:
    if isinstance(value, dict):
        _check(list(value))
        _check(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item)
    elif (isinstance(value, str) and not is_plain(value)) or (isinstance(value, float) and not math.isfinite(value)):
        raise _Inexpressible
