"""The plain values that every part of ``ir`` passes along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypedDict, overload

from ir.secrets.texts import for_show
from ir.surrogates import storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ir.links import Edge, Node, Symbols

    Vector = NDArray[np.float32]

__all__ = [
    "CELL_STARTS",
    "PAGE_LABELS",
    "PAGE_STARTS",
    "POINTER_KEYS",
    "SECTION_STARTS",
    "Artifact",
    "Hits",
    "IndexPlan",
    "Meta",
    "Record",
    "Row",
    "SearchHit",
    "StageReport",
    "Surface",
    "best_per_artifact",
    "embedding_text",
    "heading_of",
    "ledger_key",
    "storable",
    "storage_key",
    "tag_source",
    "text_size",
]

#: Metadata keys that may hold the address of an artifact's full payload, in order of preference.
POINTER_KEYS = ("skill_path", "path")

#: Where in a chunk, in characters, the pages begin that follow its ``page``.
PAGE_STARTS = "page_starts"
#: What is printed as the number of its page, and of those that follow, where it is not the number.
PAGE_LABELS = "page_labels"
#: The same for the cells that follow its ``cell``, and for the ``sections`` that follow its ``section``.
CELL_STARTS = "cell_starts"
SECTION_STARTS = "section_starts"

FilterFields = Mapping[str, Any]


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
    """What a strategy makes of one item: fields to filter on, surfaces to rank, and what it is linked to.

    A surface may belong to another artifact than the item: a file becomes as many artifacts as its surfaces name.
    ``nodes`` are declared and ``edges`` drawn as they are; ``symbols`` are names that the build resolves across items.
    ``remark`` is what a build's report should say of the item, such as that it could not be parsed.
    """

    filter_fields: dict[str, Any] = field(default_factory=dict)
    surfaces: list[Surface] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    symbols: Symbols | None = None
    remark: str | None = None


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
    that saw the hit, its ``rank`` and raw ``score``; ``explanation`` is filled by ``explain=True``. ``ordinal`` says
    that the score tells where the hit stands, not how good it is, as the sums of reciprocal ranks do.
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
    ordinal: bool = False

    @classmethod
    def of_row(
        cls,
        row: Row,
        score: float,
        source: str | None,
        channels: Mapping[str, Mapping[str, Any]],
        explanation: Mapping[str, Any] | None = None,
        *,
        ordinal: bool = False,
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
            ordinal=ordinal,
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
        """The hit in JSON's types only, with stars for the keys in its texts."""
        out: dict[str, Any] = {
            "artifact_id": self.artifact_id,
            "surface_kind": self.surface_kind,
            "score": float(self.score),
            "text": for_show(self.text),
            "metadata": for_show(json_clean(self.metadata)),
            "source": self.source,
            "surface_index": None if self.surface_index is None else int(self.surface_index),
            "pointer": self.pointer,
        }
        if self.channels:
            out["channels"] = json_clean(self.channels)
        if self.explanation is not None:
            out["explanation"] = for_show(json_clean(self.explanation))
        return out


class StageReport(TypedDict):
    """What one stage of a search did: whether it ``ran``, ``why`` or why not, in how many ``ms``.

    ``degraded`` says that it was asked for and had to be done without.
    """

    name: str
    ran: bool
    why: str | None
    ms: float
    degraded: bool


class Meta(TypedDict, total=False):
    """How a list of hits came about, in JSON's types only.

    ``version`` counts writes, ``content_version`` is the same for the same content. ``space`` is the space of vectors
    that the query was compared in, and ``answered_by`` says whether words were looked up, by which model the vectors
    were made, and how far a better one is that takes over (see :func:`ir.retrieve.spaces.answered_by`). ``degraded``
    names what had to be done without, ``notes`` say why. ``stages`` has a report of each stage in the order in which
    they ran, ``timings`` (ms) the whole.
    """

    version: str
    content_version: str
    mode: str
    fusion: str | None
    space: str | None
    answered_by: dict[str, Any]
    channels: list[str]
    degraded: list[str]
    notes: list[str]
    stages: list[StageReport]
    timings: dict[str, float]
    #: The queries that were asked, where ``formulate`` made others of the one given.
    queries: list[str]
    #: Whether the index has any word of the query; missing where nobody looked for them.
    words_found: bool
    #: Whether the scores are a reranker's, and its report.
    reranked: bool
    rerank: dict[str, Any]
    #: Which part of the corpus was searched: the chapters, or what the names in the query touch, and whether the whole
    #: was searched instead because that part had little to say.
    routing: dict[str, Any]
    #: The other names that were read with the query.
    aliases: list[str]
    #: Of a folder in a repository: the commit that was indexed, and how it stands to HEAD.
    git: dict[str, Any]
    #: Of a federated ranking: whether magnitudes of different sources may be compared.
    comparable_sources: bool


class Hits(list[SearchHit]):
    """A list of hits that also knows how it came about; ``meta`` is a plain dictionary, see :class:`Meta`."""

    def __init__(self, hits: Iterable[SearchHit] = (), meta: Meta | Mapping[str, Any] | None = None) -> None:
        super().__init__(hits)
        self.meta: Meta = Meta(**meta) if meta else {}  # type: ignore[typeddict-item]

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


def lead_of(metadata: Mapping[str, Any]) -> str:
    """What a text is indexed with beside itself: the ``lead`` that its strategy gave it, else its headings."""
    lead = metadata.get("lead")
    return lead if isinstance(lead, str) and lead else heading_of(metadata)


def embedding_text(text: str, metadata: Mapping[str, Any]) -> str:
    """The text that an embedder sees for a surface: what leads to it, unless it opens with that, and itself."""
    heading = storable(lead_of(metadata))
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


#: What an item counts of which nobody knows how much text it is.
_USUAL_SIZE = 1000


def text_size(raw: Any) -> int:
    """About how much text an item is.

    >>> text_size("four"), text_size({"title": "a", "text": "four", "year": 1990})
    (4, 5)
    """
    if isinstance(raw, (str, bytes)):
        return len(raw)
    if isinstance(raw, Mapping):
        return sum(len(value) for value in raw.values() if isinstance(value, (str, bytes)))
    return _USUAL_SIZE
