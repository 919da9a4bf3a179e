"""What the results are linked to, one step away, as context that is not ranked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.code.linking import LINKS
from ir.errors import InvalidInput
from ir.index.showing import SHOWN_BY
from ir.protocols import Snapshot
from ir.query.parameters import MOST_DEPTH

__all__ = ["ExpandedContext", "expand"]

#: So many links of each result are looked at, in each direction.
PER_NODE = 20
#: So many definitions of one chunk are followed: a chunk of constants may hold dozens.
PER_DOCUMENT = 8
#: So many linked nodes are told in all.
MOST = 200
#: What contains what is known from the names; the other links come first, lest a large type has room for no other.
_TELLING = frozenset(LINKS) - {"contains"}


@dataclass(frozen=True)
class ExpandedContext:
    """A node that a result is linked to: by which link, in which direction, and the chunk that shows it.

    ``direction`` is ``out`` where the result links to the node, ``in`` where the node links to the result.
    """

    linked_node: str
    object_type: str
    name: str
    path: str | None
    line: int | None
    link_name: str
    direction: str
    resolution: str | None
    representative_chunk_id: str | None
    linked_from_document_id: str

    def to_dict(self) -> dict[str, Any]:
        node: dict[str, Any] = {"symbolKey": self.linked_node, "objectType": self.object_type, "name": self.name}
        node |= {"path": self.path, "line": self.line}
        return {
            "linkedNode": {key: value for key, value in node.items() if value is not None},
            "linkName": self.link_name,
            "direction": self.direction,
            **({"resolution": self.resolution} if self.resolution else {}),
            "representativeChunkId": self.representative_chunk_id,
            "linkedFromDocumentId": self.linked_from_document_id,
        }


def expand(
    snapshot: Snapshot,
    documents: Sequence[tuple[str, Sequence[str]]],
    *,
    depth: int = 1,
    links: Collection[str] | None = None,
    limit: int = PER_NODE,
) -> list[ExpandedContext]:
    """What the nodes of documents, ``(document id, nodes)``, are linked to: each node once, the best document first."""
    if depth != MOST_DEPTH:
        raise InvalidInput(f"linkDepth must be {MOST_DEPTH}, not {depth!r}; no more steps are followed.")
    from_document: dict[str, str] = {}
    for document_id, nodes in documents:
        for node in nodes[:PER_DOCUMENT]:
            from_document.setdefault(node, document_id)
    sources = list(from_document)
    if not sources:
        return []
    seen: dict[str, tuple[str, str, Mapping[str, Any], str]] = {}
    for types in (_TELLING, None) if links is None else (links,):
        if len(seen) >= MOST:
            break
        near = snapshot.neighbours(sources, types=types, direction="both", limit=limit)
        for source, found in zip(sources, near, strict=True):
            for one in found:
                if one.place == "here" and one.id != source and len(seen) < MOST:
                    seen.setdefault(one.id, (one.type, one.direction, one.properties, source))
    nodes_by_id = snapshot.nodes(list(seen))
    shown = _shown(snapshot, [str(node.properties[SHOWN_BY]) for node in nodes_by_id.values() if _has_chunk(node)])
    return [
        _context(nodes_by_id[node], *link, from_document, shown) for node, link in seen.items() if node in nodes_by_id
    ]


def _has_chunk(node: Any) -> bool:
    return isinstance(node.properties.get(SHOWN_BY), str)


def _shown(snapshot: Snapshot, record_ids: Sequence[str]) -> Collection[str]:
    """Those of the records that are indexed."""
    return snapshot.refs_of(list(dict.fromkeys(record_ids)))


def _context(
    node: Any,
    link: str,
    direction: str,
    properties: Mapping[str, Any],
    source: str,
    from_document: Mapping[str, str],
    shown: Collection[str],
) -> ExpandedContext:
    about = node.properties
    line = about.get("line_start")
    chunk = about.get(SHOWN_BY)
    return ExpandedContext(
        node.id,
        node.type,
        str(about.get("name") or node.id),
        str(about["path"]) if about.get("path") else None,
        line if isinstance(line, int) else None,
        link,
        direction,
        str(properties["resolution"]) if properties.get("resolution") else None,
        str(chunk) if chunk in shown else None,
        from_document[source],
    )
