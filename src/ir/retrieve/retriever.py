"""One corpus as a callable."""

from __future__ import annotations

from typing import Any

from ir.base import Hits
from ir.protocols import Corpus, CorpusOrName
from ir.retrieve.names import opened
from ir.retrieve.pipeline import search

__all__ = ["CorpusRetriever", "as_retriever"]


class CorpusRetriever:
    """``retrieve(query, **overrides) -> hits`` over one corpus, which it carries as ``corpus``."""

    def __init__(self, corpus: Corpus, **search_defaults: Any) -> None:
        self.corpus = corpus
        self.search_defaults = search_defaults

    def __call__(self, query: str, **overrides: Any) -> Hits:
        return search(self.corpus, query, **{**self.search_defaults, **overrides})

    def __repr__(self) -> str:
        return f"CorpusRetriever({self.corpus.name!r}, {self.search_defaults!r})"


def as_retriever(corpus_or_name: CorpusOrName, **search_defaults: Any) -> CorpusRetriever:
    """A corpus (or the name of one, opened once) with search keywords bound; a call may override them."""
    return CorpusRetriever(opened(corpus_or_name), **search_defaults)
