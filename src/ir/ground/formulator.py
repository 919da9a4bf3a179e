"""A query in the words of a vocabulary: what is asked, and the terms that are meant by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.ground.grounding import ground
from ir.ground.phrases import phrases_in
from ir.options import count
from ir.protocols import Formulator

if TYPE_CHECKING:
    from ir.ground.vocabulary import Vocabulary

__all__ = ["ground_formulator"]


def ground_formulator(vocabulary: Vocabulary, *, per_phrase: int = 1, keep_query: bool = True) -> Formulator:
    """A formulator for :func:`ir.search`: the query, and one that names the terms of the vocabulary that it means.

    A phrase whose best term scores no better than those of unrelated phrases adds nothing.

    >>> from ir.ground import Term, Vocabulary
    >>> vocabulary = Vocabulary.of([Term("machine-learning", aliases=("ml",)), "cooking"], embedders=())
    >>> ground_formulator(vocabulary)("ml for birds")
    ['ml for birds', 'machine learning']
    """
    per_phrase = count("per_phrase", per_phrase)

    def formulate(query: str) -> list[str]:
        found = ground(phrases_in(query, vocabulary), vocabulary, k=per_phrase, floor=vocabulary.floor)
        names = dict.fromkeys(_spelt(vocabulary, one.term) for grounding in found for one in grounding.terms)
        rewritten = " ".join(names)
        queries = [query] if keep_query or not rewritten else []
        if rewritten and vocabulary.folding(rewritten) != vocabulary.folding(query):
            queries.append(rewritten)
        return queries or [query]

    return formulate


def _spelt(vocabulary: Vocabulary, name: str) -> str:
    """A term as people write it."""
    term = vocabulary[name]
    return term.display or vocabulary.folding(name)
