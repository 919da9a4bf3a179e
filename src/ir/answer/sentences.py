"""The sentences of a text, and the words in them that say something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["content_words", "rarity", "sentences"]

#: A sentence ends at its sign, before a space and something that may begin one; an abbreviation of a letter or two
#: does not end it, and a citation behind the sign belongs to it.
_END = re.compile(
    r"(?<![\s.(]\w\.)(?<!\b(?:[A-Z][a-z]|vs|al|no|cf)\.)(?<=[.!?。！？])[\"'”’)]*\s+(?!\[\d)(?=[\"'“‘(\[]*[^\Wa-z_])"
    r"|(?<=\d\])\s+(?=[\"'“‘(]*[^\Wa-z_])"
)
_LIST = re.compile(r"\n\s*(?:[-*•]|\d{1,3}[.)])\s+")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_IDLE = frozenset(
    """
    a about after all also an and any are as at be because been before but by can could did do does for from had has
    have he her his how i if in into is it its may me more most my no not of on one only or other our out she should
    so some such than that the their them then there these they this those to under up was we were what when where
    which while who whom why will with would you your
    """.split()  # noqa: SIM905
)
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ers", "er", "ed", "es", "s", "ly", "e")


def sentences(text: str) -> list[str]:
    """The sentences and list items of a text, headings left out.

    >>> sentences("# Tea\\n\\nSteep it at 80 °C, e.g. for 2 min. Never boil it!\\n- Green tea\\n- Black tea")
    ['Steep it at 80 °C, e.g. for 2 min.', 'Never boil it!', 'Green tea', 'Black tea']
    """
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.split("\n") if not re.match(r"\s*(#{1,6}\s|```|~~~|[|=-]{3,}\s*$)", line)]
        for part in _LIST.split("\n" + "\n".join(lines)):
            found += [" ".join(one.split()) for one in _END.split(part)]
    return [one for one in found if re.search(r"\w", one)]


def content_words(text: str) -> list[str]:
    """The words of a text that say something, without their endings.

    >>> content_words("How is green tea steeped?"), content_words("Steeping teas")
    (['green', 'tea', 'steep'], ['steep', 'tea'])
    """
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _IDLE]


def rarity(texts: Iterable[str]) -> dict[str, float]:
    """How much a word tells: less, the more of the texts have it."""
    many = [set(content_words(text)) for text in texts]
    counts = Counter(word for words in many for word in words)
    return {word: 1.0 / (1.0 + count) for word, count in counts.items()}


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word
