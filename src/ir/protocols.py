"""The seams: what a foreign part must offer to take a place in ``ir``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

from ir.base import Artifact, IndexPlan, Record, Row, SearchHit

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from ir.filters import Filter
    from ir.links import Direction, Edge, Neighbour, Node

    Vector = NDArray[np.float32]
    Refs = NDArray[np.int64]
    Scores = NDArray[np.float32]

__all__ = [
    "Corpora",
    "Corpus",
    "CorpusOrName",
    "EdgeExtractor",
    "Embedder",
    "Formulator",
    "IndexingStrategy",
    "NeighborhoodPolicy",
    "Omission",
    "Ranking",
    "Refused",
    "Reranker",
    "Retriever",
    "Snapshot",
    "Source",
    "Store",
    "StoreOrName",
    "Synthesizer",
    "TermStats",
    "Unread",
    "Where",
    "WithBodies",
    "WithBodyFile",
    "WithCompletion",
    "WithDrop",
    "WithKind",
    "WithLanguage",
    "WithLockTimeout",
    "WithNotes",
    "WithParts",
    "WithPassedOver",
    "WithPath",
    "WithRoot",
    "WithScope",
    "WithSizes",
    "WithSkipped",
    "WithStat",
    "WithStore",
    "WithTexts",
    "WithWhyEmpty",
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
    """Takes one artifact apart. It may carry ``version``, a string that is part of its id.

    ``ranking``, if it has one, names how searches rank what it makes: one of :data:`ir.options.RANKINGS`; and
    ``graph`` how they follow the links that it makes: one of :data:`ir.options.GRAPHS`.
    """

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan: ...


class Embedder(Protocol):
    """Texts to rows of a float32 matrix. ``input_type`` is ``"document"`` or ``"query"``."""

    id: str

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]: ...


@runtime_checkable
class WithScope(Protocol):
    """What holds items by id."""

    @property
    def scope(self) -> Mapping[str, Any]:
        """A length is asked of it, but it need not have one."""


class Source(WithScope, Protocol):
    """What a corpus is built from. What else a source or its scope may know, it says by the protocols below."""

    @property
    def name(self) -> str: ...

    @property
    def indexing_strategy(self) -> IndexingStrategy: ...

    @property
    def change_signal(self) -> Callable[[str, Any], str]:
        """``(id, raw) -> text``: another text means that the item changed."""

    @property
    def embedder(self) -> Any:
        """What :func:`ir.embed.make_embedder` takes; used where a build is given no other."""


@runtime_checkable
class WithKind(Protocol):
    """A source that says of which kind it is; a corpus remembers it."""

    @property
    def kind(self) -> str | None: ...


@runtime_checkable
class WithNotes(Protocol):
    """A strategy that has something to say of all that it took apart since it was last asked."""

    def notes(self) -> Sequence[str]: ...


@runtime_checkable
class WithCompletion(Protocol):
    """A strategy that has something to draw once all items are in the store, in the transaction of the build."""

    def complete(self, store: Store, /) -> bool:
        """Whether anything changed."""


@runtime_checkable
class WithLanguage(Protocol):
    """A source that says in which language its texts are."""

    @property
    def language(self) -> str | None: ...


@runtime_checkable
class WithRoot(Protocol):
    """A source, or a scope, that is a folder or a file, which can be watched."""

    @property
    def root(self) -> str | Path | None: ...


@runtime_checkable
class WithStat(Protocol):
    """A scope with a cheap test for changes."""

    def stat_signal(self, key: str, /) -> str | None:
        """The same text for the same content; ``None`` if that cannot be told without reading it."""


@runtime_checkable
class WithRevision(Protocol):
    """A scope that knows which state of a repository it shows; a corpus remembers it."""

    def revision(self) -> Mapping[str, Any] | None:
        """``commit``, ``branch`` (both may be ``None``) and whether files were ``dirty``; ``None`` outside of one."""


@runtime_checkable
class WithSizes(Protocol):
    """A scope that knows how large an item is without reading it."""

    def size_of(self, key: str, /) -> int | None:
        """In bytes or characters, about; ``None`` if that is not known."""


class Omission(Protocol):
    """Something that a scope left out, and why."""

    @property
    def id(self) -> str: ...

    @property
    def reason(self) -> str: ...


@runtime_checkable
class Unread(Protocol):
    """An omission that may be there but could not be looked at: an index keeps what it holds ``below`` it."""

    @property
    def below(self) -> str | None: ...


@runtime_checkable
class Refused(Protocol):
    """An omission that may have been turned away once it was read: an index then drops what it holds of it."""

    @property
    def refused(self) -> bool: ...


@runtime_checkable
class WithSkipped(Protocol):
    """A scope that says what it left out when it was last gone through."""

    def skipped(self) -> Iterable[Omission]: ...


@runtime_checkable
class WithWhyEmpty(Protocol):
    """A scope that knows why there is nothing in it."""

    def why_empty(self) -> str | None: ...


@runtime_checkable
class WithRemarks(Protocol):
    """A scope that says what is to be known of items that it read: ``(id, remark)``."""

    def remarks(self) -> Iterable[tuple[str, str]]: ...


@runtime_checkable
class WithTurnedAway(Protocol):
    """A scope that can tell, without reading all of an item, that it will not take it."""

    def turned_away(self, key: str, /) -> bool: ...


@runtime_checkable
class WithPassedOver(Protocol):
    """A scope that counts what its rules left out without a look."""

    @property
    def passed_over(self) -> int: ...


@runtime_checkable
class WithBodies(Protocol):
    """A scope of items that are parts of something which nobody could read again; an index keeps it."""

    def body_of(self, key: str, /) -> str | None: ...


@runtime_checkable
class WithBodyFile(Protocol):
    """A scope whose items can be read again: from ``file``, by the key ``id_key``."""

    @property
    def bodies(self) -> Mapping[str, str | None] | None: ...


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
    def content_version(self) -> str:
        """The same for the same content, whatever was written in between; see :mod:`ir.content`."""

    @property
    def dim(self) -> int | None:
        """The size of the vectors of the default space, ``None`` while there are none."""

    @property
    def default_space(self) -> str: ...

    def spaces(self) -> Mapping[str, int | None]:
        """The named spaces of vectors with their dimensions; that of a space without vectors is ``None``."""

    def unembedded(self, space: str | None = None) -> int:
        """How many records have no vector in a space; ``None`` means the default one, here and below."""

    def __len__(self) -> int: ...

    def config(self) -> Mapping[str, Any]:
        """The corpus's settings in this version; not to be changed."""

    def kinds(self) -> frozenset[str]:
        """The surface kinds that some record has."""

    def dense(self, vector: Vector, limit: int, where: Where, space: str | None = None) -> Ranking:
        """The nearest records by cosine; ``vector`` has length one. Records without a vector are never among them."""

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        """The best records by BM25 (k1 1.2, b 0.75, with the k1+1 factor) for weighted, analysed query terms."""

    def dense_scores(self, vector: Vector, refs: Refs, space: str | None = None) -> Scores:
        """The cosine of each given record; 0 for one without a vector."""

    def vectors(self, refs: Refs, space: str | None = None) -> list[Vector | None]:
        """The vector of each given record, of length one; ``None`` for one without."""

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        """The BM25 score of each given record; 0 where no term matches."""

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        """For each ref a number that is the same for records of one artifact, and its surface kind."""

    def rows(self, refs: Refs) -> list[Row]:
        """The records themselves, in the order of ``refs``."""

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        """The ref of each of the records that are in this version."""

    def term_stats(self, terms: Sequence[str]) -> TermStats: ...

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        """Those of the nodes that are in this version: as declared, else as an artifact of the ledger or a record."""

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        """For each of the nodes the other ends of its edges, at most ``limit`` in each direction.

        Edges out of a node come in the order in which they were given, edges into it by type, then by the id of the
        node they come from. With ``"both"``, those out of it come first.
        """

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        """How many edges each of the nodes has."""


class Store(Protocol):
    """Where one corpus is kept. ``transaction`` makes many writes one; a write outside it commits by itself."""

    @property
    def version(self) -> str: ...
    @property
    def content_version(self) -> str: ...

    def exists(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def transaction(self) -> AbstractContextManager[None]: ...
    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def put_record(self, record: Record, *, space: str | None = ...) -> None: ...
    def put_records(self, records: Sequence[Record], *, space: str | None = ...) -> None: ...
    def get_record(self, record_id: str) -> Record: ...
    def delete_record(self, record_id: str) -> None: ...
    def delete_records(self, record_ids: Sequence[str]) -> None: ...
    def record_ids(self) -> list[str]: ...
    def get_records(self, record_ids: Sequence[str]) -> list[Record]: ...
    def iter_records(self, batch: int = ...) -> Iterator[list[Record]]: ...
    def __len__(self) -> int: ...

    @property
    def default_space(self) -> str: ...
    def spaces(self) -> dict[str, int | None]: ...
    def add_space(self, name: str) -> None: ...
    def drop_space(self, name: str) -> None: ...
    def set_default_space(self, name: str) -> None: ...
    def put_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None: ...
    def put_vectors_of(self, space: str, vectors: Mapping[str, Vector], texts: Mapping[str, str]) -> int: ...
    def get_vectors(self, record_ids: Sequence[str], *, space: str | None = ...) -> dict[str, Vector]: ...
    def unembedded(self, *, space: str | None = ..., limit: int | None = ...) -> list[str]: ...

    def put_nodes(self, nodes: Iterable[Node]) -> None: ...
    def get_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]: ...
    def delete_nodes(self, node_ids: Sequence[str]) -> None: ...
    def iter_nodes(self, batch: int = ...) -> Iterator[list[Node]]: ...
    def set_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None: ...
    def get_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]: ...
    def iter_edges(self, batch: int = ...) -> Iterator[list[tuple[str, list[Edge]]]]: ...
    def get_links(self, artifact_id: str) -> dict[str, list[Any]]: ...
    def set_links(self, artifact_id: str, edges: Mapping[str, Any]) -> None: ...
    def delete_links(self, artifact_id: str) -> None: ...
    def link_items(self) -> Iterator[tuple[str, dict[str, list[Any]]]]: ...

    def get_ledger_entry(self, key: str) -> dict[str, Any] | None: ...
    def set_ledger_entry(self, key: str, entry: Mapping[str, Any]) -> None: ...
    def set_ledger_entries(self, entries: Mapping[str, Mapping[str, Any]]) -> None: ...
    def delete_ledger_entry(self, key: str) -> None: ...
    def ledger_items(self) -> Iterator[tuple[str, dict[str, Any]]]: ...
    def ledger_fields(self, *names: str) -> list[tuple[Any, ...]]: ...
    def get_symbols(self, key: str) -> Any: ...
    def set_symbols(self, key: str, symbols: Any) -> None: ...
    def iter_entries(self, view: Literal["ledger", "symbols"], batch: int = ...) -> Iterator[list[tuple[str, Any]]]: ...

    def get_config(self) -> dict[str, Any]: ...
    def set_config(self, settings: Mapping[str, Any]) -> None: ...
    def get_calibration(self, mode: str) -> dict[str, Any] | None: ...
    def set_calibration(self, mode: str, record: Mapping[str, Any]) -> None: ...
    def delete_calibration(self, mode: str) -> None: ...
    def calibration_modes(self) -> list[str]: ...

    def matrix(self) -> tuple[list[str], NDArray[np.float32], list[dict[str, Any]]]: ...


@runtime_checkable
class WithLockTimeout(Protocol):
    """A store that waits for another writer, for so many seconds."""

    lock_timeout: float


@runtime_checkable
class WithDrop(Protocol):
    """A store that can remove the corpus with all that belongs to it."""

    def drop(self) -> None: ...


@runtime_checkable
class WithParts(Protocol):
    """A store on a server that tells what of the server's its corpus takes up, and what its whole workspace does."""

    def own_parts(self) -> list[str]: ...
    def workspace_parts(self) -> list[str]: ...
    def drop_parts(self, parts: Sequence[str]) -> None: ...


@runtime_checkable
class WithTexts(Protocol):
    """A store that reads texts without their vectors: artifact, text, and what gives the metadata if it is asked."""

    def iter_texts(self, batch: int = ...) -> Iterator[list[tuple[str, str, Callable[[], Mapping[str, Any]]]]]: ...


@runtime_checkable
class WithCreation(Protocol):
    """A store that a write makes, if it is not there; if ``creates`` is false, that is an error."""

    creates: bool


@runtime_checkable
class WithPath(Protocol):
    """A store that is a folder."""

    @property
    def path(self) -> PathLike[str]: ...


@runtime_checkable
class WithStore(Protocol):
    """What is kept in a store: a corpus, whatever else it can do."""

    @property
    def store(self) -> Store: ...


@runtime_checkable
class Corpus(WithStore, Protocol):
    """A store together with the embedder that its vectors were made by. :class:`ir.index.Corpus` is one."""

    @property
    def name(self) -> str: ...

    @property
    def embedder(self) -> Embedder: ...

    @property
    def embedder_id(self) -> str: ...


#: What :func:`ir.index.as_corpus` makes a corpus of: one that is open, a name, a path or a server's address.
CorpusOrName: TypeAlias = "Corpus | str | PathLike[str]"
#: Several of them. (A list of corpora is no list of corpora or names to a type checker, so what is in it is left open.)
Corpora: TypeAlias = "list[Any] | tuple[CorpusOrName, ...]"
#: What :func:`ir.index.as_store` makes a store of.
StoreOrName: TypeAlias = "Store | Corpus | str | PathLike[str]"
