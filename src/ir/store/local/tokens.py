"""Metadata as terms of an index, so that a filter is answered from postings, once per distinct value.

Each value at each path of a record's metadata gives terms: ``path␀v<json>`` for a scalar, ``path␀m<json>`` for a
member of a list, ``path␀w<hash>`` for a list or mapping as a whole, ``path␁`` for "there is a value". From the
distinct terms of a path any leaf of a filter can be decided without reading a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ir.filters import values_at

__all__ = [
    "EXISTS",
    "MEMBER",
    "SCALAR",
    "UNTOLD",
    "equal_terms",
    "is_indexed",
    "kind_term",
    "metadata_terms",
    "value_of",
    "whole_term",
]

SCALAR, MEMBER, EXISTS = "\x00v", "\x00m", "\x01"
_WHOLE = "\x00w"
_KIND = "\x02"
#: Where a piece stands in its text differs for each record: nobody filters on it, and every value would be a term.
_POSITIONS = frozenset({"start", "end", "line_start", "line_end", "lead"})
#: A longer value is not kept as a term; paths that have one are decided by reading the records.
_LONGEST = 1000
_DEEPEST = 8
#: What ``json.dumps`` does with a text.
_quoted = json.encoder.encode_basestring_ascii
_TEXTS = {str}
#: Marks a path at which some value has no term of its own.
UNTOLD = "\x03"


def kind_term(kind: str) -> str:
    """The term that records of a surface kind have."""
    return _KIND + kind


@lru_cache(4096)
def is_indexed(path: str) -> bool:
    """Whether filters on the path can be answered from terms."""
    steps = path.split(".")
    return (
        path not in _POSITIONS and len(steps) <= _DEEPEST and not any(map(str.isdecimal, steps)) and "\x00" not in path
    )


def metadata_terms(metadata: Mapping[str, Any]) -> list[str]:
    """All terms of one record's metadata."""
    flat = _flat_terms(metadata)
    if flat is not None:
        return flat
    terms: dict[str, None] = {}
    for path in _paths_of(metadata):
        if not is_indexed(path):
            continue
        values = values_at(metadata, path)
        if values:
            terms[path + EXISTS] = None
        for value in values:
            for term in _value_terms(path, value):
                terms[term] = None
    return list(terms)


def _flat_terms(metadata: Mapping[str, Any]) -> list[str] | None:
    """:func:`metadata_terms` where every value is a scalar or a list of texts, as most are; else ``None``."""
    terms: dict[str, None] = {}
    for key, value in metadata.items():
        if not is_indexed(key):
            continue
        terms[key + EXISTS] = None
        kind = type(value)
        if kind is str:
            terms[_bounded(key, f"{key}{SCALAR}{_quoted(value)}")] = None
        elif kind is int or kind is float or kind is bool or value is None:
            terms[_scalar_term(key, SCALAR, value)] = None
        elif kind is list and _TEXTS.issuperset(map(type, value)):
            members = list(map(_quoted, value))
            terms[_hashed(key, f"[{', '.join(members)}]")] = None
            for member in members:
                terms[_bounded(key, f"{key}{MEMBER}{member}")] = None
        else:
            return None
    return list(terms)


def _paths_of(metadata: Mapping[str, Any]) -> Iterable[str]:
    """Every path at which the metadata has a value; the keys themselves where nothing is nested."""
    for value in metadata.values():
        if isinstance(value, Mapping) or (
            isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)
        ):
            return dict.fromkeys(_paths(metadata, "", 0))
    return metadata


def value_of(term: str, path: str) -> Any:
    """The scalar that a ``SCALAR`` or ``MEMBER`` term stands for."""
    return json.loads(term[len(path) + 2 :])


def equal_terms(path: str, value: Any) -> list[str]:
    """The terms of every scalar, alone or in a list, that equals ``value``."""
    forms = {json.dumps(value)}
    if isinstance(value, float) and value.is_integer():
        forms.add(json.dumps(int(value)))
    elif isinstance(value, int) and not isinstance(value, bool):
        with suppress(OverflowError):  # no float is that large
            if float(value) == value:
                forms.add(json.dumps(float(value)))
    if value == 0 and not isinstance(value, bool):
        forms.update(("0.0", "-0.0"))
    return [f"{path}{mark}{form}" for mark in (SCALAR, MEMBER) for form in sorted(forms)]


def whole_term(path: str, value: Any) -> str:
    """The term of a list or mapping that equals ``value``."""
    return _hashed(path, json.dumps(_canonical(value), sort_keys=True))


def _hashed(path: str, canonical: str) -> str:
    import hashlib  # loads a library that a search does not need

    return f"{path}{_WHOLE}{hashlib.blake2b(canonical.encode(), digest_size=12).hexdigest()}"


def _value_terms(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield whole_term(path, value)
    elif isinstance(value, (list, tuple)):
        yield whole_term(path, value)
        for member in value:
            if isinstance(member, (list, tuple, Mapping)):
                yield whole_term(path, member)
                yield path + UNTOLD
            else:
                yield _scalar_term(path, MEMBER, member)
    else:
        yield _scalar_term(path, SCALAR, value)


def _scalar_term(path: str, mark: str, value: Any) -> str:
    return _bounded(path, f"{path}{mark}{_quoted(value) if type(value) is str else json.dumps(value)}")


def _bounded(path: str, term: str) -> str:
    return term if len(term) <= _LONGEST else path + UNTOLD


def _canonical(value: Any) -> Any:
    """Numbers that are equal must look equal: 1.0 becomes 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return value


def _paths(value: Any, prefix: str, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, item in value.items():
            path = f"{prefix}{key}"
            yield path
            yield from _paths(item, path + ".", depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _paths(item, prefix, depth)
