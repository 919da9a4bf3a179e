"""What a file tells others: the names it has, packed as texts that are looked up one by one."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ir.code.facts import Facts

__all__ = ["exports", "hashable", "top_of", "unpacked"]


def exports(facts: Facts) -> dict[str, list[str]]:
    """What other files may ask of this one: each name of the outermost scope, with the definitions inside it."""
    prefix = f"{facts.language}:{facts.path}"
    stars = facts.names.get("*", [])
    about: dict[str, Any] = {"exported": facts.exported, "stars": stars}
    if facts.unit:
        about["unit"] = facts.unit
    out = {prefix: [_packed(about)]}
    inside: dict[str, dict[str, Any]] = {}
    for definition in facts.definitions[1:]:
        told = _told(definition)
        if told:
            inside.setdefault(top_of(definition.symbol), {})[definition.symbol] = told
    for symbol, members in facts.extensions.items():
        told = inside.setdefault(top_of(symbol), {}).setdefault(symbol, {})
        told["m"] = {
            **told.get("m", {}),
            **{name: told.get("m", {}).get(name, []) + given for name, given in members.items()},
        }
        if symbol in facts.extended_bases:
            told["b"] = [*told.get("b", ()), *facts.extended_bases[symbol]]
    if facts.language == "rust":  # where any file may give members to a type
        own = {definition.symbol for definition in facts.definitions}
        for symbol in facts.extensions.keys() - own:
            if top_of(symbol) + "#" == symbol:
                out[f"rust-extends:{symbol[:-1]}"] = [facts.path]
    for top, definitions in inside.items():
        out[f"{prefix}/{top}"] = [_packed(definitions)]
    if facts.unit:
        out[f"{facts.language}-unit:{facts.unit}"] = ["1"]
        tops = {top_of(definition.symbol) for definition in facts.definitions[1:]} | {
            top_of(name) for name in facts.extensions
        }
        for top in tops:
            unit = facts.elsewhere.get(top, facts.unit)
            out[f"{facts.language}-unit:{unit}"] = ["1"]
            out[f"{facts.language}-unit:{unit}:{top}"] = [facts.path]
    for name, given in facts.names.items():
        if name != "*":
            out[f"{prefix}:{name}"] = [_packed(given)]
    return out


def _told(definition: Any) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if definition.bases:
        told["b"] = definition.bases
    if definition.members:
        told["m"] = {
            name: [value for value in given if value is not None] for name, given in definition.members.items()
        }
    if definition.returns:
        told["r"] = definition.returns
    if "property" in definition.marks:
        told["p"] = 1
    if definition.parameters:
        told["n"] = len(definition.parameters)
    return told


@lru_cache(maxsize=65536)
def top_of(symbol: str) -> str:
    """The outermost part of a symbol: ``A#`` of ``A#b().``"""
    at = min((place for place in (symbol.find("#"), symbol.find("(")) if place >= 0), default=len(symbol))
    return symbol[:at]


def _packed(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=65536)
def unpacked(text: str) -> Any:
    return hashable(json.loads(text))


def hashable(value: Any) -> Any:
    """Expressions that came out of JSON as they went in."""
    if type(value) is list:
        return tuple([hashable(part) if type(part) in _HOLDERS else part for part in value])
    return {name: hashable(part) for name, part in value.items()} if type(value) is dict else value


_HOLDERS = (list, dict)
