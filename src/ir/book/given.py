"""A book that somebody else has cut: its chunks and its graph are taken as they are.

Relations that the given graph has none of are drawn as for any other book.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ir.base import PAGE_LABELS, IndexPlan, Record, Surface
from ir.book.drawing import Drawing
from ir.book.enrichment import Enrichment
from ir.book.sections import slug
from ir.links import Edge, Node

__all__ = ["DECLARED", "chapter_depth", "given_plan", "placed"]

#: The types of nodes; everything else that a graph holds is an entity.
DECLARED = frozenset({"document", "section", "chunk", "entity"})
_OWN = frozenset({"id", "text", "at", "artifact_id", "kind", "block_type", "section_path"})


def chapter_depth(paths: Sequence[Sequence[str]]) -> int:
    """At which depth of section paths the chapters are: below the title of the book, if one heading is above all."""
    headed = [path for path in paths if path]
    return int(len(headed) > 1 and len({path[0] for path in headed}) == 1)


def placed(
    path: Sequence[str], depth: int, about: Mapping[str, Any], labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """Where in its book a chunk stands: its section, its chapter, and what is printed on its page."""
    where: dict[str, Any] = {}
    if path:
        where = {"section": " > ".join(path), "section_path": list(path)}
        where["chapter"] = path[min(depth, len(path) - 1)]
    page = about.get("page")
    if isinstance(page, int):
        where["page_label"] = str(labels[page - 1]) if labels and 0 < page <= len(labels) else str(page)
    return where


def given_plan(
    item_id: str, raw: Mapping[str, Any], fields: Mapping[str, Any], enrichment: Enrichment, *, kind: str
) -> IndexPlan:
    """The plan of a book whose chunks are given under ``_chunks``, its graph under ``_graph``.

    A chunk is an artifact, unless it says whose part it is (``artifact_id``).
    """
    chunks: Sequence[Mapping[str, Any]] = raw["_chunks"]
    graph: Mapping[str, Any] = raw.get("_graph") or {}
    title = str(fields.get("title") or item_id)
    drawing = Drawing(
        item_id,
        {"title": title, **({"queries": list(raw["_queries"])} if raw.get("_queries") else {})},
        enrichment,
        summaries=raw.get("_summaries"),
        without=_drawn(graph),
    )
    plan = IndexPlan(dict(fields))
    if raw.get("_vectors"):
        plan.remark = (
            "the vectors in its file were left out: those of one space are of one model, which reads questions too"
        )
    depth = chapter_depth([chunk["section_path"] for chunk in chunks])
    counts: Counter[str] = Counter()
    placed_chunks: dict[str, tuple[str, Mapping[str, Any], str]] = {}
    for chunk in chunks:
        artifact, of_kind = str(chunk.get("artifact_id") or chunk["id"]), str(chunk.get("kind") or kind)
        about = _about(chunk, depth, enrichment)
        record = Record.make_id(artifact, of_kind, counts[artifact])
        counts[artifact] += 1
        node = record if chunk.get("artifact_id") else str(chunk["id"])
        about["chunk"] = node
        plan.surfaces.append(Surface(artifact, of_kind, chunk["text"], "chunk", about))
        placed_chunks[node] = (artifact, about, chunk["text"])
    _draw_chunks(drawing, item_id, placed_chunks)
    plan.symbols = drawing.symbols(unresolved=graph.get("unresolved", ()))
    own = {node["id"]: _node(node, item_id, placed_chunks) for node in graph.get("nodes", ())}
    for node_id, told in own.items():
        drawn = drawing.nodes.get(node_id)
        merged = told.properties if drawn is None else {**drawn.properties, **told.properties}
        drawing.nodes[node_id] = Node(node_id, told.type, merged)
    plan.nodes = list(drawing.nodes.values())
    plan.edges = [*drawing.edges, *(Edge(*_five(edge)) for edge in graph.get("edges", ()))]
    plan.edges += [
        Edge(node, "refers_to", name, None, {"said": said}) for node, name, said in graph.get("unresolved", ())
    ]
    return plan


def _drawn(graph: Mapping[str, Any]) -> frozenset[str]:
    """The relations that a given graph has; of its references those that lead nowhere are told apart."""
    found = {edge[1] for edge in graph.get("edges", ())}
    return frozenset(found | ({"refers_to"} if graph.get("unresolved") else set()))


def _draw_chunks(drawing: Drawing, item_id: str, chunks: Mapping[str, tuple[str, Mapping[str, Any], str]]) -> None:
    """Chunks in the order of their pages, and the sections that they make; a section begins with its first chunk."""
    begun: dict[tuple[str, ...], str] = {}
    for node, (artifact, about, text) in sorted(chunks.items(), key=lambda one: one[1][1].get("page", -1)):
        path = tuple(about.get("section_path", ()))
        own = artifact != node
        for deep in range(1, len(path) + 1):
            part = path[:deep]
            if part not in begun:
                begun[part] = artifact if own and part == path else section_id(item_id, part)
                drawing.section(begun[part], part, begun.get(part[:-1]))
                drawing.entry(part[-1], begun[part] if own else node)
        drawing.chunk(node, begun.get(path, artifact if own else item_id), artifact if own else node, text, about)


def section_id(item_id: str, path: Sequence[str]) -> str:
    """The id of the section under these headings."""
    return f"{item_id}#{'/'.join(slug(title) for title in path)}"


def _about(chunk: Mapping[str, Any], depth: int, enrichment: Enrichment) -> dict[str, Any]:
    """The metadata of a chunk: what it says of itself, and by rule what it does not say."""
    path = chunk["section_path"]
    about = {key: value for key, value in chunk.items() if key not in _OWN and value not in (None, [], "")}
    about = {**placed(path, depth, chunk), **about}
    if chunk.get("block_type"):
        about["block_type"] = chunk["block_type"]
    label = about.get("page_label")
    if label is not None and label != str(about.get("page")):
        about.setdefault(PAGE_LABELS, [label])
    title = path[-1] if path else ""
    told = enrichment.of_passage(section=" > ".join(path), text=chunk["text"], title=title)
    for name in ("content_kind", "is_rule_bearing", "tags", "traits"):
        if name in told:
            about.setdefault(name, told[name])
    return about


def _node(node: Mapping[str, Any], item_id: str, chunks: Mapping[str, Any]) -> Node:
    told = node.get("properties")
    if isinstance(told, Mapping):
        about = dict(told)
    else:
        known = {"id", "node_id", "type", "node_type", "properties", "text", "_id"}
        about = {key: value for key, value in node.items() if key not in known}
    given = str(node.get("type") or node.get("node_type") or "entity").strip().lower()
    kind = "chunk" if node["id"] in chunks else "document" if node["id"] == item_id else given
    if kind not in DECLARED:
        about, kind = {**about, "kind": kind}, "entity"
    name = about.get("name") or about.get("label") or about.get("title")
    if name and not isinstance(told, Mapping):
        about["title" if kind in ("document", "section") else "name"] = str(name)
    return Node(str(node["id"]), kind, about)


def _five(edge: Sequence[Any]) -> tuple[str, str, str, str | None, Mapping[str, Any]]:
    source, relation, target, corpus, properties = edge
    return source, relation, target, corpus, properties
