"""Filters on the command line: a JSON document, or short conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ir.errors import FilterError

__all__ = ["read_filter"]

_OPERATORS = {"=": "$eq", "!=": "$ne", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt", "~": "$contains"}
_CONDITION = re.compile(r"\s*([^=!<>~\s]+)\s*(!=|>=|<=|=|>|<|~)(?![=<>~])(.*)", re.DOTALL)


def read_filter(document: str | None, conditions: Sequence[str] = ()) -> dict[str, Any] | None:
    """One filter from ``--filter`` and every ``--where``; all of them must hold.

    >>> read_filter('{"lang": "en"}', ["year>=2024", "tags~safety"])
    {'$and': [{'lang': 'en'}, {'year': {'$gte': 2024}}, {'tags': {'$contains': 'safety'}}]}
    """
    parts = [_document(document)] if document else []
    parts += [_condition(text) for text in conditions]
    return parts[0] if len(parts) == 1 else {"$and": parts} if parts else None


def _document(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except RecursionError:
        raise FilterError(
            "--filter is nested too deeply to be read.", remedy="Put conditions side by side in one $and."
        ) from None
    except ValueError as error:
        raise FilterError(
            f"--filter is not valid JSON: {error}.", remedy="""Write it like: --filter '{"year": {"$gte": 2024}}'"""
        ) from error
    if not isinstance(value, dict):
        raise FilterError(f"--filter must be a JSON object, not {text!r}.")
    return value


def _condition(text: str) -> dict[str, Any]:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise FilterError(
            f"--where {text!r} is not a condition.",
            remedy="Write FIELD=VALUE, or use !=, >=, <=, >, < or ~ (contains). A value that begins with such a sign "
            "stands in double quotes.",
        )
    field, operator, word = match[1], match[2], match[3].strip()
    return {field: {_OPERATORS[operator]: _value(word)}}


def _value(word: str) -> Any:
    """Numbers, true, false, null and quoted text as in JSON; anything else is text."""
    try:
        value = json.loads(word)
    except (ValueError, RecursionError):
        return word
    return value if value is None or isinstance(value, (str, bool, int, float)) else word
