"""The headings of a plain text, which nothing marks: numbers that count on, lines in capitals, underlines."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ir.strategy.markdown import Heading, outline_of

__all__ = ["headings_of", "is_plain", "without_running_lines"]

#: Formats whose headings are looked for here.
_PLAIN = frozenset({"txt", "text", "rst", "adoc", "asciidoc"})
_LONGEST = 80
#: Fewer lines than this that look like headings are none.
_FEWEST = 3
#: A line repeats at the edge of pages if it does so this often.
_FEWEST_RUNNING = 4
_NUMBERED = re.compile(
    r"\s*(?:(?P<kind>chapter|part|section|appendix|rule|article)\s+)?(?P<number>\d{1,3}(?:\.\d{1,3})*)[.:)]?\s+(?P<title>\S.*)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\s*(?:chapter|part|section|appendix|rule|article)\s+(?:\d+|[IVXLC]+|[A-Z])\b[.:]?.*", re.IGNORECASE
)
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.])\1{2,}\s*$")
_EQUALS = re.compile(r"(={1,6})\s+(\S.*)")
#: The line of a table of contents ends in the number of a page.
_CONTENTS = re.compile(r"(?:[.·…]\s?){3,}\s*\w*$|\s{3,}[\divxlc]+$", re.IGNORECASE)


class _Line(NamedTuple):
    start: int
    text: str


class _Found(NamedTuple):
    start: int
    level: int
    title: str


def is_plain(format: str) -> bool:
    return format in _PLAIN


def headings_of(text: str) -> list[Heading]:
    """The headings of a text in order, found in the way that finds most.

    >>> text = "1. Play\\n\\nx\\n\\n1.1 Turns\\n\\ny\\n\\n1. one\\n2. two\\n\\n2. End\\n\\nz\\n"
    >>> [(one.title, one.trail) for one in headings_of(text)]
    [('1. Play', ('1. Play',)), ('1.1 Turns', ('1. Play', '1.1 Turns')), ('2. End', ('2. End',))]
    """
    lines = list(_lines(text))
    alone = [number for number in range(len(lines)) if _stands_alone(lines, number)]
    marked = outline_of(text).headings
    ways = [
        _by_number(lines, alone),
        _by_underline(lines),
        _by_equals(lines),
        _named(lines, alone),
        _capitals(lines, alone),
    ]
    best = next((way for way in ways if len(way) >= _FEWEST), [])
    return _with_trails(best) if len(best) > len(marked) else marked


def without_running_lines(text: str) -> str:
    """The text with blanks for the heads and feet of its pages, so that every place in it stays where it is."""
    lines = list(_lines(text))
    seen: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        if line.text.strip() and _is_between_blanks(lines, number):
            seen[" ".join(re.sub(r"\d+", "#", line.text).split())].append(number)
    heads = [places for said, places in seen.items() if "#" in said and _counts_pages(lines, places)]
    if not heads:
        return text
    pages = max(len(places) for places in heads)
    feet = [places for places in seen.values() if len(places) >= max(_FEWEST_RUNNING, pages // 2)]
    blanked = {number for places in (*heads, *feet) for number in places}
    return "\n".join(" " * len(line.text) if number in blanked else line.text for number, line in enumerate(lines))


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        yield _Line(start, line)
        start += len(line) + 1


def _is_blank(lines: Sequence[_Line], number: int) -> bool:
    return not 0 <= number < len(lines) or not lines[number].text.strip()


def _is_between_blanks(lines: Sequence[_Line], number: int) -> bool:
    return _is_blank(lines, number - 1) and _is_blank(lines, number + 1)


def _stands_alone(lines: Sequence[_Line], number: int) -> bool:
    """Whether a line may be a heading: short, between blank lines, no sentence, and no line of contents."""
    text = lines[number].text.strip()
    return (
        0 < len(text) < _LONGEST
        and _is_between_blanks(lines, number)
        and not text.endswith((",", ";", "."))
        and _CONTENTS.search(text) is None
    )


def _by_number(lines: Sequence[_Line], alone: Sequence[int]) -> list[_Found]:
    """The longest run of numbers that count on as those of sections do: 1, 1.1, 1.2, 2. Lists begin anew each time."""
    chains: dict[tuple[int, ...], tuple[int, int]] = {}  # by a number or what it begins with: how long, the last
    exact: dict[tuple[int, ...], tuple[int, int]] = {}
    before: dict[int, int | None] = {}
    numbers: dict[int, tuple[int, ...]] = {}
    for place in alone:
        match = _NUMBERED.fullmatch(lines[place].text.rstrip())
        if match is None or not re.search(r"[^\W\d_]{2}", match["title"]):
            continue
        number = tuple(int(part) for part in match["number"].split("."))
        *above, last = number
        parent = exact.get(tuple(above)) if last <= 1 and above else None
        sibling = chains.get((*above, last - 1)) if last > 0 else None
        follows = max((one for one in (parent, sibling) if one is not None), default=None)
        if follows is None and (len(number) > 1 or last > 1):
            continue
        length = (follows[0] if follows else 0) + 1
        before[place], numbers[place] = follows[1] if follows else None, number
        if length >= exact.get(number, (0, 0))[0]:
            exact[number] = (length, place)
        for depth in range(1, len(number) + 1):
            if length >= chains.get(number[:depth], (0, 0))[0]:
                chains[number[:depth]] = (length, place)
    chain: list[_Found] = []
    place_: int | None = max(exact.values(), default=(0, None))[1]
    while place_ is not None:
        chain.append(_found(lines, place_, len(numbers[place_])))
        place_ = before[place_]
    return chain[::-1]


def _by_underline(lines: Sequence[_Line]) -> list[_Found]:
    """Titles above a line of one sign; signs are levels in the order in which they come."""
    levels: dict[str, int] = {}
    found = []
    for number in range(len(lines) - 1):
        title, below = lines[number].text.rstrip(), lines[number + 1].text.strip()
        match = _UNDERLINE.fullmatch(below)
        if match is None or not title.strip() or not re.search(r"\w", title):
            continue
        over = number > 0 and lines[number - 1].text.strip() == below
        if len(below) >= len(title.strip()) and (over or _is_blank(lines, number - 1)):
            level = levels.setdefault(f"{match[1]}{over}", min(len(levels) + 1, 6))
            found.append(_found(lines, number, level))
    return found


def _by_equals(lines: Sequence[_Line]) -> list[_Found]:
    matches = ((line, _EQUALS.fullmatch(line.text.rstrip())) for line in lines)
    return [_Found(line.start, len(match[1]), match[2]) for line, match in matches if match is not None]


def _named(lines: Sequence[_Line], alone: Sequence[int]) -> list[_Found]:
    """ "Chapter IV: The Sea", "Rule 12"."""
    places = [place for place in alone if _NAMED.fullmatch(lines[place].text)]
    kinds = list(dict.fromkeys(lines[place].text.split()[0].casefold() for place in places))
    return [_found(lines, place, kinds.index(lines[place].text.split()[0].casefold()) + 1) for place in places]


def _capitals(lines: Sequence[_Line], alone: Sequence[int]) -> list[_Found]:
    places = [place for place in alone if lines[place].text.isupper() and len(re.findall(r"\w", lines[place].text)) > 3]
    often = Counter(lines[place].text.strip() for place in places)
    return [_found(lines, place, 1) for place in places if often[lines[place].text.strip()] < _FEWEST_RUNNING]


def _found(lines: Sequence[_Line], number: int, level: int) -> _Found:
    return _Found(lines[number].start, level, " ".join(lines[number].text.split()))


def _with_trails(found: Sequence[_Found]) -> list[Heading]:
    made: list[Heading] = []
    above: list[Heading] = []
    for start, level, title in found:
        while above and above[-1].level >= level:
            above.pop()
        made.append(Heading(start, level, title, (*(one.title for one in above), title)))
        above.append(made[-1])
    return made


def _counts_pages(lines: Sequence[_Line], places: Sequence[int]) -> bool:
    """Whether one of the numbers in these lines grows by one from each to the next, but for a page here and there."""
    if len(places) < _FEWEST_RUNNING:
        return False
    numbers = [[int(one) for one in re.findall(r"\d+", lines[place].text)] for place in places]
    for column in zip(*numbers, strict=True):
        steps = [after - number for number, after in pairwise(column)]
        if min(steps) > 0 and 2 * steps.count(1) > len(steps):
            return True
    return False
