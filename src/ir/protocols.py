"""The seams: what a foreign part must offer to take a place in ``ir``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from ir.base import Artifact, IndexPlan, Record, Row, SearchHit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ir.filters import Filter

    Vector = NDArray[np.float32]
    Refs = NDArray[np.int64]
    Scores = NDArray[np.float32]

__all__ = [
    "EdgeExtractor",
    "Embedder",
    "Formulator",
    "IndexingStrategy",
    "NeighborhoodPolicy",
    "Ranking",
    "Reranker",
    "Retriever",
    "Snapshot",
    "Store",
    "Synthesizer",
    "TermStats",
    "Where",
]

Retriever = Callable[..., "list[SearchHit]"]
Formulator = Callable[[str], "str | Sequence[str]"]
Synthesizer = Callable[[Artifact], str]
EdgeExtractor = Callable[[str, Mapping[str, Any]], "Mapping[str, list[Any]]"]
NeighborhoodPolicy = Callable[[SearchHit, Sequence[Record]], Sequence[Record]]
#: ``(query, segments) -> scores``; each segment is a mapping with at least ``"text"``.
Reranker = Callable[[str, Sequence[Mapping[str, Any]]], Sequence[float]]


@runtime_checkable
class IndexingStrategy(Protocol):
    """Takes one artifact apart. It may carry ``version``, a string that is part of its id."""

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan: ...


class Embedder(Protocol):
    """Texts to rows of a float32 matrix. ``input_type`` is ``"document"`` or ``"query"``."""

    id: str

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Where:
    """Which records a channel may return: a parsed metadata filter and the surface kinds, ``None`` for all."""

    filter: Filter | None = None
    kinds: frozenset[str] | None = None

    @property
    def everything(self) -> bool:
        return self.filter is None and self.kinds is None


class Ranking(NamedTuple):
    """What a channel found, best first. Fewer than the limit asked for means that there is no more."""

    refs: Refs
    scores: Scores


class TermStats(NamedTuple):
    """What BM25 needs to know about a corpus."""

    documents: int
    average_length: float
    frequencies: Mapping[str, int]


class Snapshot(Protocol):
    """One version of a corpus, the same for as long as it is held. A *ref* is a store's integer for a record.

    Where its words may be indexed as an older analyzer gave them, it carries ``analyzer_id``, the id of that one.
    """

    @property
    def version(self) -> str: ...

    @property
    def dim(self) -> int | None:
        """The size of the stored vectors, ``None`` while there are none."""

    def __len__(self) -> int: ...

    def config(self) -> Mapping[str, Any]:
        """The corpus's settings in this version; not to be changed."""

    def kinds(self) -> frozenset[str]:
        """The surface kinds that some record has."""

    def dense(self, vector: Vector, limit: int, where: Where) -> Ranking:
        """The nearest records by cosine; ``vector`` has length one."""

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        """The best records by BM25 (k1 1.2, b 0.75, with the k1+1 factor) for weighted, analysed query terms."""

    def dense_scores(self, vector: Vector, refs: Refs) -> Scores:
        """The cosine of each given record."""

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        """The BM25 score of each given record; 0 where no term matches."""

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        """For each ref a number that is the same for records of one artifact, and its surface kind."""

    def rows(self, refs: Refs) -> list[Row]:
        """The records themselves, in the order of ``refs``."""

    def term_stats(self, terms: Sequence[str]) -> TermStats: ...


class Store(Protocol):
    """Where one corpus is kept. ``transaction`` makes many writes one; a write outside it commits by itself."""

    def transaction(self) -> AbstractContextManager[None]: ...
    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def put_record(self, record: Record) -> None: ...
    def put_records(self, records: Sequence[Record]) -> None: ...
    def get_record(self, record_id: str) -> Record: ...
    def delete_record(self, record_id: str) -> None: ...
    def delete_records(self, record_ids: Sequence[str]) -> None: ...
    def record_ids(self) -> list[str]: ...
    def get_records(self, record_ids: Sequence[str]) -> list[Record]: ...
    def iter_records(self, batch: int = ...) -> Iterator[list[Record]]: ...
    def __len__(self) -> int: ...

    def get_ledger_entry(self, key: str) -> dict[str, Any] | None: ...
    def set_ledger_entry(self, key: str, entry: Mapping[str, Any]) -> None: ...
    def set_ledger_entries(self, entries: Mapping[str, Mapping[str, Any]]) -> None: ...
    def delete_ledger_entry(self, key: str) -> None: ...
    def ledger_items(self) -> Iterator[tuple[str, dict[str, Any]]]: ...

    def get_links(self, artifact_id: str) -> dict[str, list[Any]]: ...
    def set_links(self, artifact_id: str, edges: Mapping[str, Any]) -> None: ...
    def delete_links(self, artifact_id: str) -> None: ...
    def link_items(self) -> Iterator[tuple[str, dict[str, list[Any]]]]: ...
    def iter_entries(self, view: Literal["ledger", "links"], batch: int = ...) -> Iterator[list[tuple[str, Any]]]: ...

    def get_config(self) -> dict[str, Any]: ...
    def set_config(self, settings: Mapping[str, Any]) -> None: ...
    def get_calibration(self, mode: str) -> dict[str, Any] | None: ...
    def set_calibration(self, mode: str, record: Mapping[str, Any]) -> None: ...
    def delete_calibration(self, mode: str) -> None: ...
    def calibration_modes(self) -> list[str]: ...

    def matrix(self) -> tuple[list[str], NDArray[np.float32], list[dict[str, Any]]]: ...
