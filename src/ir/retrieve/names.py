"""From a corpus's name to the corpus."""

from __future__ import annotations

from ir.protocols import Corpus, CorpusOrName

__all__ = ["opened"]


def opened(corpus_or_name: CorpusOrName) -> Corpus:
    """A corpus as it is; the one of that name, path or address, opened."""
    from ir.index.opening import as_corpus

    return as_corpus(corpus_or_name)
