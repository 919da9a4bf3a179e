"""The tool ``ontology_query``: its arguments as agents write them, and its answer within the length asked for."""

# ruff: noqa: N815 - the names are those of the tool's contract

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.fields import Arg
from ir.app.operation import Value
from ir.query.branches import MAIN
from ir.serve.answers import NOTICE, Answer, Page, as_line, barred
from ir.serve.budget import shortened

__all__ = ["OntologyArguments", "answered", "asked", "output_schema"]

#: What the note about what was left out may take.
_FRAME = 60
_MOST_NOTES = 5
#: What is left of an answer for what the results are linked to, where that was asked for.
_FOR_LINKS = 0.4
_NUMBERS = ("similarity", "score")
#: The fields of the envelope that the list of tools names.
_PROMISED = (
    *("ontologyVersion", "hybrid", "reranked", "skippedRerank", "cacheHit", "degraded"),
    *("couldBenefitFromLinkExpansion", "expandedContext", "backend"),
)

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class OntologyArguments(Value):
    semanticQuery: Annotated[str, Arg("question", blank=False, max_chars=100_000)]
    corpus: Annotated[str, Arg("name", blank=False)] = "."
    objectType: Annotated[str | None, Arg("module, type, method", blank=False)] = None
    precision: Annotated[bool, Arg("rerank")] = True
    followLinks: Annotated[bool, Arg("fill _meta.expandedContext")] = False
    linkDepth: Annotated[int, Arg("1 only", min=1, max=1)] = 1
    chunkLevel: Annotated[str | None, Arg("level", choices="ir.query.parameters:CHUNK_LEVELS")] = None
    provenance: Annotated[str | None, Arg("origin", choices="ir.query.parameters:PROVENANCES")] = None
    branch: Annotated[str, Arg("git branch", blank=False)] = MAIN
    topK: Annotated[int, Arg("results", min=1, max=100, clamp=True)] = 10
    minRelevance: Annotated[float | None, Arg("least similarity", min=0, max=1)] = None
    distanceMetric: Annotated[str, Arg("of similarity", choices="ir.query.parameters:METRICS")] = "cosine"
    interfaceName: Annotated[str | None, Arg("implementers only", blank=False)] = None
    traverseLink: Annotated[str | None, Arg("such as calls", blank=False)] = None
    filter: Annotated[Mapping[str, Any] | None, Arg("by metadata")] = None
    domain: Annotated[str | None, Arg("a folder", blank=False)] = None
    include: Annotated[tuple[str, ...], Arg("more of each", choices="ir.query.parameters:INCLUDES")] = ()


def asked(arguments: OntologyArguments) -> dict[str, Any]:
    """The operation's arguments from the tool's: the same words, written as Python does."""
    given = {name: getattr(arguments, name) for name in arguments.__dataclass_fields__}
    named = {_CAPITAL.sub("_", name).lower(): value for name, value in given.items()}
    named["target"] = named.pop("corpus")
    return {name: value for name, value in named.items() if value is not None}


def output_schema() -> dict[str, Any]:
    """The answer, as short as it can be said: whoever reads the list of tools pays for each word.

    :func:`ir.query.envelope.answer_schema` says all of it, and every answer is held to that.
    """
    from ir.query.envelope import answer_schema

    told = answer_schema()["properties"]["_meta"]["properties"]
    meta = {name: _short(told[name]) for name in _PROMISED}
    results = {"type": "array"}
    envelope = {"type": "object", "properties": meta}
    return {"type": "object", "properties": {"results": results, "_meta": envelope}, "required": ["results", "_meta"]}


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": schema["type"]} if schema.get("type") in ("array", "boolean") else {}


def answered(response: Any, *, budget: int, notes: Sequence[str], fresh: str) -> Answer:
    """The results and the envelope, each in the text and in the structure, within the budget.

    What does not fit is left out from the end, and the envelope says so in its notes.
    """
    answer = response.answer
    meta = answer.meta.to_dict()
    context = meta.pop("expandedContext")
    said = [shortened(note, 60) for note in dict.fromkeys((*notes, *response.notes, *meta.pop("notes")))][:_MOST_NOTES]
    meta["timings"] = {name: round(ms, 1) for name, ms in meta["timings"].items()}
    head = {"corpus": response.corpus, "index": fresh, "notice": NOTICE, "_meta": {**meta, "notes": said}}
    ran = [as_line(f"{response.corpus}; index {fresh}. {NOTICE}"), f"_meta: {_told(meta)}"]
    room = budget - _FRAME - (int(budget * _FOR_LINKS) if context else 0)
    page = Page(room, head, [*ran, *(as_line(f"Note: {note}") for note in said)])
    for one in answer.results:
        entry, lines = _result(one, page.room)
        if not page.add(entry, lines):
            break
    linked = Page(budget - _FRAME, {**page.head, "results": page.entries}, page.lines)
    for one in context:
        if not linked.add(one, [_linked(one)]):
            break
    left = {"results": len(answer.results) - len(page.entries), "linked nodes": len(context) - len(linked.entries)}
    omitted = ", ".join(f"{number} {name}" for name, number in left.items() if number)
    if omitted:
        said = [*said, f"Left out for length: {omitted}. Ask for less, by topK or a filter."]
    whole = {**meta, "expandedContext": linked.entries, "notes": said}
    structured = {**page.head, "_meta": whole, "results": page.entries}
    lines = [*linked.lines, *([f"Note: {said[-1]}"] if omitted else ())]
    if not answer.results:
        lines.append("Nothing was found.")
    return Answer("\n".join(lines), structured, len(page.entries))


def _told(meta: Mapping[str, Any]) -> str:
    """The envelope in a line: whatever is not as usual, and always what was degraded."""
    shown = {name: value for name, value in meta.items() if name not in ("timings", "notes")}
    return json.dumps(shown, separators=(",", ":"))


def _result(one: Any, room: int) -> tuple[dict[str, Any], list[str]]:
    entry = {name: value for name, value in one.to_dict().items() if value is not None}
    for name in _NUMBERS:
        if name in entry:
            entry[name] = round(entry[name], 4)
    entry["text"] = shortened(entry["text"], room)
    lines = "" if one.line_start is None else f":{one.line_start}-{one.line_end}"
    ranks = ", ".join(f"{name} {rank}" for name, rank in one.source_ranks.items())
    about = [part for part in (one.object_type, one.symbol_key, one.provenance) if part]
    about += [f"score {entry['score']}", ranks, f"chunk {one.chunk_id}"]
    told = [as_line(f"[{one.rank}] {one.path}{lines} ({'; '.join(about)})")]
    told += [as_line(entry[name]) for name in ("signature", "doc") if name in entry]
    return entry, [*told, *barred(entry["text"])]


def _linked(one: Mapping[str, Any]) -> str:
    node = one["linkedNode"]
    arrow = "->" if one["direction"] == "out" else "<-"
    place = f" {node['path']}:{node.get('line', 1)}" if "path" in node else ""
    chunk = f" chunk {one['representativeChunkId']}" if one["representativeChunkId"] else ""
    return as_line(f"{arrow} {one['linkName']} {node['symbolKey']}{place}{chunk} (from {one['linkedFromDocumentId']})")
