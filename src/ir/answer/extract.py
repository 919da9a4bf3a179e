"""An answer without a language model: the sentences of the passages that say most of what is asked."""

from __future__ import annotations

from collections.abc import Sequence

from ir.answer.passages import Passage
from ir.answer.sentences import content_words, rarity, sentences

__all__ = ["extracted"]

_MOST_SENTENCES = 3
_LONGEST = 400
#: A further sentence must say at least this share of what the best one says.
_NEAR = 0.6
#: How much less each passage counts than the one before it.
_RANK = 0.9


def extracted(question: str, passages: Sequence[Passage]) -> str:
    """The best sentences, each with the number of its passage; nothing if there is no sentence.

    >>> extracted("How hot?", [Passage(1, "t", "Tea comes from China. Steep it hot, at 80 degrees.")])
    'Steep it hot, at 80 degrees. [1]'
    """
    asked = set(content_words(question))
    weights = rarity(passage.text for passage in passages)
    scored: list[tuple[float, int, int, str, int]] = []
    for rank, passage in enumerate(passages):
        # What the section is called, the sentences below it need not say again.
        about = set(content_words(f"{passage.section} {passage.label}")) & asked
        for place, sentence in enumerate(sentences(passage.text)):
            said = set(content_words(sentence)) & asked
            worth = sum(weights.get(word, 1.0) for word in said) + 0.5 * sum(
                weights.get(word, 0.5) for word in about - said
            )
            scored.append((-worth * _RANK**rank, rank, place, sentence, passage.number))
    if not scored:
        return ""
    scored.sort()
    best = scored[0][0]
    chosen = [one for one in scored[:_MOST_SENTENCES] if one[0] <= best * _NEAR] or scored[:1]
    if best == 0:  # nothing in common in words: the first of what was found by meaning
        chosen = scored[:1]
    chosen.sort(key=lambda one: one[1:3])
    return " ".join(f"{_short(sentence)} [{number}]" for _, _, _, sentence, number in chosen)


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST else f"{sentence[:_LONGEST].rsplit(' ', 1)[0]} …"
