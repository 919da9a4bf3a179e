"""What stands between spaces, and a memory of what each such word gives.

Every character of a corpus passes here, so a word that was met before costs one look into a dict and no Python call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

__all__ = ["Vocabulary", "words_of"]

#: Longer words hardly ever come twice.
LONGEST_REMEMBERED = 64
MOST_REMEMBERED = 500_000
#: So many numbers are kept for the latest texts.
_MOST_LATEST = 4_000_000
#: So many texts are looked into together, for others may be waiting.
_AT_ONCE = 256
#: Signs that no ASCII run holds, to spaces: with fewer of them around words, fewer different words are met.
_SIGNS = b',;:!?"`()[]{}<>*|/\\=~^&%$@'
_SPACED = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))


def words_of(text: str) -> list[str]:
    """What stands between spaces, and between signs that are part of no word."""
    if text.isascii():
        text = text.encode("ascii").translate(_SPACED).replace(b". ", b" ").decode("ascii")
    return text.split()


class Vocabulary(dict[str, list[int]]):
    """The words met so far, each with the numbers of its terms; ``terms`` has those by number.

    ``find`` gives the terms of words, many at a time.
    """

    def __init__(self, find: Callable[[Sequence[str]], Iterable[list[str]]]) -> None:
        super().__init__()
        self.terms: list[str] = []
        self._find = find
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._new: list[tuple[str, list[int]]] = []
        self._latest: dict[str, list[int]] = {}
        self._latest_size = 0

    @property
    def full(self) -> bool:
        """Whether more words were met than most languages have: time for a new one."""
        return len(self) > MOST_REMEMBERED

    def of_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the terms of each text, in their order. The lists are not the caller's to change."""
        out: list[list[int]] = []
        for start in range(0, len(texts), _AT_ONCE):
            out += self._of_some(texts[start : start + _AT_ONCE])
        return out

    def of_words(self, words: Iterable[str]) -> list[str]:
        """The terms of all those words, one after the other."""
        (found,) = self._found([words])
        return [self.terms[number] for number in found]

    def _of_some(self, texts: Sequence[str]) -> list[list[int]]:
        # A build asks twice, to embed and to index: the numbers of the latest texts are kept.
        held = list(map(self._latest.get, texts))
        new = [text for text, numbers in zip(texts, held, strict=True) if numbers is None]
        if not new:
            return held  # type: ignore[return-value]
        found = self._found(map(words_of, new))
        self._remember(new, found)
        if len(new) == len(texts):
            return found
        rest = iter(found)
        return [next(rest) if numbers is None else numbers for numbers in held]

    def _remember(self, texts: Sequence[str], found: Sequence[list[int]]) -> None:
        self._latest_size += sum(map(len, found))
        if self._latest_size > _MOST_LATEST:
            self._latest, self._latest_size = {}, sum(map(len, found))
        if self._latest_size <= _MOST_LATEST:
            self._latest.update(zip(texts, found, strict=True))

    def _found(self, texts: Iterable[Iterable[str]]) -> list[list[int]]:
        """The numbers of the terms of texts that are given as words."""
        # A new word gets an empty list, which is filled when all were seen; nobody may look meanwhile.
        with self._lock:
            try:
                given = [list(map(self.__getitem__, words)) for words in texts]
                self._fill()
            except BaseException:
                for word, _ in self._new:
                    self.pop(word, None)
                self._new = []
                raise
        return [list(chain.from_iterable(lists)) for lists in given]

    def __missing__(self, word: str) -> list[int]:
        given: list[int] = []
        if len(word) <= LONGEST_REMEMBERED:
            self[word] = given
        self._new.append((word, given))
        return given

    def _fill(self) -> None:
        if not self._new:
            return
        known, names = self._numbers, self.terms
        found = self._find([word for word, _ in self._new])
        for (_, given), terms in zip(self._new, found, strict=True):
            for term in terms:
                number = known.get(term)
                if number is None:
                    number = known[term] = len(names)
                    names.append(term)
                given.append(number)
        self._new = []
