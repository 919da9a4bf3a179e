"""Corpora of a few texts each, with metadata to filter on, and an embedder that needs no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record, embedding_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CITIES", "FUNCTIONS", "TINY_CORPORA", "ToyEmbedder", "tiny_records"]

_WORD = re.compile(r"[^\W_]+")

#: Short notes about towns that do not exist. ``tags`` is a list, ``people`` a number, ``place`` is nested.
CITIES: dict[str, dict[str, Any]] = {
    "arden": {
        "title": "Arden",
        "text": "A harbour town. Fishing boats leave before sunrise and the market sells herring until noon.",
        "tags": ["sea", "market"],
        "people": 12_000,
        "place": {"country": "Norland", "height": 3},
    },
    "belmor": {
        "title": "Belmor",
        "text": "High in the mountains; skiers come in winter and the railway climbs through nine tunnels.",
        "tags": ["mountain", "railway"],
        "people": 4_300,
        "place": {"country": "Sudria", "height": 1450},
    },
    "corvane": {
        "title": "Corvane",
        "text": "The university has taught astronomy for four hundred years, and its library never closes.",
        "tags": ["university"],
        "people": 98_000,
        "place": {"country": "Norland", "height": 210},
    },
    "dunmere": {
        "title": "Dunmere",
        "text": "Ferries cross the strait every hour. The old lighthouse is a museum of fishing and storms.",
        "tags": ["sea", "museum"],
        "people": 7_800,
        "place": {"country": "Westmark", "height": 8},
    },
    "elsted": {
        "title": "Elsted",
        "text": "Trains from three countries meet at this junction, under the largest glass roof of the railways.",
        "tags": ["railway"],
        "people": 45_000,
        "place": {"country": "Sudria", "height": 95},
    },
    "farholt": {
        "title": "Farholt",
        "text": "A village of potters. Kilns burn all week, and on Sundays the market fills the whole square.",
        "tags": ["market", "craft"],
        "people": 900,
    },
}

#: Notes on functions, full of identifiers; ``kind`` and ``public`` to filter on.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "getUserName": {"text": "getUserName(id) returns the display name of an account.", "kind": "read", "public": True},
    "set_user_name": {"text": "set_user_name changes the name of an account.", "kind": "write", "public": True},
    "http.client.retry": {
        "text": "http.client.retry repeats a request that timed out, waiting longer each time.",
        "kind": "network",
        "public": False,
    },
    "parseXMLFile": {"text": "parseXMLFile reads a file and builds a tree of nodes.", "kind": "read", "public": False},
}

#: Every corpus here by name: id to item, the text of an item under ``"text"``.
TINY_CORPORA: dict[str, dict[str, dict[str, Any]]] = {"cities": CITIES, "functions": FUNCTIONS}


class ToyEmbedder:
    """Words hashed into a few dimensions: texts that share words are near. The same in every process.

    >>> embed = ToyEmbedder()
    >>> a, b, c = embed(["red fox", "a red fox", "blue whale"])
    >>> bool(a @ b > a @ c)
    True
    """

    cacheable = False

    def __init__(self, dim: int = 32) -> None:
        self.dim = dim
        self.id = f"toy-{dim}"
        self.fingerprint = self.id

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
                row[number % self.dim] += 1.0 if number & (1 << 40) else -1.0
            length = np.linalg.norm(row)
            if length:
                row /= length
        return rows


def tiny_records(items: Mapping[str, Mapping[str, Any]], *, embedder: ToyEmbedder | None = None) -> list[Record]:
    """One record of kind ``"document"`` for each item, as a build would write it.

    >>> [record.artifact_id for record in tiny_records(CITIES)][:2]
    ['arden', 'belmor']
    """
    embed = embedder or ToyEmbedder()
    metadata = {key: {name: item[name] for name in item if name != "text"} for key, item in items.items()}
    vectors = embed([embedding_text(item["text"], metadata[key]) for key, item in items.items()])
    return [
        Record(
            id=Record.make_id(key, "document", 0),
            artifact_id=key,
            surface_kind="document",
            surface_index=0,
            text=items[key]["text"],
            vector=vector,
            metadata=metadata[key],
        )
        for key, vector in zip(items, vectors, strict=True)
    ]
