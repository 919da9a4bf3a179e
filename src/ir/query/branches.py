"""The corpus as it is on a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.errors import InvalidInput
from ir.protocols import Corpus, Source

__all__ = ["MAIN", "Indexed", "on_branch"]


class Indexed(str):
    """A default for whatever branch is indexed: the same word, and yet not one that a caller wrote."""


#: What the branch is called that nobody named.
MAIN = Indexed("main")


def on_branch(
    corpus: Corpus, branch: str, *, source: Callable[[], Source] | None = None, most: int | None = None
) -> Any:
    """What to ask instead of the corpus, for it to answer as of a branch; an error names the branches there are.

    ``source`` gives what the corpus was built from; a branch that differs in more than ``most`` files is an error.
    """
    if isinstance(branch, Indexed):
        return corpus
    from ir.index.branches import branch_corpus, indexed_branch

    if indexed_branch(corpus) is not None:
        return branch_corpus(corpus, branch, source=source() if source else None, most=most)
    if branch == MAIN:
        return corpus
    raise InvalidInput(
        f"The corpus {corpus.name!r} is not of a git repository, so it knows no branch {branch!r}; use {str(MAIN)!r}."
    )
