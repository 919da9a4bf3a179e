"""A metadata filter as a query over metadata terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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

__all__ = ["FilterQuery", "filter_query"]

#: With more distinct values at a path than this, reading the records once is cheaper.
_MOST_VALUES = 200_000
#: A query of more terms than this ranks slower than filtering afterwards.
_MOST_TERMS = 64


class FilterQuery(NamedTuple):
    """A query that matches just the records that pass, and whether ranking under it is quick."""

    query: Any
    quick: bool


class _Untold(Exception):
    """The terms do not tell whether the filter holds."""


def filter_query(reader: LexicalReader, where: Where) -> FilterQuery | None:
    """The query of a filter; ``None`` if the records must be read to know whether they pass."""
    translation = _Translation(reader)
    parts = []
    if where.kinds is not None:
        parts.append(reader.any_of([kind_term(kind) for kind in sorted(where.kinds)]))
    if where.filter is not None:
        try:
            parts.append(translation.of(where.filter))
        except _Untold:
            return None
    return FilterQuery(parts[0] if len(parts) == 1 else reader.every(parts), translation.terms <= _MOST_TERMS)


class _Translation:
    """One filter on its way to a query; ``terms`` counts what it asks for."""

    def __init__(self, reader: LexicalReader) -> None:
        self._reader = reader
        self.terms = 0

    def of(self, node: Filter) -> Any:
        if isinstance(node, Leaf):
            return self._leaf(node)
        if isinstance(node, Not):
            return self._reader.without(self.of(node.item))
        parts = [self.of(item) for item in node.items]
        return self._reader.every(parts) if isinstance(node, And) else self._reader.either(parts)

    def _leaf(self, leaf: Leaf) -> Any:
        if not is_indexed(leaf.path) or self._reader.has_term(leaf.path + UNTOLD):
            raise _Untold
        present = self._reader.any_of([leaf.path + EXISTS])
        if leaf.op == "$exists":
            return present if leaf.operand else self._reader.without(present)
        if leaf.op in ("$eq", "$in"):
            return self._equal(leaf, present)
        if _is_compound(leaf.operand):
            raise _Untold
        return self._any_of(_accepted(self._reader, leaf))

    def _equal(self, leaf: Leaf, present: Any) -> Any:
        """Equality needs no look at the distinct values: the operand says which terms to ask for."""
        operands = list(leaf.operand) if leaf.op == "$in" else [leaf.operand]
        terms = []
        for operand in operands:
            terms += [whole_term(leaf.path, operand)] if _is_compound(operand) else equal_terms(leaf.path, operand)
        query = self._any_of(terms)
        if any(operand is None for operand in operands):
            return self._reader.either([query, self._reader.without(present)])
        return query

    def _any_of(self, terms: list[str]) -> Any:
        self.terms += len(terms)
        return self._reader.any_of(terms)


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


def _is_compound(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))
