"""What stands between spaces, and a memory of what each such word gives.

Every character of a corpus passes here, so a word that was met before costs one look into a dict and no Python call.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.analysis.counting import Column, stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Vocabulary", "line_of", "words_of"]

#: Words longer than this hardly ever occur twice.
LONGEST_REMEMBERED = 64
MOST_REMEMBERED = 500_000
#: How many terms are kept for words. In scripts without spaces a "word" is a sentence, which has hundreds of terms.
MOST_GIVEN = 8_000_000
#: How many numbers are kept for the latest texts: enough for a few batches.
_MOST_LATEST = 2_000_000
#: How many words of queries are kept in a form that is quick for short texts.
_MOST_ASKED = 60_000
#: A text longer than this is not a query.
_SHORT = 1000
#: "Most" means more than this share.
_MOST = 0.9
#: How many texts are analysed together; no more, because other threads may be waiting.
_AT_ONCE = 256
#: Signs that no run holds, to spaces: with fewer of them around words, fewer different words are met.
_SIGNS = b',;:!?"`()[]{}<>*|/\\=~^&%$@'
_SPACED = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))


def words_of(text: str) -> list[str]:
    """What stands between spaces, and between signs that are part of no word."""
    if text.isascii():
        return text.encode("ascii").translate(_SPACED).replace(b". ", b" ").decode("ascii").split()
    # In UTF-8 these signs are bytes that are part of no other character.
    bytes_ = text.encode("utf-8", "surrogatepass").translate(_SPACED).replace(b". ", b" ")
    return bytes_.decode("utf-8", "surrogatepass").split()


class _Given(NamedTuple):
    """The terms that a word of a query gives, and their numbers."""

    numbers: list[int]
    terms: list[str]


class _Asked(dict[str, _Given]):
    """What is known of words that were asked for one by one; ``givers`` has the words that give a term."""

    def __init__(self) -> None:
        super().__init__()
        self.givers: dict[str, set[str]] = {}


_NOBODY: frozenset[str] = frozenset()


class Vocabulary(dict[str, int]):
    """The words met so far, numbered, and which terms each of them gives; ``terms`` has those by number.

    ``find`` gives the terms of words, many at a time.
    """

    def __init__(self, find: Callable[[Sequence[str]], Sequence[Sequence[str]]]) -> None:
        super().__init__()
        self._find = find
        self._numbers = _Numbers()
        self._lock = threading.Lock()
        # The numbers of the terms of all words, one after the other, and where those of each word begin.
        self._given = Column(np.int64)
        self._starts = Column(np.int64, [0])
        self._known = 0
        self._new: list[str] = []
        self._asked = _Asked()
        self._latest: OrderedDict[str, Integers] = OrderedDict()
        self._latest_size = 0

    @property
    def terms(self) -> list[str]:
        return self._numbers.names

    @property
    def full(self) -> bool:
        """Whether it holds more words than most languages have, or longer ones: time to start a new one."""
        return self._known >= MOST_REMEMBERED or len(self._given) >= MOST_GIVEN

    def of_texts(self, texts: Sequence[str]) -> list[Integers]:
        """The numbers of the terms of each text, in their order. The arrays are not the caller's to change."""
        if len(texts) == 1 and len(texts[0]) <= _SHORT:
            return [np.array(self._of_few(words_of(texts[0])), np.int64)]
        out: list[Integers] = []
        for start in range(0, len(texts), _AT_ONCE):
            out += self._of_some(texts[start : start + _AT_ONCE])
        return out

    def has_at_hand(self, texts: Sequence[str]) -> bool:
        """Whether most of these are among the latest texts that it was asked for."""
        latest = self._latest
        return sum(text in latest for text in texts) > _MOST * len(texts)

    def of_words(self, words: Sequence[str]) -> list[str]:
        """The terms of all those words, one after the other."""
        asked = self._looked_up(words)
        return [term for word in words for term in asked[word].terms]

    def giving(self, wanted: frozenset[str], words: set[str]) -> set[str]:
        """Those of the words that give one of the wanted terms."""
        givers = self._looked_up(words).givers
        return {word for term in wanted for word in words & givers.get(term, _NOBODY)}

    def _of_few(self, words: Sequence[str]) -> list[int]:
        """The numbers of the terms of a few words, as in a query: arrays would take several times as long."""
        asked = self._looked_up(words)
        return [number for word in words for number in asked[word].numbers]

    def _looked_up(self, words: Collection[str]) -> _Asked:
        asked = self._asked
        new = [word for word in words if word not in asked]
        if new:
            if len(asked) + len(new) > _MOST_ASKED:
                asked = self._asked = _Asked()
                new = list(words)
            found = [numbers.tolist() for numbers in self._found([[word] for word in new])]
            given = [_Given(numbers, [self.terms[number] for number in numbers]) for numbers in found]
            asked.update(zip(new, given, strict=True))
            for word, one in zip(new, given, strict=True):
                for term in one.terms:
                    asked.givers.setdefault(term, set()).add(word)
        return asked

    def _of_some(self, texts: Sequence[str]) -> list[Integers]:
        # A build asks twice, once to embed and once to index, so the numbers of the latest texts are kept.
        held = list(map(self._latest.get, texts))
        new = [text for text, numbers in zip(texts, held, strict=True) if numbers is None]
        if not new:
            return held  # type: ignore[return-value]
        found = self._found([words_of(text) for text in new])
        self._remember(new, found)
        if len(new) == len(texts):
            return found
        rest = iter(found)
        return [next(rest) if numbers is None else numbers for numbers in held]

    def _remember(self, texts: Sequence[str], found: Sequence[Integers]) -> None:
        """Keep the numbers of these texts, and forget those of the oldest."""
        latest = self._latest
        with self._lock:
            for text, numbers in zip(texts, found, strict=True):
                if text not in latest:
                    latest[text] = numbers
                    self._latest_size += len(numbers)
            while self._latest_size > _MOST_LATEST:
                self._latest_size -= len(latest.popitem(last=False)[1])

    def _found(self, texts: Sequence[Sequence[str]]) -> list[Integers]:
        """The numbers of the terms of texts that are given as words."""
        # A new word gets its number at once, but its terms only after all words were seen; no one may look in between.
        with self._lock:
            try:
                words = list(map(self.__getitem__, chain.from_iterable(texts)))
                self._fill()
            except BaseException:
                for word in self._new:
                    self.pop(word, None)
                self._new = []
                raise
            places = np.array(words, np.int64)
            starts = self._starts.values[places]
            sizes = self._starts.values[places + 1] - starts
            flat = self._given.values[stretches(starts, sizes)]
        ends = np.concatenate([[0], np.cumsum(sizes)])[np.cumsum([0, *map(len, texts)])].tolist()
        return [flat[start:end] for start, end in pairwise(ends)]

    def __missing__(self, word: str) -> int:
        number = self._known + len(self._new)
        if len(word) <= LONGEST_REMEMBERED:
            self[word] = number
        self._new.append(word)
        return number

    def _fill(self) -> None:
        if not self._new:
            return
        found = self._find(self._new)
        numbers = _picked(self._numbers, list(chain.from_iterable(found)))
        self._given.append(np.array(numbers, np.int64))
        self._starts.append(self._starts.values[-1] + np.cumsum(list(map(len, found))))
        self._known += len(self._new)
        self._new = []


def line_of(terms: list[str], numbers: NDArray[np.integer[Any]]) -> str:
    """The terms with those numbers, with spaces between them."""
    return " ".join(_picked(terms, numbers.tolist()))


class _Numbers(dict[str, int]):
    """Numbers for names, given out on first sight; ``names`` has those by number."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self.names)
        self.names.append(name)
        return number


def _picked(held: Any, keys: Sequence[Any]) -> Sequence[Any]:
    """The value of each key; we know of no faster way to look up many."""
    if len(keys) > 1:
        return itemgetter(*keys)(held)  # type: ignore[no-any-return]
    return [held[key] for key in keys]
