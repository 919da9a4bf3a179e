"""Which types of values a corpus holds at which metadata path: that decides what Milvus may filter by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["MOST_PATHS", "count_paths", "readable", "typed_paths"]

#: With more paths than this, none are counted.
MOST_PATHS = 400
_DEEPEST = 6
#: Beyond this, neighbouring whole numbers are one floating-point number.
_EXACT = 2**53
#: Milvus takes JSON of 64 KiB; longer strings and lists are left to those who read the records.
_LONGEST_STRING = 2000
_LONGEST_LIST = 200
_MOST_BYTES = 60_000


def count_paths(paths: dict[str, dict[str, int]] | None, metadata: Mapping[str, Any], by: int) -> Any:
    """``paths`` with one record's metadata added (``by`` 1) or taken away (-1).

    >>> count_paths({}, {"n": 1, "place": {"name": "x"}}, 1)
    {'n': {'number': 1}, 'place': {'mapping': 1}, 'place.name': {'string': 1}}
    """
    if paths is None:
        return None
    for path, kind in typed_paths(metadata):
        counts = paths.setdefault(path, {})
        counts[kind] = counts.get(kind, 0) + by
        if counts[kind] <= 0:
            del counts[kind]
        if not counts:
            del paths[path]
    return paths if len(paths) <= MOST_PATHS else None


def readable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata without what :func:`typed_paths` calls ``other``.

    >>> readable({"n": 1, "a.b": 2, "long": "x" * 9999})
    {'n': 1}
    """
    kept = _readable(metadata)
    return kept if len(json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")) < _MOST_BYTES else {}


def _readable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _readable(value) if isinstance(value, Mapping) else value
        for key, value in metadata.items()
        if "." not in key and _type_of(value) != "other"
    }


def typed_paths(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each path at which there is a value, with the value's type; ``other`` where an expression cannot read it."""
    whole = bool(readable(metadata)) or not metadata
    for path, kind in _typed(metadata):
        yield path, kind if whole else "other"


def _typed(metadata: Mapping[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    for key, value in metadata.items():
        path = f"{above}{key}"
        if "." in key:
            if not above:
                yield path, "other"  # a key that holds the dots itself is found before one that is nested
            continue
        kind = _type_of(value)
        yield path, kind
        if kind == "mapping":
            if depth < _DEEPEST:
                yield from _typed(value, f"{path}.", depth + 1)
            elif value:
                yield path, "other"


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number" if abs(value) < _EXACT else "other"
    if isinstance(value, str):
        return "string" if len(value) <= _LONGEST_STRING else "other"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "mapping"
    if len(value) > _LONGEST_LIST:
        return "other"
    return "strings" if all(_type_of(item) == "string" for item in value) else "list"
