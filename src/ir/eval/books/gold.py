"""Which passages answer a question: by id, else by what is quoted from where; and which are linked to those."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ir.eval.books.passages import Passage, Passages, words
from ir.eval.books.questions import BookQuestion, Gold

if TYPE_CHECKING:
    from ir.links import Neighbour

__all__ = ["HOW", "Resolved", "expanded", "longest_run", "pinned", "quotes_gold", "resolve"]

#: How gold was found: the chunk of that id; all chunks of an artifact; where its quote stands in the section or on the
#: page that it names; elsewhere in the book; all of the section or page, as nothing is quoted; not at all.
HOW = ("id", "artifact", "span", "moved", "place", "missing")
#: Of a quote that the cut of a chunk goes through, a passage must have so many words in a row, and this share.
_LEAST_WORDS = 5
_LEAST_SHARE = 0.4
#: So many words are quoted of a passage to find it again.
_QUOTED = 30
#: A question of fewer words than this cannot quote.
_SHORT = 4


@dataclass(frozen=True)
class Resolved:
    """A question with the passages that answer it; ``how`` says it for each of its gold, and ``each`` has the passages
    of each that was found."""

    question: BookQuestion
    passages: tuple[Passage, ...]
    how: tuple[str, ...]
    #: The book that it is about: the one it says, else that of its gold.
    book: str | None
    each: tuple[tuple[Passage, ...], ...] = ()

    @property
    def evaluable(self) -> bool:
        return bool(self.passages)

    @property
    def missing(self) -> tuple[Gold, ...]:
        return tuple(gold for gold, how in zip(self.question.gold, self.how, strict=True) if how == "missing")


def resolve(question: BookQuestion, passages: Passages) -> Resolved:
    """Find what answers a question."""
    book = passages.book(question.book)
    found: dict[int, Passage] = {}
    how, each = [], []
    for gold in question.gold:
        told, several = _find(gold, book, passages)
        how.append(told)
        found |= {one.at: one for one in several}
        each += [tuple(several)] if several else []
    ordered = tuple(found[at] for at in sorted(found))
    books = {one.book for one in ordered}
    about = book or (next(iter(books)) if len(books) == 1 else None)
    return Resolved(question, ordered, tuple(how), about, tuple(each))


def _find(gold: Gold, book: str | None, passages: Passages) -> tuple[str, list[Passage]]:
    named = passages.book(gold.book) or book
    if gold.id is not None:
        for how, known in (("id", passages.by_id), ("artifact", passages.by_artifact)):
            several = known.get(gold.id, [])
            own = [one for one in several if one.book == named]
            if several:
                kept = own or several
                return ("id" if len(kept) == 1 else how), kept  # an item that is one chunk is that chunk
    if gold.book is not None and passages.book(gold.book) is None:
        return "missing", []  # a place in a book that is not here
    whole = passages.books[named] if named is not None else passages.all
    near = [one for one in whole if _there(gold, one)] if gold.section or gold.page else []
    if gold.quote is None:
        return ("place", near) if near else ("missing", [])
    spoken = words(gold.quote)
    if inside := _saying(spoken, near):
        return "span", inside
    if elsewhere := _saying(spoken, whole):
        return ("moved" if gold.section or gold.page else "span"), elsewhere
    return "missing", []


def _there(gold: Gold, passage: Passage) -> bool:
    return (not gold.section or passage.under(gold.section)) and (not gold.page or passage.on_page(gold.page))


def _saying(spoken: Sequence[str], among: Sequence[Passage]) -> list[Passage]:
    """The passages that say it all; else those that have much of it, as a chunk may end in the middle of a quote."""
    if not spoken:
        return []
    whole = f" {' '.join(spoken)} "
    found = [one for one in among if whole in one.plain]
    if found:
        return found
    least = max(_LEAST_WORDS, math.ceil(_LEAST_SHARE * len(spoken)))
    return [one for one in among if longest_run(spoken, one.plain) >= least]


def longest_run(spoken: Sequence[str], text: str) -> int:
    """How many of the words stand in a row in a text, as :func:`plain` gives it.

    >>> longest_run(["the", "range", "is", "long"], " its range is short ")
    2
    """
    best, start = 0, 0
    while start + best < len(spoken):
        end = start + best + 1
        while end <= len(spoken) and f" {' '.join(spoken[start:end])} " in text:
            best = end - start
            end += 1
        start += 1
    return best


def quotes_gold(resolved: Resolved, least: int) -> bool:
    """Whether a question says ``least`` words in a row as one of the passages does that answer it, or is all of it
    there: finding such a passage takes no search worth measuring."""
    asked = words(resolved.question.text)
    if len(asked) < _SHORT:
        return False
    return any(longest_run(asked, one.plain) >= min(least, len(asked)) for one in resolved.passages)


# -- what is linked to gold --------------------------------------------------------------------------------------------

#: Links through which a section stands for what it says; what merely contains a passage says nothing of it.
_MEANT = ("refers_to", "mentions", "describes", "similar_to")
#: Their order, where not all can be taken.
_FIRST = {name: at for at, name in enumerate((*_MEANT, "next"))}

Neighbours = Callable[[str, Sequence[str]], Mapping[str, "Sequence[Neighbour]"]]


def expanded(resolved: Resolved, passages: Passages, neighbours: Neighbours, *, most: int) -> tuple[Passage, ...]:
    """The passages one link away from gold, at most so many: references first, then what is next to it.

    A link to a section leads to its first passage.
    """
    gold = {one.at for one in resolved.passages}
    found: dict[int, tuple[int, Passage]] = {}
    for one in resolved.passages:
        nodes = list(dict.fromkeys((one.id, one.record)))
        if passages.by_artifact[one.artifact][0] is one:
            nodes.append(one.artifact)  # what refers to a section means where it begins
        for node, links in neighbours(one.corpus, nodes).items():
            for link in links:
                if link.place == "here":
                    end = _end(link, one, passages, of_section=node == one.artifact != one.id)
                    if end is not None and end.at not in gold:
                        rank = _FIRST.get(link.type, len(_FIRST))
                        found[end.at] = min(found.get(end.at, (rank, end)), (rank, end), key=lambda held: held[0])
    ordered = sorted(found.values(), key=lambda held: (held[0], held[1].at))
    return tuple(passage for _, passage in ordered[:most])


def _end(link: Neighbour, of: Passage, passages: Passages, *, of_section: bool) -> Passage | None:
    if of_section and link.type not in _MEANT:
        return None
    several = [one for one in passages.by_id.get(link.id, []) if one.corpus == of.corpus]
    if several:
        return several[0]
    record = passages.of_record(of.corpus, link.id)
    if record is not None:
        return record
    parts = [one for one in passages.by_artifact.get(link.id, []) if one.corpus == of.corpus]
    return parts[0] if parts and link.type in _MEANT else None


# -- writing gold down -------------------------------------------------------------------------------------------------


def pinned(resolved: Resolved) -> BookQuestion:
    """The question with gold that is an id and a place, as far as it was found; the rest stays as it is."""
    gold = [*(_pin(one) for one in resolved.passages), *resolved.missing]
    return replace(resolved.question, gold=tuple(dict.fromkeys(gold)), book=resolved.book or resolved.question.book)


def _pin(passage: Passage) -> Gold:
    page = passage.label or passage.page
    return Gold(passage.id, passage.book, passage.section, page, _quote(passage.text))


def _quote(text: str) -> str:
    """The beginning of the longest paragraph: headings and tables are not what a passage says."""
    paragraphs = [part for part in text.split("\n\n") if part.strip() and not part.lstrip().startswith(("#", "|"))]
    longest = max(paragraphs or [text], key=len)
    return " ".join(longest.split()[:_QUOTED])
