"""A version by content: equal for corpora that hold the same, whatever made them and wherever they are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ir.base import Record, Row
from ir.links import Edge, Node

__all__ = ["Content", "edge_sum", "node_sum", "record_sum", "vector_sum", "written_fields"]

_MODULUS = 2**256
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_json = _encoder.encode


def _quick_json() -> Callable[[Any], str]:
    """``_json`` without what it sets up for every value, which takes longer than writing a handful of fields."""
    from json import encoder

    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _json
    quote = encoder.encode_basestring
    write = make(None, _encoder.default, quote, None, ":", ",", True, False, True)
    return lambda value: "".join(write(value, 0))


_fields = _quick_json()


@dataclass
class Content:
    """Sums of hashes, one of each kind of thing. Adding and taking away is all that a change costs.

    A sum does not know in which order it came about, so what was added and removed again leaves no trace.
    """

    records: int = 0
    nodes: int = 0
    edges: int = 0
    vectors: dict[str, int] = field(default_factory=dict)

    def change(self, kind: str, amount: int) -> None:
        """Add to the sum of ``kind``: ``"records"``, ``"nodes"`` or ``"edges"``; a negative amount takes away."""
        setattr(self, kind, (getattr(self, kind) + amount) % _MODULUS)

    def change_vectors(self, space: str, amount: int) -> None:
        """The same for the vectors of a space."""
        self.vectors[space] = (self.vectors.get(space, 0) + amount) % _MODULUS

    def copy(self) -> Content:
        return Content(self.records, self.nodes, self.edges, dict(self.vectors))

    def dumps(self) -> str:
        """As a line of text, to be kept with the corpus."""
        sums = {name: f"{value:x}" for name, value in self.vectors.items()}
        return _json([f"{self.records:x}", f"{self.nodes:x}", f"{self.edges:x}", sums])

    @classmethod
    def loads(cls, text: str | None) -> Content:
        """What :meth:`dumps` gave; the content of an empty corpus for ``None``."""
        if not text:
            return cls()
        records, nodes, edges, vectors = json.loads(text)
        return cls(
            int(records, 16), int(nodes, 16), int(edges, 16), {name: int(value, 16) for name, value in vectors.items()}
        )

    def version(self, config: Mapping[str, Any], default_space: str, analyzer_id: str) -> str:
        """The version of a corpus with these sums and settings: 32 hexadecimal digits."""
        described = config.get("spaces") or {}
        filled = {name: total for name, total in self.vectors.items() if total}
        spaces = {name: [f"{total:x}", _fingerprint(described.get(name, {}))] for name, total in filled.items()}
        spaces.setdefault(default_space, ["0", None])[1] = _fingerprint(config)
        told = [f"{self.records:x}", f"{self.nodes:x}", f"{self.edges:x}", spaces, default_space, analyzer_id]
        return blake2b(_json(told).encode(), digest_size=16).hexdigest()


def _fingerprint(settings: Mapping[str, Any]) -> Any:
    return settings.get("fingerprint") or settings.get("embedder_id")


def record_sum(records: Iterable[Record | Row]) -> int:
    """What some records add: their ids, texts and metadata. Vectors are told by the model that made them."""
    total = 0
    for record in records:
        written = _fields(record.metadata) if record.metadata else "{}"
        where = f"{record.id}\0{record.artifact_id}\0{record.surface_kind}\0{record.surface_index}"
        total += _hash(f"{where}\0{len(record.text)}\0{record.text}{written}")
    return total % _MODULUS


def node_sum(nodes: Iterable[Node]) -> int:
    """What some declared nodes add."""
    return sum(_hash(f"{node.id}\0{node.type}\0{_fields(node.properties)}") for node in nodes) % _MODULUS


def edge_sum(edges: Iterable[Edge], written: Iterable[str] | None = None) -> int:
    """What some edges add. Their order does not count. ``written`` are their properties by :func:`written_fields`."""
    total, given = 0, list(edges)
    texts = [written_fields(edge.properties) for edge in given] if written is None else written
    for edge, properties in zip(given, texts, strict=True):
        where = "" if edge.corpus is None else f"\0{edge.corpus}"
        total += _hash(f"{edge.source}\0{edge.type}\0{edge.target}{where}\0{properties or '{}'}")
    return total % _MODULUS


def written_fields(properties: Mapping[str, Any]) -> str:
    """Properties as JSON, by name; empty for none."""
    return _fields(properties) if properties else ""


def vector_sum(record_ids: Iterable[str]) -> int:
    """What the vectors of some records add to their space: that they are there."""
    return sum(map(_hash, record_ids)) % _MODULUS


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=32).digest(), "little")
