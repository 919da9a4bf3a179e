"""A metadata filter as an expression of Milvus, where that means the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ir.filters import And, Filter, Leaf, Not

__all__ = ["ALL", "NONE", "Untold", "expression", "prefilter"]

ALL = "ref >= 0"
NONE = "ref < 0"
#: Characters that stand for themselves in a string of an expression, whatever the server's version.
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\"'\\{}]*")
_WORDS = re.compile(r"[A-Za-z0-9 .:/-]+")
_KEY = re.compile(r"[^\x00-\x1f\x7f\"'\\\[\]{}.]+")
_EXACT = 2**53
_OPPOSITE = {"$gt": "$lte", "$gte": "$lt", "$lt": "$gte", "$lte": "$gt"}
_SIGNS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_SCALARS = frozenset({"string", "number", "boolean", "mapping", "null"})

Types = Mapping[str, int]


class Untold(Exception):
    """An expression cannot tell whether the filter holds; the records must be read."""


def expression(node: Filter, paths: Mapping[str, Types] | None, records: int, *, wanted: bool = True) -> str:
    """An expression that holds for just the records for which ``node`` does (or does not, if not ``wanted``).

    ``paths`` are the types of values at each path in a corpus of so many records. Negations are pushed down to the
    leaves, and a negated leaf needs a value in every record: versions of Milvus differ in what ``not`` and ``!=``
    mean for a missing field.

    >>> expression(Leaf("year", "$gte", 1990), {"year": {"number": 3}}, 4)
    'meta["year"] >= 1990'
    """
    if paths is None:
        raise Untold
    if isinstance(node, Leaf):
        return _leaf(node, paths, records) if wanted else _negated(node, paths, records)
    if isinstance(node, Not):
        return expression(node.item, paths, records, wanted=not wanted)
    parts = [expression(item, paths, records, wanted=wanted) for item in node.items]
    if isinstance(node, And) is wanted:
        return _joined("and", parts, ALL)
    return _joined("or", parts, NONE)


def prefilter(node: Filter, paths: Mapping[str, Types] | None, records: int) -> str:
    """An expression that holds at least where the filter does."""
    try:
        return expression(node, paths, records)
    except Untold:
        parts = [prefilter(item, paths, records) for item in node.items] if isinstance(node, And) else []
        return _joined("and", [part for part in parts if part != ALL], ALL)


def _leaf(leaf: Leaf, paths: Mapping[str, Types], records: int) -> str:
    types = _types(leaf.path, paths)
    if leaf.op == "$exists":
        return _exists(types, records, leaf.operand)
    if leaf.op == "$in":
        return _joined("or", [_leaf(Leaf(leaf.path, "$eq", item), paths, records) for item in leaf.operand], NONE)
    if leaf.op == "$eq" and leaf.operand is None:
        if types.keys() & {"null", "list"}:
            raise Untold  # expressions do not tell a value that is null from one that is missing
        return _exists(types, records, False)
    if not types:
        return NONE
    return _TESTS[leaf.op](_field(leaf.path), leaf, types)


def _negated(leaf: Leaf, paths: Mapping[str, Types], records: int) -> str:
    types = _types(leaf.path, paths)
    if leaf.op == "$exists":
        return _exists(types, records, not leaf.operand)
    if leaf.op == "$in":
        parts = [_negated(Leaf(leaf.path, "$eq", item), paths, records) for item in leaf.operand]
        return _joined("and", parts, ALL)
    if not types:
        return NONE if leaf.op == "$eq" and leaf.operand is None else ALL
    everywhere = sum(types.values()) == records
    if leaf.op == "$eq" and everywhere and types.keys() <= {"string", "number", "boolean"}:
        if leaf.operand is None:
            return ALL
        return f"{_field(leaf.path)} != {_literal(leaf.operand)}"
    kind = "string" if isinstance(leaf.operand, str) else "number"
    if leaf.op in _OPPOSITE and everywhere and types.keys() == {kind}:
        return _leaf(Leaf(leaf.path, _OPPOSITE[leaf.op], leaf.operand), paths, records)
    raise Untold


def _types(path: str, paths: Mapping[str, Types]) -> Types:
    """The types at a path; no expression reaches a value behind a list, or under a key that holds dots."""
    steps = path.split(".")
    for count in range(1, len(steps)):
        above = paths.get(".".join(steps[:count]), {})
        if not above.keys() <= {"mapping", "string", "number", "boolean", "null"}:
            raise Untold
    types = paths.get(path, {})
    if "other" in types:
        raise Untold
    return types


def _exists(types: Types, records: int, wanted: bool) -> str:
    count = sum(types.values())
    if count in (0, records):
        return ALL if (count > 0 or records == 0) is wanted else NONE
    raise Untold


def _equal(field: str, leaf: Leaf, types: Types) -> str:
    if "list" in types or isinstance(leaf.operand, (list, tuple, Mapping)):
        raise Untold
    literal = _literal(leaf.operand)
    parts = [f"{field} == {literal}"] if types.keys() & _SCALARS else []
    if "strings" in types and isinstance(leaf.operand, str):
        parts.append(f"json_contains({field}, {literal})")
    return _joined("or", parts, NONE)


def _compare(field: str, leaf: Leaf, types: Types) -> str:
    if "list" in types or ("strings" in types and isinstance(leaf.operand, str)):
        raise Untold
    return f"{field} {_SIGNS[leaf.op]} {_literal(leaf.operand)}"


def _contains(field: str, leaf: Leaf, types: Types) -> str:
    if "list" in types or isinstance(leaf.operand, (list, tuple, Mapping)):
        raise Untold
    if not isinstance(leaf.operand, str):
        return NONE
    parts = []
    if "string" in types:
        if not _WORDS.fullmatch(leaf.operand):
            raise Untold  # a pattern would read % and _ in its own way
        parts.append(f'{field} like "%{leaf.operand}%"')
    if "strings" in types:
        parts.append(f"json_contains({field}, {_literal(leaf.operand)})")
    return _joined("or", parts, NONE)


_TESTS: dict[str, Callable[[str, Leaf, Types], str]] = {
    "$eq": _equal,
    "$contains": _contains,
    "$gt": _compare,
    "$gte": _compare,
    "$lt": _compare,
    "$lte": _compare,
}


def _field(path: str) -> str:
    steps = path.split(".")
    if not all(_KEY.fullmatch(step) for step in steps):
        raise Untold
    return "meta" + "".join(f'["{step}"]' for step in steps)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return f'"{value}"'
    if isinstance(value, int) and abs(value) < _EXACT:
        return str(value)
    # Exponents and endless numbers are read differently by different versions.
    if isinstance(value, float) and 1e-4 <= abs(value) < 1e15:
        return repr(value)
    raise Untold


def _joined(word: str, parts: list[str], empty: str) -> str:
    if len(parts) < 2:
        return parts[0] if parts else empty
    return f" {word} ".join(f"({part})" for part in parts)
