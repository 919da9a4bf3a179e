"""The JSON Schemas of requests and responses, derived from the fields that describe them.

>>> from ir.app import find_operation
>>> request_schema(find_operation("get"))["required"]
['items']

Only the standard library is needed: the fields say all that a schema says, and requests are checked by the same
(:mod:`ir.app.fields`). A response that is plain JSON in another shape than its fields says so by a class method
``json_schema``, next to its ``to_dict``; for values of the library that stand in responses it is said here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ir.app.fields import (
    BARE,
    Arg,
    Either,
    Field,
    Flag,
    Kind,
    Listed,
    Mapped,
    Nested,
    Nothing,
    Number,
    Text,
    Word,
    fields_of,
)
from ir.app.operation import Operation
from ir.base import json_clean

__all__ = ["DIALECT", "outside_schema", "request_schema", "response_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
#: An object of which nothing more is said: a report that is for people, or a user's own metadata.
OPEN: Mapping[str, Any] = {"type": "object", "additionalProperties": True}


def request_schema(operation: Operation[Any, Any]) -> Schema:
    """What the arguments of an operation may be."""
    return {
        "$schema": DIALECT,
        "title": operation.name,
        "description": operation.summary,
        **_request(operation.request),
    }


def outside_schema(operation: Operation[Any, Any]) -> Schema:
    """What programs that are not the user may ask for: without what is private, and without a most where more than
    that is brought down to it."""
    whole = request_schema(operation)
    for name, field in fields_of(operation.request).items():
        if field.arg.private:
            del whole["properties"][name]
            continue
        told = whole["properties"][name]
        if field.arg.clamp:
            told.pop("maximum", None)
        if field.arg.bare:
            told["pattern"] = BARE
    return whole


def response_schema(operation: Operation[Any, Any]) -> Schema:
    """What ``to_dict`` of an operation's response returns."""
    return {"$schema": DIALECT, "title": f"{operation.name} response", **_shape(operation.response)}


# -- requests


def _request(shape: Any) -> Schema:
    known = fields_of(shape)
    schema: Schema = {
        "type": "object",
        "properties": {field.name: _property(field) for field in known.values()},
        "additionalProperties": False,
    }
    required = [field.name for field in known.values() if field.required]
    return {**schema, "required": required} if required else schema


def _property(field: Field) -> Schema:
    schema = _of_kind(field.kind)
    if field.arg.doc:
        schema["description"] = _sentence(field.arg.doc)
    if field.default is not MISSING and field.default is not None:
        schema["default"] = json_clean(field.default)
    return schema


def _sentence(doc: str) -> str:
    return f"{doc[0].upper()}{doc[1:]}."


def _of_kind(kind: Kind) -> Schema:
    for known, make in _KINDS.items():
        if isinstance(kind, known):
            schema: Schema = make(kind)
            return schema
    return {}


def _text(kind: Text) -> Schema:
    schema: Schema = {"type": "string"}
    if not kind.arg.blank:
        schema["pattern"] = r"\S"
    if kind.arg.max_chars is not None:
        schema["maxLength"] = kind.arg.max_chars
    return schema


def _number(kind: Number) -> Schema:
    schema: Schema = {"type": "integer" if kind.whole else "number"}
    for name, bound in (("minimum", kind.arg.min), ("maximum", kind.arg.max)):
        if bound is not None:
            schema[name] = bound
    return schema


def _listed(kind: Listed) -> Schema:
    schema: Schema = {"type": "array", "items": _of_kind(kind.of)}
    return schema if kind.max_items is None else {**schema, "maxItems": kind.max_items}


def _either(kind: Either) -> Schema:
    """One kind or nothing is the commonest by far, and is written in short."""
    schemas = [_of_kind(one) for one in kind.kinds]
    plain = [one for one in schemas if one != {"type": "null"}]
    if len(plain) == 1 and len(schemas) == 2 and isinstance(plain[0].get("type"), str):
        only = dict(plain[0])
        only["type"] = [only["type"], "null"]
        if "enum" in only:
            only["enum"] = [*only["enum"], None]
        return only
    return {"anyOf": schemas}


_KINDS: dict[type[Kind], Callable[[Any], Schema]] = {
    Text: _text,
    Word: lambda kind: {"type": "string", "enum": list(kind.words)},
    Number: _number,
    Flag: lambda kind: {"type": "boolean"},
    Nothing: lambda kind: {"type": "null"},
    Listed: _listed,
    Mapped: lambda kind: {"type": "object", "additionalProperties": _of_kind(kind.of) or True},
    Either: _either,
    Nested: lambda kind: _request(kind.shape),
}


# -- responses

#: Where the types live that responses name for type checkers alone.
_HOMES = {
    "SearchHit": "ir.base",
    "DiscoveryResult": "ir.select",
    "DiscoveryReport": "ir.eval",
    "SelectionReport": "ir.eval",
    "SelectionSweep": "ir.eval",
    "MinScoreCalibration": "ir.eval",
    "RunComparison": "ir.eval",
    "BookReport": "ir.eval.books",
    "CoverageReport": "ir.eval",
    "KeptQuery": "ir.eval.kept",
    "KeptRun": "ir.eval.kept",
    "MaintenanceResult": "ir.maintain",
    "Schedule": "ir.schedule",
    "Tuning": "ir.tune",
}


class _Names(dict[str, Any]):
    """Names that a module knows only while its types are checked."""

    def __missing__(self, name: str) -> Any:
        if name not in _HOMES:
            raise KeyError(name)
        return getattr(import_module(_HOMES[name]), name)


def _shape(shape: Any) -> Schema:
    """The schema of a dataclass as ``to_dict`` shows it."""
    own = getattr(shape, "json_schema", None)
    if own is not None:
        said: Schema = own()
        return said
    hints = get_type_hints(shape, localns=_Names(), include_extras=True)
    properties = {item.name: schema_of(hints[item.name]) for item in fields(shape)}
    return object_of(properties)


def object_of(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these properties, all of which are there unless they are ``optional``."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def schema_of(hint: Any) -> Schema:
    """The schema of a value in a response, by its type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = schema_of(inner[0])
        doc = next((one.doc for one in inner[1:] if isinstance(one, Arg) and one.doc), "")
        return {**schema, "description": _sentence(doc)} if doc else schema
    if origin in (Union, types.UnionType):
        return _one_of([schema_of(one) for one in inner])
    if origin is Literal:
        return {"enum": list(inner)}
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (tuple, list) or hint in (tuple, list):
        return _items(origin, inner)
    if isinstance(origin or hint, type) and issubclass(origin or hint, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1]) if len(inner) == 2 else True}
    foreign = _FOREIGN.get(getattr(hint, "__name__", ""))
    if foreign is not None:
        return foreign()
    return _shape(hint) if is_dataclass(hint) else {}


_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},  # JSON has no word for what is not a number
    types.NoneType: {"type": "null"},
    None: {"type": "null"},
}


def _items(origin: Any, inner: tuple[Any, ...]) -> Schema:
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        if len(set(inner)) == 1:
            return {"type": "array", "items": schema_of(inner[0]), "minItems": len(inner), "maxItems": len(inner)}
        return {
            "type": "array",
            "prefixItems": [schema_of(one) for one in inner],
            "items": False,
            "minItems": len(inner),
        }
    return {"type": "array", "items": schema_of(inner[0]) if inner else {}}


def _one_of(schemas: list[Schema]) -> Schema:
    """Types side by side where that says it all."""
    if all(set(one) == {"type"} for one in schemas):
        names = [name for one in schemas for name in (one["type"] if isinstance(one["type"], list) else [one["type"]])]
        return {"type": list(dict.fromkeys(names))}
    return {"anyOf": schemas}


# -- values of the library, as their own to_dict shows them


def hit_properties() -> dict[str, Schema]:
    """What :meth:`ir.SearchHit.to_dict` returns."""
    anything = dict(OPEN)
    return {
        "artifact_id": {"type": "string"},
        "surface_kind": {"type": "string"},
        "score": {"type": "number", "description": "Comparable with its neighbours in this list only."},
        "text": {"type": "string"},
        "metadata": anything,
        "source": {"type": ["string", "null"], "description": "The corpus."},
        "surface_index": {"type": ["integer", "null"]},
        "pointer": {"type": ["string", "null"], "description": "Where the whole can be read."},
        "channels": {"type": "object", "additionalProperties": anything},
        "explanation": anything,
    }


#: Those of a hit that are not always there.
HIT_OPTIONAL = ("channels", "explanation")


def discovery_properties() -> dict[str, Schema]:
    """What :meth:`ir.DiscoveryResult.to_dict` returns."""
    from ir.select import Disclosure

    return {
        "query": {"type": "string"},
        "mode": {"type": "string"},
        "strategy": {"type": "string"},
        "disclose_level": {"type": "string"},
        "results": {"type": "array", "items": _shape(Disclosure)},
        "abstained": {"type": "boolean", "description": "Nothing was committed to; the reason says why."},
        "reason": {"type": "string"},
        "n_retrieved": {"type": "integer"},
        "n_selected": {"type": "integer"},
        "signals": dict(OPEN),
        "answerable": {"type": ["object", "null"], "additionalProperties": True},
    }


_FOREIGN: dict[str, Callable[[], Schema]] = {
    "SearchHit": lambda: object_of(hit_properties(), optional=HIT_OPTIONAL),
    **{
        name: (lambda: dict(OPEN))
        for name in (
            "DiscoveryReport",
            "SelectionReport",
            "SelectionSweep",
            "MinScoreCalibration",
            "RunComparison",
            "BookReport",
            "CoverageReport",
            "Tuning",
        )
    },
}
