"""Words and pieces of words, as a table of vectors knows them.

An identifier falls apart into its words (``parseHTTPHeader_v2`` is parse, http, header, v, 2), an accent falls away,
and a word that the table does not know is spelt with the longest pieces that it does know, from the left.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Mapping

__all__ = ["PREFIX", "ROW", "Speller", "words_of"]

#: Marks a piece that continues a word.
PREFIX = "##"
#: How the number of a row is written: an int of C.
ROW = "i"
#: Where an identifier goes from one word to the next: parse|HTTP|Header.
#: iPhone, PhD and GPUs are one word each.
_HUMP = re.compile(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_CASED = re.compile(r"[a-z]{2}[A-Z]|[A-Z]{2}[a-z]{2}")
_WORD = re.compile(r"[a-z]+|[0-9]+")
#: What is spelt with more pieces is a number, a hash or a word of another language: it has no meaning here.
_MOST_PIECES = 5
_MOST_LETTERS = 40
_MOST_HELD = 100_000


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, identifiers split; only Latin letters and digits make words.

    >>> words_of("Café: call getUserName(user_id)")
    ['cafe', 'call', 'get', 'user', 'name', 'user', 'id']
    """
    if not text.isascii():
        text = _plain(text)
    if _CASED.search(text):
        text = _HUMP.sub(" ", text)
    return _WORD.findall(text.lower())


def _plain(text: str) -> str:
    """Without accents; a letter of another script parts words and is in none."""
    text = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return "".join(sign for sign in text if not unicodedata.combining(sign))


class Speller(dict[str, bytes]):
    """The rows of each word in a table, by its pieces; what was spelt once is kept.

    They are bytes of :data:`ROW`, so that those of a text are joined at once.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_HELD:
            self.clear()
        found = self[word] = array(ROW, self.rows(word)).tobytes()
        return found

    def rows(self, word: str) -> tuple[int, ...]:
        """The rows of the pieces that a word is spelt with; none if it has no meaning here."""
        if word in self._rows:
            return (self._rows[word],)
        if len(word) > _MOST_LETTERS:
            return ()
        spelt: list[int] = []
        start, end = 0, len(word)
        while start < len(word):
            row = self._rows.get(word[start:end] if start == 0 else f"{PREFIX}{word[start:end]}")
            if row is None:
                end -= 1
                if end == start:
                    return ()
                continue
            spelt.append(row)
            start, end = end, len(word)
        return tuple(spelt) if len(spelt) <= _MOST_PIECES else ()
