"""The plain values that every part of ``ir`` passes along."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = [
    "PAGE_STARTS",
    "POINTER_KEYS",
    "Artifact",
    "Hits",
    "IndexPlan",
    "Record",
    "Row",
    "SearchHit",
    "Surface",
    "best_per_artifact",
    "embedding_text",
    "heading_of",
    "ledger_key",
    "storable",
    "storage_key",
    "tag_source",
]

#: Metadata keys that may hold the address of an artifact's full payload, in order of preference.
POINTER_KEYS = ("skill_path", "path")

#: Where in a chunk, in characters, the pages begin that follow its ``page``.
PAGE_STARTS = "page_starts"

FilterFields = Mapping[str, Any]
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` with U+FFFD for halves of surrogate pairs, which no encoding can store; the length stays the same.

    >>> storable("cut emoji \\ud83d") == "cut emoji \\ufffd"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()  # quicker than any search for what is hardly ever there
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def storage_key(*parts: str) -> str:
    """A short stable id, safe as a file name, for any sequence of strings.

    >>> storage_key("a", "b") == storage_key("a", "b") != storage_key("ab")
    True
    """
    import hashlib  # loads a library that a search does not need

    encoded = [storable(part).encode() for part in parts]
    told = b"".join([len(part).to_bytes(8, "little") + part for part in encoded])
    return hashlib.blake2b(told, digest_size=12).hexdigest()


def ledger_key(artifact_id: str) -> str:
    """The key under which an artifact's ledger entry is kept."""
    return storage_key(artifact_id)


@dataclass
class Artifact:
    """One item of a corpus, before a strategy takes it apart."""

    id: str
    raw: Any
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface:
    """One piece of an artifact that is embedded and ranked by itself.

    ``kind`` lets a query name the part that should match (``"description"``, ``"chunk"``, ``"synopsis"``);
    ``granularity`` is a coarse hint; ``metadata`` belongs to the surface alone (its offsets, its section).
    """

    artifact_id: str
    kind: str
    text: str
    granularity: str = "document"
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class IndexPlan:
    """What a strategy makes of one artifact: fields to filter on, surfaces to rank."""

    filter_fields: dict[str, Any] = field(default_factory=dict)
    surfaces: list[Surface] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Record:
    """A stored, embedded surface: one row of the index.

    ``surface_index`` counts over all surfaces of the artifact, whatever their kind, so it differs from
    ``metadata["chunk_index"]`` where a strategy makes several kinds. Reach siblings through
    :func:`ir.records_for_artifact`, never by computing an id.
    """

    id: str
    artifact_id: str
    surface_kind: str
    surface_index: int
    text: str
    vector: Vector
    metadata: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def make_id(artifact_id: str, surface_kind: str, surface_index: int) -> str:
        """The id of a surface; the same in every build."""
        return storage_key(artifact_id, surface_kind, str(surface_index))


class Row(NamedTuple):
    """A record as search reads it: everything but its vector."""

    id: str
    artifact_id: str
    surface_kind: str
    surface_index: int
    text: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class SearchHit:
    """A ranked record; a higher score is a better match.

    ``source`` names the corpus: an artifact id is unique only within one. ``channels`` holds, for each channel
    that saw the hit, its ``rank`` and raw ``score``; ``explanation`` is filled by ``explain=True``.
    """

    artifact_id: str
    surface_kind: str
    score: float
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    surface_index: int | None = None
    channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    explanation: Mapping[str, Any] | None = None

    @classmethod
    def of_row(
        cls,
        row: Row,
        score: float,
        source: str | None,
        channels: Mapping[str, Mapping[str, Any]],
        explanation: Mapping[str, Any] | None = None,
    ) -> SearchHit:
        """A stored row as a hit."""
        hit = object.__new__(cls)
        # A frozen value's own way in sets each field by a call; ten hits are made in every search.
        hit.__dict__.update(
            artifact_id=row.artifact_id,
            surface_kind=row.surface_kind,
            score=score,
            text=row.text,
            metadata=row.metadata,
            source=source,
            surface_index=row.surface_index,
            channels=channels,
            explanation=explanation,
        )
        return hit

    @property
    def pointer(self) -> str | None:
        """Where the artifact's full payload can be read, if the metadata says so."""
        for key in POINTER_KEYS:
            value = self.metadata.get(key)
            if value:
                return str(value)
        return None

    def to_dict(self) -> dict[str, Any]:
        """The hit in JSON's types only."""
        out: dict[str, Any] = {
            "artifact_id": self.artifact_id,
            "surface_kind": self.surface_kind,
            "score": float(self.score),
            "text": self.text,
            "metadata": json_clean(self.metadata),
            "source": self.source,
            "surface_index": None if self.surface_index is None else int(self.surface_index),
            "pointer": self.pointer,
        }
        if self.channels:
            out["channels"] = json_clean(self.channels)
        if self.explanation is not None:
            out["explanation"] = json_clean(self.explanation)
        return out


class Hits(list[SearchHit]):
    """A list of hits that also knows how it came about.

    ``meta`` holds ``version``, ``mode``, ``fusion``, ``channels``, ``degraded``, ``notes`` and ``timings`` (ms).
    """

    def __init__(self, hits: Iterable[SearchHit] = (), meta: Mapping[str, Any] | None = None) -> None:
        super().__init__(hits)
        self.meta: dict[str, Any] = dict(meta or {})

    @overload
    def __getitem__(self, index: SupportsIndex) -> SearchHit: ...

    @overload
    def __getitem__(self, index: slice) -> Hits: ...

    def __getitem__(self, index: SupportsIndex | slice) -> SearchHit | Hits:
        found = super().__getitem__(index)
        return Hits(found, self.meta) if isinstance(found, list) else found


def json_clean(value: Any) -> Any:
    """``value`` in JSON's types: numpy scalars and arrays, tuples, sets and paths are converted, texts made storable.

    Dates and times are written as in ISO 8601.

    >>> json_clean({"a": (1, 2), 3: {"x"}})
    {'a': [1, 2], '3': ['x']}
    """
    kind = type(value)
    if kind is str:
        return value if value.isascii() else storable(value)
    if kind is int or kind is bool or value is None:
        return value
    if kind is dict and all(type(key) is str and key.isascii() for key in value):
        return {key: json_clean(item) for key, item in value.items()}
    if kind is list:
        return value[:] if {int, bool}.issuperset(map(type, value)) else [json_clean(item) for item in value]
    if isinstance(value, (str, int)):
        return storable(str(value)) if isinstance(value, str) else int(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {storable(str(key)): json_clean(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((json_clean(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [json_clean(item) for item in value]
    if hasattr(value, "tolist"):
        return json_clean(value.tolist())
    if hasattr(value, "to_dict"):
        return json_clean(value.to_dict())
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return storable(str(value))


def heading_of(metadata: Mapping[str, Any]) -> str:
    """What a text is about by its headings: the artifact's title, then the section's."""
    title = metadata.get("title")
    section = metadata.get("section")
    if title is None and section is None:
        return ""
    parts = [part for part in (title, section) if isinstance(part, str) and part.strip()]
    if len(parts) == 2 and parts[1].startswith(parts[0]):
        parts = parts[1:]
    return " > ".join(parts)


def embedding_text(text: str, metadata: Mapping[str, Any]) -> str:
    """The text that an embedder sees for a surface: its headings, unless it opens with them, and itself."""
    heading = storable(heading_of(metadata))
    return f"{heading}\n{text}" if heading and not text.startswith(heading) else text


def best_per_artifact(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The best-scoring surface of each ``(source, artifact_id)``, best first; earlier hits win ties.

    Scores of different sources are on different scales: merge those with :func:`ir.fuse_hits` instead.
    """
    best: dict[tuple[str | None, str], SearchHit] = {}
    for hit in hits:
        key = (hit.source, hit.artifact_id)
        held = best.get(key)
        if held is None or hit.score > held.score:
            best[key] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)


def tag_source(hits: Sequence[SearchHit], source: str | None) -> list[SearchHit]:
    """The hits, with ``source`` on each that carried none; a tag already there wins."""
    if source is None:
        return list(hits)
    return [hit if hit.source is not None else replace(hit, source=source) for hit in hits]
