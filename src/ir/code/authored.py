"""Records that a person wrote: object types, what they are, and what they belong with.

A file of records is YAML or JSON: a list, or a mapping with ``records``. Each record has a ``name`` and may have a
``type``, a ``description``, an ``id`` if the name is not unique in its file, further fields, and ``links``::

    records:
      - name: Order
        type: concept
        description: What a customer asks us to deliver.
        links:
          implementedBy: shop.orders.Order
          documents: [src/shop/orders.py, "python src/shop/orders.py/Order#total()."]
          partOf: Basket

A link leads to a definition by its symbol key or its name, to a file by its path, to another record by its name or id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ir.base import IndexPlan, Surface
from ir.code.chunks import about_text
from ir.code.docs import file_named, resolved, whole_name
from ir.code.linking import symbol_key
from ir.code.values import Lookup
from ir.links import Edge, Node, Symbols, Use

__all__ = ["AUTHORED", "FAMILY", "RECORD_FORMATS", "AuthoredLinks", "authored_plan"]

AUTHORED = "hand-authored"
FAMILY = "record"
#: The formats of files that can hold records.
RECORD_FORMATS = ("yaml", "yml", "json")
#: The type of a record that does not say its own.
_TYPE = "concept"
_OWN = frozenset({"name", "id", "type", "description", "links"})
_LONGEST = 2000
#: What is longer, or nested deeper, nobody wrote by hand.
_LARGEST = 1_000_000
_DEEPEST = 100
#: So many problems of one file are told.
_TOLD = 20


class _Row(NamedTuple):
    line: int
    end: int
    fields: Mapping[str, Any]


class _Record(NamedTuple):
    key: str
    name: str
    type: str
    description: str
    fields: Mapping[str, Any]
    links: Sequence[tuple[str, str]]
    line: int
    end: int

    @property
    def text(self) -> str:
        more = [f"{name}: {_said(value)}" for name, value in self.fields.items()]
        return "\n".join([f"{self.type} {self.name}", *filter(None, [self.description]), *more])


def authored_plan(item_id: str, text: str, fields: Mapping[str, Any], *, branch: str) -> IndexPlan:
    """What a file of records brings: a node and a chunk for each; the remark says which rows are wrong, and why."""
    records, problems = _records(item_id, text)
    told = problems[:_TOLD] + ([f"and {len(problems) - _TOLD} more"] if len(problems) > _TOLD else [])
    file = symbol_key(FAMILY, item_id, "")
    nodes = [Node(file, "file", {"name": item_id.rsplit("/", 1)[-1], "path": item_id, "problems": told})]
    surfaces = []
    mentions: list[tuple[str, str, str, int]] = []
    for record in records:
        about = {
            **about_text(record.key, record.type, record.text, branch=branch, provenance=AUTHORED),
            "chunkLevel": "type",
            "title": record.name,
            "line_start": record.line,
            "line_end": record.end,
        }
        surfaces.append(Surface(record.key, "chunk", record.text, "chunk", about))
        nodes.append(Node(record.key, record.type, _properties(record, item_id)))
        mentions += [(record.key, kind, said, record.line) for kind, said in record.links]
    defines: dict[str, list[str]] = {}
    for record in records:
        for name in dict.fromkeys((record.name, record.key.rpartition("/")[2])):
            defines.setdefault(f"record:{name}", []).append(record.key)
    uses = [Use(key, "links", key) for key in dict.fromkeys(mention[0] for mention in mentions)]
    symbols = Symbols(defines, uses, {"records": item_id, "mentions": mentions})
    contains = [Edge(file, "contains", record.key) for record in records]
    return IndexPlan(dict(fields), surfaces, nodes, contains, symbols, "; ".join(told) or None)


class AuthoredLinks:
    """The links of a file of records; ``told`` are the names that stand for nothing here, or for several things."""

    def __init__(self, payload: Mapping[str, Any], lookup: Lookup) -> None:
        self._mentions = payload["mentions"]
        self._lookup = lookup
        self.told: dict[str, Any] = {"unresolved": []}

    def __iter__(self) -> Iterator[Edge]:
        for source, kind, said, line in self._mentions:
            found = _meant(said, self._lookup)
            if found is None:
                self.told["unresolved"].append([line, said])
            else:
                yield Edge(source, kind, found[0], None, {"resolution": found[1], "line": line, "provenance": AUTHORED})


def _meant(said: str, lookup: Lookup) -> tuple[str, str] | None:
    records = lookup(f"record:{said}")
    if len(records) == 1:
        return records[0], "exact"
    family, space, place = said.partition(" ")
    if space and "/" in place:
        if place.endswith("/"):
            return (said, "exact") if lookup(f"{family}:{place[:-1]}") else None
        return (said, "exact") if said in lookup(f"symbol:{whole_name(said)[-1]}") else None
    return file_named(said, "", lookup) or resolved(said.removesuffix("()"), lookup, called=True)


# -- reading ---------------------------------------------------------------------------------------------------------


def _records(item_id: str, text: str) -> tuple[list[_Record], list[str]]:
    rows, problems = _rows(item_id, text)
    records: list[_Record] = []
    seen: dict[str, int] = {}
    for row in rows:
        record = _record(item_id, row)
        if isinstance(record, str):
            problems.append(f"line {row.line}: {record}")
        elif record.key in seen:
            called = record.key.rpartition("/")[2]
            problems.append(f"line {row.line}: {called!r} is on line {seen[record.key]} already; give one an id")
        else:
            seen[record.key] = row.line
            records.append(record)
    return records, problems


def _record(item_id: str, row: _Row) -> _Record | str:
    """A record, or what is wrong with it."""
    fields = row.fields
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        return "a record needs a name"
    for field in ("id", "type", "description"):
        if field in fields and not isinstance(fields[field], (str, int)):
            return f"the {field} of {name!r} must be a text"
    links = _links(fields.get("links"))
    if isinstance(links, str):
        return f"the links of {name!r} {links}"
    known = str(fields.get("id") or name).strip().replace("/", "-")
    return _Record(
        symbol_key(FAMILY, item_id, known),
        name.strip(),
        str(fields.get("type") or _TYPE).strip() or _TYPE,
        str(fields.get("description") or "").strip(),
        {str(field): value for field, value in fields.items() if field not in _OWN and value is not None},
        links,
        row.line,
        row.end,
    )


def _links(given: Any) -> list[tuple[str, str]] | str:
    """Links as pairs of type and target, or what is wrong with them."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        return "must be a mapping of types to targets"
    found: list[tuple[str, str]] = []
    for kind, targets in given.items():
        each = [targets] if isinstance(targets, str) else targets
        if not isinstance(kind, str) or not kind.strip():
            return "must have types that are texts"
        if not isinstance(each, list) or not all(isinstance(one, str) and one.strip() for one in each):
            return f"of type {kind!r} must lead to a name, or to a list of names"
        found += [(kind.strip(), one.strip()) for one in each]
    return list(dict.fromkeys(found))


def _rows(item_id: str, text: str) -> tuple[list[_Row], list[str]]:
    """The rows of a file with their lines; YAML reads JSON too, and knows where everything stands."""
    import yaml

    if len(text) > _LARGEST:
        return [], [f"it is longer than {_LARGEST:,} characters; write several files"]
    if _depth(text) > _DEEPEST:
        return [], ["it is nested too deeply"]
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            return [], ["it has aliases (*name), which are not read here: write the values out"]
        root = yaml.compose(text, Loader=loader)
    except RecursionError:
        return [], ["it is nested too deeply"]
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f"line {place.line + 1}: " if place is not None else ""
        return [], [f"{line}it is not {_kind(item_id)}: {getattr(error, 'problem', None) or 'it cannot be read'}"]
    if root is None:
        return [], ["it holds no records"]
    if isinstance(root, yaml.MappingNode):
        listed = next((value for key, value in root.value if key.value == "records"), None)
        if listed is None:
            return [], [f"line {root.start_mark.line + 1}: it has no list of records; begin with: records:"]
        root = listed
    if not isinstance(root, yaml.SequenceNode):
        return [], [f"line {root.start_mark.line + 1}: records must be a list"]
    rows, problems = [], []
    for node in root.value:
        line = node.start_mark.line + 1
        try:
            value = yaml.SafeLoader("").construct_document(node)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problems.append(f"line {line}: it cannot be read: {' '.join(str(error).split())[:120]}")
            continue
        if not isinstance(value, Mapping):
            problems.append(f"line {line}: a record is a mapping with a name, not {type(value).__name__}")
            continue
        end = line + text[node.start_mark.index : node.end_mark.index].rstrip("- \t\r\n").count("\n")
        rows.append(_Row(line, end, {str(key): given for key, given in value.items()}))
    return rows, problems


def _depth(text: str) -> int:
    """How deep brackets are nested at most: a deep one takes a reader of YAML very long."""
    signs = "".join(sign for sign in text if sign in "[]{}")
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _kind(item_id: str) -> str:
    return "JSON" if item_id.lower().endswith(".json") else "YAML"


def _properties(record: _Record, item_id: str) -> dict[str, Any]:
    about: dict[str, Any] = {"name": record.name, "path": item_id, "line_start": record.line, "line_end": record.end}
    if record.description:
        about["doc"] = record.description[:300]
    about["provenance"] = AUTHORED
    return about


def _said(value: Any) -> str:
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return said[:_LONGEST]
