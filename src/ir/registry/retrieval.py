"""The corpora of the registry, each ready to be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ir.registry.entries import entered
from ir.retrieve.retriever import CorpusRetriever, as_retriever

__all__ = ["retriever_for", "retrievers"]


def retriever_for(name: str, **search_defaults: Any) -> CorpusRetriever:
    """A retriever over the built corpus ``name``; the keywords hold for every call."""
    return as_retriever(name, **search_defaults)


def retrievers(**search_defaults: Any) -> Mapping[str, CorpusRetriever]:
    """The corpora with an entry as retrievers, by name. A corpus is opened when its key is asked for.

    A preset is among them from its first build on: before, nothing could be asked of it.
    """
    return _Retrievers(search_defaults)


class _Retrievers(Mapping[str, CorpusRetriever]):
    def __init__(self, search_defaults: Mapping[str, Any]) -> None:
        self._search_defaults = dict(search_defaults)

    def __getitem__(self, name: str) -> CorpusRetriever:
        if name not in entered():
            raise KeyError(name)
        return retriever_for(name, **self._search_defaults)

    def __contains__(self, name: object) -> bool:
        return name in entered()

    def __iter__(self) -> Iterator[str]:
        return iter(entered())

    def __len__(self) -> int:
        return len(entered())
