"""A metadata filter as a query over metadata terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.filters import And, Filter, Leaf, Not
from ir.protocols import Where
from ir.store.local.lexical import LexicalReader
from ir.store.local.tokens import (
    EXISTS,
    MEMBER,
    SCALAR,
    UNTOLD,
    equal_terms,
    is_indexed,
    kind_term,
    value_of,
    whole_term,
)

__all__ = ["filter_query"]

#: With more distinct values at a path than this, reading the records once is cheaper.
_MOST_VALUES = 200_000
#: A query of more terms than this ranks slower than filtering afterwards.
_MOST_TERMS = 1024


class _Untold(Exception):
    """The terms do not tell whether the filter holds."""


def filter_query(reader: LexicalReader, where: Where) -> Any | None:
    """A query that matches just the records that pass; ``None`` if the records must be read to know."""
    parts = []
    if where.kinds is not None:
        parts.append(reader.any_of([kind_term(kind) for kind in sorted(where.kinds)]))
    if where.filter is not None:
        try:
            parts.append(_query(reader, where.filter))
        except _Untold:
            return None
    return parts[0] if len(parts) == 1 else reader.every(parts)


def _query(reader: LexicalReader, node: Filter) -> Any:
    if isinstance(node, Leaf):
        return _leaf(reader, node)
    if isinstance(node, Not):
        return reader.without(_query(reader, node.item))
    parts = [_query(reader, item) for item in node.items]
    return reader.every(parts) if isinstance(node, And) else reader.either(parts)


def _leaf(reader: LexicalReader, leaf: Leaf) -> Any:
    if not is_indexed(leaf.path) or reader.has_term(leaf.path + UNTOLD):
        raise _Untold
    present = reader.any_of([leaf.path + EXISTS])
    if leaf.op == "$exists":
        return present if leaf.operand else reader.without(present)
    if leaf.op in ("$eq", "$in"):
        return _equal(reader, leaf, present)
    if _is_compound(leaf.operand):
        raise _Untold
    return reader.any_of(_few(_accepted(reader, leaf)))


def _equal(reader: LexicalReader, leaf: Leaf, present: Any) -> Any:
    """Equality needs no look at the distinct values: the operand says which terms to ask for."""
    operands = list(leaf.operand) if leaf.op == "$in" else [leaf.operand]
    terms = []
    for operand in operands:
        terms += [whole_term(leaf.path, operand)] if _is_compound(operand) else equal_terms(leaf.path, operand)
    query = reader.any_of(_few(terms))
    if any(operand is None for operand in operands):
        return reader.either([query, reader.without(present)])
    return query


def _accepted(reader: LexicalReader, leaf: Leaf) -> list[str]:
    """The terms of those distinct values that the leaf accepts."""
    accepted = []
    for mark in (SCALAR, MEMBER):
        terms = reader.values(leaf.path + mark, _MOST_VALUES)
        if terms is None:
            raise _Untold
        for term in terms:
            value = value_of(term, leaf.path)
            if leaf.accepts([value] if mark == SCALAR else [[value]]):
                accepted.append(term)
    return accepted


def _few(terms: list[str]) -> list[str]:
    if len(terms) > _MOST_TERMS:
        raise _Untold
    return terms


def _is_compound(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))
