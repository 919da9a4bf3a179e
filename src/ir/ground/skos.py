"""Concepts of SKOS in JSON-LD, with their labels and definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["is_linked_data", "skos_terms"]

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_CONCEPT = "Concept"
_PREFERRED, _OTHERS, _TOLD, _WITHIN = (
    "prefLabel",
    ("altLabel", "hiddenLabel"),
    ("definition", "scopeNote", "note"),
    ("broader", "inScheme"),
)


def is_linked_data(value: Any) -> bool:
    """Whether a JSON document is JSON-LD."""
    if isinstance(value, list):
        return any(is_linked_data(one) for one in value[:3])
    return isinstance(value, Mapping) and any(key in value for key in ("@graph", "@context", "@id"))


def skos_terms(value: Any, language: str) -> Iterator[dict[str, Any]]:
    """The concepts as terms: named by their preferred label, or by the end of their address if that is taken."""
    nodes = [node for node in _nodes(value) if _labels(node, _PREFERRED, language)]
    label_of = {str(node.get("@id", node.get("id", ""))): _labels(node, _PREFERRED, language)[0] for node in nodes}
    taken: set[str] = set()
    for node in nodes:
        if not _is_concept(node):
            continue
        label, *more = _labels(node, _PREFERRED, language)
        name = label
        if name in taken:
            address = str(node.get("@id", node.get("id", "")))
            name = f"{label} ({address.rstrip('/#').rpartition('/')[2].rpartition('#')[2]})"
        taken.add(name)
        others = [text for key in _OTHERS for text in _labels(node, key, language)]
        notations = [text for text in _labels(node, "notation", language) if text != name]
        told = next((text for key in _TOLD for text in _labels(node, key, language)), "")
        above = [one for key in _WITHIN for one in _ids(node, key)]
        category = next((label_of[one] for one in above if one in label_of), "")
        yield {
            "name": name,
            "display": label,
            "definition": told,
            "category": category,
            "aliases": tuple(dict.fromkeys((*more, *others, *notations))),
        }


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        yield from _nodes(value.get("@graph", ()))
    elif isinstance(value, list):
        for one in value:
            yield from _nodes(one)


def _held(node: Mapping[str, Any], key: str) -> Sequence[Any]:
    for name in (key, f"skos:{key}", f"{_SKOS}{key}"):
        if name in node:
            value = node[name]
            return value if isinstance(value, list) else [value]
    return ()


def _labels(node: Mapping[str, Any], key: str, language: str) -> list[str]:
    """The texts of a property in a language; those of every language if there are none in it."""
    by_language: dict[str, list[str]] = {}
    for value in _held(node, key):
        if isinstance(value, Mapping) and "@value" not in value and not {"@id", "id"} & set(value):
            for tag, texts in value.items():  # a map from languages to texts
                by_language.setdefault(str(tag), []).extend(texts if isinstance(texts, list) else [texts])
        elif isinstance(value, Mapping):
            by_language.setdefault(str(value.get("@language", "")), []).append(value.get("@value", ""))
        else:
            by_language.setdefault("", []).append(value)
    near = [texts for tag, texts in by_language.items() if not tag or tag.lower().split("-")[0] == language]
    chosen = near or list(by_language.values())[:1]
    return [
        str(text).strip() for texts in chosen for text in texts if isinstance(text, (str, int)) and str(text).strip()
    ]


def _ids(node: Mapping[str, Any], key: str) -> list[str]:
    return [
        str(one.get("@id", one.get("id", ""))) if isinstance(one, Mapping) else str(one) for one in _held(node, key)
    ]


def _is_concept(node: Mapping[str, Any]) -> bool:
    kinds = node.get("@type", node.get("type", ()))
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    return not names or any(str(name).endswith(_CONCEPT) for name in names)
