"""Source code as typed objects: what is ranked, what there is, and how it belongs together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ir.base import IndexPlan, Surface
from ir.code.exports import exports
from ir.code.facts import Definition, Facts
from ir.code.languages import Language, language_of
from ir.code.linking import kept, links_of, symbol_key
from ir.code.mentions import mentioned_by
from ir.code.units import units_of
from ir.code.values import Lookup
from ir.garbage import uncollected
from ir.links import Edge, Node, Symbols, Use
from ir.strategy import Chunked, text_of
from ir.strategy.text import format_named

__all__ = ["Code"]

#: A longer file is not parsed: it was generated, or it is data.
_LARGEST = 1_000_000
#: How much of a doc comment a node keeps.
_DOC = 300


class Code(Chunked):
    """Chunks that keep definitions whole; modules, types, functions and methods as nodes; and the links between them.

    A file of another kind, or in a language whose grammar is not installed, is cut as :class:`ir.Chunked` does it,
    and the build's report says so where a grammar is missing.
    """

    code_version = 1
    #: How searches of a corpus that is built by it rank; see :mod:`ir.retrieve.rankings`.
    ranking = "code"

    @uncollected
    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        text = text_of(raw, self.text_key)
        if artifact_id.rsplit("/", 1)[-1] == "go.mod":
            plan = super().decompose(artifact_id, raw, metadata)
            plan.symbols = Symbols(go_module(artifact_id, text))
            return plan
        language = language_of(format_named(artifact_id, raw))
        if language is None:
            return super().decompose(artifact_id, raw, metadata)
        if len(text) > _LARGEST:
            return _remarked(super().decompose(artifact_id, raw, metadata), "too long to be parsed; cut as text")
        missing = language.missing()
        if missing is not None:
            return _remarked(super().decompose(artifact_id, raw, metadata), f"cut as text: {missing} is not installed")
        facts = language.read(text, artifact_id)
        return self._plan(artifact_id, raw, metadata, text, facts, language)

    def _plan(
        self,
        artifact_id: str,
        raw: Any,
        metadata: Mapping[str, Any] | None,
        text: str,
        facts: Facts,
        language: Language,
    ) -> IndexPlan:
        plan = self._decomposed(artifact_id, raw, metadata, lambda said: units_of(facts, said))
        family = language.family
        nodes, edges = [], []
        for definition in facts.definitions:
            key = symbol_key(family, facts.path, definition.symbol)
            nodes.append(Node(key, definition.kind, _properties(definition, facts, language)))
            if definition.owner >= 0:
                owner = symbol_key(family, facts.path, facts.definitions[definition.owner].symbol)
                edges.append(Edge(owner, "contains", key))
        defines: dict[str, list[str]] = {**exports(facts), **mentioned_by(facts)}
        rules = language.rules()
        for tail in getattr(rules, "tails", lambda path: ())(facts.path):
            defines.setdefault(f"{family}-tail:{tail}", []).append(facts.path)
        root = _root_name(artifact_id, raw)
        for tail in rules.tails(f"{root}/{facts.path}")[:1] if root and hasattr(rules, "tails") else ():
            defines[f"{family}-rooted:{tail}"] = [facts.path]
        for definition, node in zip(facts.definitions, nodes, strict=True):
            if definition.kind == "method":
                defines.setdefault(f"{family}-method:{definition.name}", []).append(node.id)
            if "extension" in definition.marks:
                defines.setdefault(f"{family}-extension:{definition.name}", []).append(node.id)
            if "interface" in definition.marks:
                first = min((name for name, given in definition.members.items() if given), default="")
                defines.setdefault(f"{family}-interface:{first}", []).append(f"{facts.path}\n{definition.symbol}")
            if definition.name:
                defines.setdefault(f"symbol:{definition.name}", []).append(node.id)
        uses = [Use(node.id, "calls", node.id) for node in nodes]
        plan.nodes, plan.edges = nodes, edges
        plan.symbols = Symbols(defines, uses, kept(facts, family))
        plan.surfaces = [_described(surface, artifact_id, facts, family) for surface in plan.surfaces]
        if facts.errors and plan.remark is None:
            plan.remark = f"parsed in part: line {facts.errors[0]} could not be read"
        return plan

    def link(self, item_id: str, symbols: Symbols, lookup: Lookup) -> Iterable[Edge]:
        """The links that need the names of other files."""
        return links_of(symbols.payload, lookup) if symbols.payload else ()


def go_module(artifact_id: str, text: str) -> dict[str, list[str]]:
    """The path by which the packages of a Go module are imported, and the folder that it stands for.

    >>> go_module("api/go.mod", "module example.com/api\\n\\ngo 1.22\\n")
    {'go-module': ['api\\nexample.com/api']}
    """
    said = re.search(r"^\s*module\s+[\"`]?([^\s\"`]+)", text, re.MULTILINE)
    folder = artifact_id.rpartition("/")[0]
    return {"go-module": [f"{folder}\n{said[1]}"]} if said else {}


def _root_name(artifact_id: str, raw: Any) -> str:
    """The name of the folder that the corpus is made from, as far as the item's path tells it."""
    path = str(raw.get("path", "")) if isinstance(raw, Mapping) else ""
    path = path.replace("\\", "/")
    return path[: -len(artifact_id)].rstrip("/").rsplit("/", 1)[-1] if path.endswith(f"/{artifact_id}") else ""


def _remarked(plan: IndexPlan, remark: str) -> IndexPlan:
    plan.remark = plan.remark or remark
    return plan


def _properties(definition: Definition, facts: Facts, language: Language) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": definition.name,
        "path": facts.path,
        "language": language.name,
        "line_start": definition.line_start,
        "line_end": definition.line_end,
    }
    if definition.signature:
        about["signature"] = definition.signature
    if definition.doc:
        about["doc"] = definition.doc[:_DOC]
    return about


def _described(surface: Surface, path: str, facts: Facts, family: str) -> Surface:
    """A chunk with what it is: the definition that it is of, and the level of that."""
    first, last = surface.metadata.get("line_start"), surface.metadata.get("line_end")
    definition = _definition_of(facts, first, last)
    about = {
        **surface.metadata,
        "symbolKey": symbol_key(family, path, definition.symbol),
        "objectType": definition.kind,
        "chunkLevel": {"module": "file", "type": "type"}.get(definition.kind, "method"),
        "provenance": "ingested",
        "contentHash": hashlib.blake2b(surface.text.encode("utf-8", "replace"), digest_size=16).hexdigest(),
    }
    return Surface(surface.artifact_id, surface.kind, surface.text, surface.granularity, about)


def _definition_of(facts: Facts, first: Any, last: Any) -> Definition:
    """The innermost definition that holds a chunk, or the first whole one in it."""
    if not isinstance(first, int) or not isinstance(last, int):
        return facts.definitions[0]
    holding = [one for one in facts.definitions if one.line_start <= first and last <= one.line_end]
    inner = max(holding, key=lambda one: (one.line_start, -one.line_end), default=facts.definitions[0])
    if inner is facts.definitions[0]:
        within = [one for one in facts.definitions[1:] if first <= one.line_start and one.line_end <= last]
        return within[0] if within else inner
    return inner
