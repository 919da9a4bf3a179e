"""The measures of books, each from plain rankings: what was found for a question, best first."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ir.eval.books.gold import Resolved
from ir.eval.books.passages import Passage

__all__ = ["Ranked", "all_found", "answer_similarity", "contamination", "first_rank", "hits_and_mrr", "section_hits"]


@dataclass(frozen=True)
class Ranked:
    """What a search found for a question. ``scores`` are those of the hits, ``similar`` how near each is to the answer
    in words, if that is known; ``routed`` says whether gold was in the chapters that were chosen, and ``fell_back``
    whether everything was searched after all."""

    resolved: Resolved
    found: tuple[Passage, ...]
    scores: tuple[float, ...] = ()
    similar: tuple[float, ...] | None = None
    routed: bool = True
    fell_back: bool = False


def first_rank(found: Sequence[Hashable], gold: Collection[Hashable]) -> int:
    """The place of the first that is gold, from 1; 0 if there is none.

    >>> first_rank(["a", "b"], {"b"}), first_rank(["a"], {"b"})
    (2, 0)
    """
    return next((rank for rank, one in enumerate(found, start=1) if one in gold), 0)


def hits_and_mrr(ranks: Sequence[int], ks: Sequence[int], *, name: str = "hit") -> dict[str, float]:
    """The share of questions with gold among the first k, and the mean of 1 / rank; empty without a question.

    >>> hits_and_mrr([1, 4, 0, 2], [1, 3, 5])
    {'hit@1': 0.25, 'hit@3': 0.5, 'hit@5': 0.75, 'mrr': 0.4375}
    """
    if not ranks:
        return {}
    measured = {f"{name}@{k}": sum(0 < rank <= k for rank in ranks) / len(ranks) for k in ks}
    return {**measured, "mrr": sum(1 / rank for rank in ranks if rank) / len(ranks)}


def gold_ranks(ranked: Sequence[Ranked], more: Mapping[str, Sequence[Passage]] | None = None) -> list[int]:
    """The rank of the first gold passage of each question; ``more`` passages may count by the question's key."""
    ranks = []
    for one in ranked:
        gold = {passage.at for passage in one.resolved.passages}
        if more is not None:
            gold |= {passage.at for passage in more[key_of(one.resolved)]}
        ranks.append(first_rank([passage.at for passage in one.found], gold))
    return ranks


def key_of(resolved: Resolved) -> str:
    """What tells a question from all others: ids are unique within a book."""
    return f"{resolved.question.book or ''}\n{resolved.question.id}"


def section_hits(ranked: Sequence[Ranked], ks: Sequence[int]) -> dict[str, float]:
    """The same where any passage of the right section counts: whoever opens the page sees the answer beside it."""
    ranks = []
    for one in ranked:
        places = {passage.place for passage in one.resolved.passages if passage.section}
        gold = {passage.at for passage in one.resolved.passages}
        right = [passage.at in gold or passage.place in places for passage in one.found]
        ranks.append(first_rank(right, {True}))
    measured = hits_and_mrr(ranks, ks, name="section_hit")
    return {("section_mrr" if name == "mrr" else name): value for name, value in measured.items()}


def all_found(ranked: Sequence[Ranked], ks: Sequence[int]) -> dict[str, float]:
    """The share of the questions with several gold, all in the corpus, that have all of it among the first k."""
    several = [one for one in ranked if len(one.resolved.each) > 1 and not one.resolved.missing]
    if not several:
        return {}
    last = []
    for one in several:
        found = [passage.at for passage in one.found]
        ranks = [first_rank(found, {passage.at for passage in each}) for each in one.resolved.each]
        last.append(max(ranks) if all(ranks) else 0)
    return {f"all@{k}": sum(0 < rank <= k for rank in last) / len(last) for k in ks}


def contamination(ranked: Sequence[Ranked], ks: Sequence[int]) -> dict[str, float]:
    """How much comes from other books than the one that a question is about: ``share@k`` of the first k, averaged, and
    ``any@k``, the share of questions with any. Questions whose book is not known are left out."""
    asked = [one for one in ranked if one.resolved.book is not None and one.found]
    if not asked:
        return {}
    out: dict[str, float] = {}
    for k in ks:
        strange = [[passage.book != one.resolved.book for passage in one.found[:k]] for one in asked]
        out[f"share@{k}"] = sum(sum(flags) / len(flags) for flags in strange) / len(asked)
        out[f"any@{k}"] = sum(any(flags) for flags in strange) / len(asked)
    return out


def answer_similarity(ranked: Sequence[Ranked], ks: Sequence[int]) -> dict[str, float]:
    """How near the nearest of the first k comes to the answer, averaged over the questions for which that is known."""
    known = [one.similar for one in ranked if one.similar is not None]
    if not known:
        return {}
    return {f"similarity@{k}": sum(max(similar[:k], default=0.0) for similar in known) / len(known) for k in ks}
