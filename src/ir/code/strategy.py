"""Source code as typed objects: what is ranked, what there is, and how it belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ir.base import IndexPlan, Surface
from ir.code.authored import AuthoredLinks, authored_plan
from ir.code.chunks import CodeChunks, about_text
from ir.code.docs import Doc, documented, is_doc
from ir.code.exports import exports
from ir.code.facts import Definition, Facts
from ir.code.languages import LANGUAGES, Language, language_of
from ir.code.linking import kept, links_of, symbol_key
from ir.code.mentions import mentioned_by
from ir.code.values import Lookup
from ir.garbage import uncollected
from ir.links import Edge, Node, Symbols, Use
from ir.strategy import Chunked, text_of
from ir.strategy.code import Unit
from ir.strategy.fields import artifact_fields
from ir.strategy.text import format_named, is_source

__all__ = ["Code"]

#: A longer file is not parsed: it was generated, or it is data.
LARGEST = 1_000_000
#: How much of a doc comment a node keeps.
_DOC = 300


class Code(Chunked):
    """Chunks that keep definitions whole; modules, types, functions and methods as nodes; and the links between them.

    Documents are nodes by their sections, with links to the definitions that they name. A file in another language, or
    in one whose grammar is not installed, is cut as :class:`ir.Chunked` does it; the build's report says so.
    ``branch`` is the name of the branch whose files these are.
    """

    #: How searches of a corpus that is built by it rank; see :mod:`ir.retrieve.rankings`.
    ranking = "code"
    _apart = True

    def __init__(self, *, branch: str = "main", **options: Any) -> None:
        super().__init__(**options)
        self.branch = branch
        # These are part of the strategy's id: a grammar that is installed later makes a build read files again.
        self.code_version = 2
        self.grammars = tuple(language.name for language in LANGUAGES if language.installed())
        self._missing: dict[str, str] = {}

    @uncollected
    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        text = text_of(raw, self.text_key)
        format = format_named(artifact_id, raw)
        if isinstance(raw, Mapping) and raw.get("_authored"):
            fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
            return authored_plan(artifact_id, text, fields, branch=self.branch)
        if is_doc(format):
            return self._doc_plan(artifact_id, raw, metadata, text, format)
        language = language_of(format)
        if language is None:
            plan = self._text_plan(artifact_id, raw, metadata, format)
            if artifact_id.rsplit("/", 1)[-1] == "go.mod":
                plan.symbols = Symbols(go_module(artifact_id, text))
            return plan
        if len(text) > LARGEST:
            why = f"longer than {LARGEST:,} characters, too long to be parsed"
            return _remarked(self._text_plan(artifact_id, raw, metadata, format, why), f"cut as text: {why}")
        missing = language.missing() if language.name in self.grammars else language.package
        if missing is not None:
            self._missing[language.name] = missing
            return self._text_plan(artifact_id, raw, metadata, format, f"{missing} is not installed")
        facts = language.read(text, artifact_id)
        return self._plan(artifact_id, raw, metadata, text, facts, language)

    def notes(self) -> Sequence[str]:
        """What a build should say once, however many files it is about."""
        if not self._missing:
            return ()
        languages = ", ".join(sorted(self._missing))
        packages = ", ".join(sorted(set(self._missing.values())))
        self._missing.clear()
        return (
            f"Files in {languages} were cut as text, without links between definitions, for {packages} is not "
            "installed. Install it with: pip install 'ir-substrate[code]'",
        )

    def _doc_plan(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None, text: str, format: str
    ) -> IndexPlan:
        """A document as it always was, and its sections as nodes."""
        plan = super().decompose(artifact_id, raw, metadata)
        first = raw.get("_first_line") if isinstance(raw, Mapping) else None
        doc = Doc(artifact_id, text, format, first or 1)
        plan.nodes, plan.edges, plan.symbols = doc.nodes(), doc.edges(), doc.symbols()
        places = ((one.metadata.get("start", 0), one.metadata.get("end", 0)) for one in plan.surfaces)
        keys = [doc.key_at(*place) for place in places]
        plan.surfaces = [self._told(*pair, "doc") for pair in zip(plan.surfaces, keys, strict=True)]
        return plan

    def _text_plan(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None, format: str, why: str | None = None
    ) -> IndexPlan:
        """A file that is not parsed. If it is source code, its node says why."""
        long = len(text_of(raw, self.text_key)) > LARGEST
        plan = self._decomposed(artifact_id, raw, metadata, _unread if long else None)
        kind = "module" if is_source(format) else "file"
        if kind == "module" and why is None:
            why = f"there is no grammar for .{format}"
        key = symbol_key("text", artifact_id, "")
        about = {"name": artifact_id.rsplit("/", 1)[-1], "path": artifact_id, "language": format}
        plan.nodes = [Node(key, kind, {**about, "cut": why} if why else about)]
        plan.surfaces = [self._told(surface, key, kind) for surface in plan.surfaces]
        return plan

    def _told(self, surface: Surface, key: str, kind: str) -> Surface:
        about = {**surface.metadata, **about_text(key, kind, surface.text, branch=self.branch)}
        return Surface(surface.artifact_id, surface.kind, surface.text, surface.granularity, about)

    def _plan(
        self,
        artifact_id: str,
        raw: Any,
        metadata: Mapping[str, Any] | None,
        text: str,
        facts: Facts,
        language: Language,
    ) -> IndexPlan:
        family = language.family
        chunks = CodeChunks(facts, text, family, self.branch)
        plan = self._decomposed(artifact_id, raw, metadata, lambda _: chunks.cut.units, chunks.lead)
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
        plan.surfaces = [chunks.described(surface) for surface in plan.surfaces]
        if facts.errors and plan.remark is None:
            plan.remark = f"parsed in part: line {facts.errors[0]} could not be read"
        return plan

    def link(self, item_id: str, symbols: Symbols, lookup: Lookup) -> Iterable[Edge]:
        """The links that need the names of other files."""
        payload = symbols.payload
        if not payload:
            return ()
        if isinstance(payload, Mapping) and "mentions" in payload:
            return documented(payload, lookup) if "doc" in payload else AuthoredLinks(payload, lookup)
        return links_of(payload, lookup)


def _unread(text: str) -> Sequence[Unit]:
    """No units: no parser is to see a text that is this long."""
    return ()


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
    if facts.errors and definition is facts.definitions[0]:
        about["unread"] = facts.errors[0]
    if definition.signature:
        about["signature"] = definition.signature
    if definition.doc:
        about["doc"] = definition.doc[:_DOC]
    return about
