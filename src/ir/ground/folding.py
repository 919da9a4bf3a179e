"""When do two spellings mean the same? A vocabulary has a rule of its own."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ir.errors import InvalidInput

__all__ = ["Folding"]

#: What stands between words in the names of most vocabularies, beside white space.
_SEPARATORS = "_-/:.,;|()[]{}\"'"
#: A plus or a sharp at the end belongs to a name: C++ is not C, and C# neither.
_KEPT_AT_END = {"+": "plus", "#": "sharp"}


@dataclass(frozen=True)
class Folding:
    """``separator`` stands between the words of a name; ``case`` and ``accents`` say whether they make a difference.

    ``separators`` are the characters that count as a space when spellings are compared.

    >>> fold = Folding()
    >>> fold("Works-With::Café"), fold("works with cafe")
    ('works with cafe', 'works with cafe')
    >>> fold("C++"), fold("C")
    ('c plus plus', 'c')
    """

    separator: str = "-"
    case: bool = False
    accents: bool = False
    separators: str = _SEPARATORS

    def __post_init__(self) -> None:
        if not isinstance(self.separator, str) or len(self.separator) > 3 or self.separator.isalnum():
            raise InvalidInput(f"separator must be up to three characters between words, not {self.separator!r}.")

    def __call__(self, text: str) -> str:
        """The text as it is compared; folding twice changes nothing."""
        if not self.case:
            text = text.lower()
        if not text.isascii():
            text = self._plain(text)
        folded = text.translate(self._spaces)
        if "+" in folded or "#" in folded:
            folded = " ".join(part for word in folded.split() for part in _spelt_out(word))
        # A name of signs alone, such as ^_^, is compared as it stands.
        return " ".join(folded.split()) or " ".join(text.split())

    @cached_property
    def _spaces(self) -> dict[int, str]:
        return dict.fromkeys(map(ord, self.separators), " ")

    def _plain(self, text: str) -> str:
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair of surrogates is no character
        text = unicodedata.normalize("NFKC", text)
        if not self.case:
            text = unicodedata.normalize("NFKC", text.casefold())
        if self.accents:
            return text
        apart = unicodedata.normalize("NFD", text)
        return unicodedata.normalize("NFC", "".join(mark for mark in apart if unicodedata.category(mark) != "Mn"))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("separator", "case", "accents", "separators")}

    @classmethod
    def guess(cls, names: Iterable[str]) -> Folding:
        """The folding for names like these: the separator that stands between words in most of them.

        >>> Folding.guess(["big_shirt", "fox", "red_fox"]).separator
        '_'
        """
        counts = dict.fromkeys(("-", "_", " "), 0)
        for name in names:
            for separator in counts:
                counts[separator] += separator in name.strip()
        best = max(counts, key=lambda separator: counts[separator])
        return cls(best if counts[best] else "-")


def _spelt_out(word: str) -> list[str]:
    head = word.rstrip("+#")
    if not head:
        return [word]
    parts = [part for piece in head.split("+") if piece for part in ([piece] if piece == head else _spelt_out(piece))]
    return [*parts, *(_KEPT_AT_END[sign] for sign in word[len(head) :])]
