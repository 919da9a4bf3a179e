"""The names of a book's entries, found wherever a text says them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ir.book.references import plain_name, unnumbered

__all__ = ["Mention", "Names"]

#: A name that stands for more than this many entries tells nothing, and one this short is a word like others.
_MOST_ENTRIES = 3
_SHORTEST = 4
#: Headings that every book has, and words that begin sentences.
_COMMON = frozenset(
    """
    about abstract actions appendix background bibliography chapter components conclusion contents description details
    duration example examples features figure glossary history index introduction level list notes options other
    overview part preface range reference references related results section summary table tables this type types
    usage using value values
    """.split()  # noqa: SIM905
)


class Mention(NamedTuple):
    """A name in a text: the entries that it may mean, where it stands, and how it is written."""

    entries: tuple[str, ...]
    start: int
    said: str


class Names:
    """Names by their words. The longest that fits is the one that is meant.

    >>> names = Names([("Fireball", "spells#fireball"), ("Delayed Blast Fireball", "spells#delayed")])
    >>> [(one.said, one.entries) for one in names.in_text("A delayed blast fireball is no fireball.")]
    [('delayed blast fireball', ('spells#delayed',)), ('fireball', ('spells#fireball',))]
    """

    def __init__(self, entries: Iterable[tuple[str, str]], base: Names | None = None) -> None:
        """``base`` has further names, which are not copied: those of thousands of other books, say."""
        self._base = base
        self._held: dict[tuple[str, ...], dict[str, None]] = {}
        for name, entry in entries:
            for form in dict.fromkeys((name, unnumbered(name))):  # nobody says "4.2 Grappled" for being grappled
                words = tuple(plain_name(form).split())
                if words and _tells(words):
                    self._held.setdefault(words, {})[entry] = None
        #: By their first two words: in a long book many names begin with the same one.
        self._by_start: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
        for words, own in self._held.items():
            found = own if base is None else {**own, **base._held.get(words, {})}
            for form in _starts(words):
                several = self._by_start.setdefault(form, [])
                if len(found) <= _MOST_ENTRIES:
                    several.append((words, tuple(found)))
        for form, several in self._by_start.items():
            if base is not None:
                several += [one for one in base._by_start.get(form, ()) if one[0] not in self._held]
            several.sort(key=lambda one: -len(one[0]))

    def _starting(self, words: str) -> Sequence[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The names that begin so, longest first."""
        found = self._by_start.get(words)
        if found is None:
            found = [] if self._base is None else self._base._by_start.get(words, [])
        return found

    def in_text(self, text: str) -> Iterator[Mention]:
        """Every name that the text says, from left to right, none inside another."""
        spans = list(_words(text))
        place = 0
        while place < len(spans):
            first = spans[place][0]
            second = f"{first} {spans[place + 1][0]}" if place + 1 < len(spans) else first
            longer, single = self._starting(second), self._starting(first)
            for words, entries in (*longer, *single) if longer or single else ():
                if _says(spans, place, words):
                    start, end = spans[place][1], spans[place + len(words) - 1][2]
                    yield Mention(entries, start, text[start:end])
                    place += len(words) - 1
                    break
            place += 1


def _starts(words: Sequence[str]) -> tuple[str, ...]:
    """How a text begins that says a name, also in the plural."""
    start = " ".join(words[:2])
    return (start, f"{start}s") if len(words) <= 2 else (start,)


def _tells(words: Sequence[str]) -> bool:
    if len(words) > 1:
        return True
    return len(words[0]) >= _SHORTEST and words[0] not in _COMMON and not words[0].isdigit()


def _says(spans: Sequence[tuple[str, int, int]], place: int, words: Sequence[str]) -> bool:
    """Whether the name stands there; its last word may be in the plural."""
    if place + len(words) > len(spans):
        return False
    last = len(words) - 1
    return all(
        spans[place + at][0] == word or (at == last and spans[place + at][0] == f"{word}s")
        for at, word in enumerate(words)
    )


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    import re

    for match in re.finditer(r"\w+(?:['’]\w+)*", text):
        yield match[0].replace("’", "'").casefold(), match.start(), match.end()
