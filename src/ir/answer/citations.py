"""Whether an answer cites what it was given; and which passage a sentence without a citation most likely came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ir.answer.passages import Passage
from ir.answer.sentences import content_words, rarity, sentences

__all__ = ["NO_CITATION", "UNKNOWN_CITATION", "Checked", "checked"]

#: What may be wrong with an answer.
NO_CITATION = "no_citation"
UNKNOWN_CITATION = "unknown_citation"

_CITED = re.compile(r"\[(\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*)\]")
#: A sentence is taken to come from a passage that has at least this share of what it says.
_LEAST = 0.4


@dataclass(frozen=True)
class Checked:
    """``cited`` are the passages that the answer names, ``unknown`` the numbers that are no passage's.

    ``attached`` are (sentence, number) where a rule found the passage and not the answer's author; ``answer`` has
    those marked.
    """

    answer: str
    cited: tuple[int, ...]
    unknown: tuple[int, ...]
    attached: tuple[tuple[str, int], ...]
    flags: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        attached = [{"sentence": sentence, "passage": number} for sentence, number in self.attached]
        return {
            "cited_answer": self.answer,
            "cited": list(self.cited),
            "unknown": list(self.unknown),
            "attached": attached,
            "flags": list(self.flags),
        }


def checked(answer: str, passages: Sequence[Passage]) -> Checked:
    """Look at the citations of an answer, and attach some by rule where it has none that lead anywhere.

    >>> found = checked("Tea is steeped at 80 degrees.", [Passage(1, "t", "Steep green tea at 80 degrees.")])
    >>> found.flags, found.answer
    (('no_citation',), 'Tea is steeped at 80 degrees. [1, attached]')
    """
    known = {passage.number for passage in passages}
    named = numbers_in(answer)
    cited = tuple(dict.fromkeys(number for number in named if number in known))
    unknown = tuple(dict.fromkeys(number for number in named if number not in known))
    flags = [*([UNKNOWN_CITATION] if unknown else []), *([NO_CITATION] if answer.strip() and not named else [])]
    attached: list[tuple[str, int]] = []
    marked = answer
    if flags:
        marked, attached = _attached(answer, passages, known)
    return Checked(marked, cited, unknown, tuple(attached), tuple(flags))


def numbers_in(text: str) -> list[int]:
    """The numbers in square brackets, ranges written out.

    >>> numbers_in("One [2]. Two [3, 5-6]. [not] [1999]")
    [2, 3, 5, 6, 1999]
    """
    found: list[int] = []
    for group in _CITED.findall(text):
        for part in re.split(r"\s*[,;]\s*", group):
            first, *last = (int(number) for number in re.split(r"\s*[–-]\s*", part))
            until = last[0] if last and first <= last[0] <= first + 20 else first
            found += range(first, until + 1)
    return found


def _attached(answer: str, passages: Sequence[Passage], known: set[int]) -> tuple[str, list[tuple[str, int]]]:
    """The answer with a passage behind each sentence that cites none, and those pairs."""
    weights = rarity(passage.text for passage in passages)
    words = {passage.number: set(content_words(passage.text)) for passage in passages}
    attached: list[tuple[str, int]] = []
    marked, position = "", 0
    for sentence in sentences(answer):
        if any(number in known for number in numbers_in(sentence)):
            continue
        number = _source_of(_CITED.sub("", sentence), words, weights)
        if number is None:
            continue
        attached.append((sentence, number))
        # Sentences come with their white space folded, so each is looked for word by word.
        found = re.compile(r"\s+".join(map(re.escape, sentence.split()))).search(answer, position)
        if found is not None:
            marked += f"{answer[position : found.end()]} [{number}, attached]"
            position = found.end()
    return marked + answer[position:], attached


def _source_of(sentence: str, words: dict[int, set[str]], weights: dict[str, float]) -> int | None:
    said = set(content_words(sentence))
    whole = sum(weights.get(word, 1.0) for word in said)
    if not whole:
        return None
    shares = {number: sum(weights.get(word, 1.0) for word in said & held) / whole for number, held in words.items()}
    best = max(shares, key=lambda number: (shares[number], -number), default=None)
    return best if best is not None and shares[best] >= _LEAST else None
