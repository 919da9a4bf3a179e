"""Texts that nobody wrote: they show words in company that the packages do not give them, and ask questions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

_QUESTIONS = (
    "what is {}",
    "what are {}",
    "how does {} work",
    "how do I use {}",
    "how to find {}",
    "who discovered {}",
    "where is {}",
    "why does {} matter",
    "effects of {}",
    "is {} related to {}",
    "difference between {} and {}",
    "{} for {}",
    "I need {} and {}",
    "can {} cause {}",
    "show me {} about {}",
    "list all {} with {}",
    "which {} has {}",
    "tell me about {}",
    "the history of {}",
    "{} in {}",
)


def bags(words: Mapping[str, int], count: int, dice: random.Random) -> list[str]:
    """Two to seven words each; a rare word comes more often than in texts."""
    listed = sorted(words)
    weights = [words[word] ** 0.3 for word in listed]
    drawn = iter(dice.choices(listed, weights, k=8 * count))
    return [" ".join(next(drawn) for _ in range(dice.randint(2, 7))) for _ in range(count)]


def swapped(texts: Sequence[str], words: Mapping[str, int], count: int, dice: random.Random) -> list[str]:
    """Sentences in which one or two words are replaced."""
    listed = sorted(words)
    weights = [words[word] ** 0.3 for word in listed]
    drawn = iter(dice.choices(listed, weights, k=2 * count))
    made = []
    for text in dice.choices(texts, k=count):
        parts = text.split()[:16]
        for _ in range(dice.randint(1, 2)):
            parts[dice.randrange(len(parts))] = next(drawn)
        made.append(" ".join(parts))
    return made


def questions(terms: Sequence[str], count: int, dice: random.Random) -> list[str]:
    """What people ask about terms."""
    made = []
    for template in dice.choices(_QUESTIONS, k=count):
        made.append(template.format(*dice.choices(terms, k=2)))
    return made
