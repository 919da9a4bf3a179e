"""Lines as they stand on pages, made into text: in reading order, without running heads, with headings marked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Entry", "Line", "Page", "in_reading_order", "laid_out", "printed_labels"]

#: A running head stands among so many lines at the top or the bottom of a page, on at least so many pages.
_EDGE = 2
_FEWEST_HEADS = 3
#: Two pages with the same running head are at most so far apart: left and right pages differ.
_APART = 4
#: A heading is set larger than most text by this factor, and is not longer than this.
_LARGER = 1.08
#: What has more than this share of all characters is text, however large.
_HEADED = 0.05
_LONGEST_HEADING = 90
_DEEPEST = 6
#: The number of a heading has at most so many signs, and is written so once only letters and digits are left.
_NUMBER = 12
_BEFORE_TITLE = re.compile(r"(?:chapter|part|section|appendix|rule|article)(?:\d+|[ivxlc]+|[a-z])|[a-z]?\d+")
#: What many books print above the title of a chapter, in a line or two.
_OVER_TITLE = re.compile(r"(?:chapter|part|appendix)(?:\d+|[a-z]{1,12})?", re.IGNORECASE)
_WORDS = (
    *("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
#: A line of a table of contents: leaders, then a page; of a page of contents at least half are, and so many.
_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*[\divxlcIVXLC\-]{0,8}$")
_FEWEST_LEADERS = 4
#: The number of a page at the edge of a line of its own, or of one with a title.
_FIRST_NUMBER, _LAST_NUMBER = re.compile(r"^(\d{1,4})(?=\s|$)"), re.compile(r"(?:^|\s)(\d{1,4})$")
#: So often may a line stand far above the one before it: once for each further column, and once for a foot note.
_MOST_JUMPS = 3
_NUMBERED = re.compile(r"^(?:chapter|part|section|appendix|rule)?\s*(\d+(?:\.\d+)*)\.?\s+\S", re.IGNORECASE)


class Line(NamedTuple):
    """``left``, ``right`` and ``bottom`` are its place on the page in points; ``size`` is 0 where nobody asked."""

    text: str
    left: float
    right: float
    bottom: float
    size: float


class Page(NamedTuple):
    label: str
    width: float
    height: float
    lines: list[Line]


class Entry(NamedTuple):
    """A line of the outline: how deep it is, counted from 1, and the page it leads to, counted from 0."""

    level: int
    title: str
    page: int


def laid_out(pages: Sequence[Page], outline: Sequence[Entry]) -> list[str]:
    """The text of each page."""
    ordered = [page._replace(lines=_without_contents(in_reading_order(page))) for page in pages]
    heads = running_heads(ordered)
    headings = _by_outline(ordered, outline, heads) if outline else _by_size(ordered, heads)
    return [
        "\n".join(_shown(page.lines, heads[number], headings.get(number, {}))) for number, page in enumerate(ordered)
    ]


def _shown(lines: Sequence[Line], heads: set[int], headings: dict[int, list[str]]) -> list[str]:
    """The lines of a page; a heading stands alone and takes the place of the lines that say it."""
    shown = [f"{heading}\n" for heading in headings.get(-1, ())]
    for place, line in enumerate(lines):
        if place in headings:
            shown += [f"\n{heading}\n" for heading in headings[place]]
        elif place not in heads:
            # As Markdown has it, a line that begins with the sign of a heading and is none is indented.
            shown.append(f"    {line.text}" if line.text.startswith("#") else line.text)
    return shown


def in_reading_order(page: Page) -> list[Line]:
    """The lines as they are read: those of the file, unless it jumps about on the page."""
    lines = page.lines
    jumps = sum(after.bottom - line.bottom > page.height / 2 for line, after in pairwise(lines))
    if jumps < _MOST_JUMPS and not _woven(page):
        return lines
    bands: list[list[Line]] = [[]]
    wide = 0.6 * page.width
    for line in sorted(lines, key=lambda one: -one.bottom):
        if line.right - line.left > wide:  # it goes across all columns, so nothing below it comes before it
            bands += [[line], []]
        else:
            bands[-1].append(line)
    return [line for band in bands for line in _columns(band, page.width)]


def _woven(page: Page) -> bool:
    """Whether lines of two columns follow each other in turn: the same height, far to the right, and long."""
    lines = page.lines
    half = page.width / 2
    longs = [line for line in lines if len(line.text) > 25]
    turns = sum(
        abs(line.bottom - after.bottom) < 2 and line.right < half < after.left for line, after in pairwise(longs)
    )
    return turns >= 4 and turns > 0.3 * len(longs)


def _columns(lines: Sequence[Line], width: float) -> list[Line]:
    """Lines column by column, from the left; a column is what begins at about the same place."""
    columns: list[tuple[float, list[Line]]] = []
    for line in sorted(lines, key=lambda one: one.left):
        if columns and line.left - columns[-1][0] < 0.15 * width:
            columns[-1][1].append(line)
        else:
            columns.append((line.left, [line]))
    return [line for _, column in columns for line in sorted(column, key=lambda one: -one.bottom)]


def running_heads(pages: Sequence[Page]) -> list[set[int]]:
    """The places of lines that repeat, digits aside, at the top or the bottom of pages that are near each other."""
    seen: dict[tuple[bool, str], list[tuple[int, int]]] = defaultdict(list)
    for number, page in enumerate(pages):
        count = len(page.lines)
        places = dict.fromkeys([*range(min(_EDGE, count)), *range(max(0, count - _EDGE), count)])
        for place in places:
            seen[place < count / 2, _worn(page.lines[place].text)].append((number, place))
    found: list[set[int]] = [set() for _ in pages]
    for where in seen.values():
        if len({number for number, _ in where}) < _FEWEST_HEADS:
            continue
        for at, (number, place) in enumerate(where):
            near = [other for other, _ in where[max(0, at - 1) : at + 2] if other != number]
            if any(abs(other - number) <= _APART for other in near):
                found[number].add(place)
    for number, places in printed_numbers(pages).items():
        found[number].update(places)
    return found


def _without_contents(lines: list[Line]) -> list[Line]:
    """Nothing where the page is one of a table of contents: it names every section, and says nothing about any."""
    leaders = sum(_LEADERS.search(line.text) is not None for line in lines)
    return [] if leaders >= _FEWEST_LEADERS and 2 * leaders >= len(lines) else lines


def printed_numbers(pages: Sequence[Page]) -> dict[int, dict[int, int]]:
    """For each page the lines at its edges that begin or end with its number, and the number.

    A number is that of the page if as many pages lie between two as their numbers say, on at least half of those that
    have lines. Such a line often has a title beside the number, which changes with the chapter.
    """
    seen: dict[int, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    written = 0
    for number, page in enumerate(pages):
        count = len(page.lines)
        written += bool(count)
        for place in {0, count - 1} if count else ():
            text = page.lines[place].text
            for match in (_FIRST_NUMBER.search(text), _LAST_NUMBER.search(text)):
                if match is not None and len(text) < _LONGEST_HEADING:
                    seen[int(match[1]) - number][number][place] = int(match[1])
    best = max(seen.values(), key=len) if seen else {}
    return {} if len(best) < _FEWEST_HEADS or 2 * len(best) < written else dict(best)


def printed_labels(pages: Sequence[Page]) -> list[str] | None:
    """What is printed as the number of each page, if that can be seen; pages before the first are in brackets."""
    found = next(((number, places) for number, places in printed_numbers(pages).items()), None)
    if found is None:
        return None
    offset = next(iter(found[1].values())) - found[0]
    return [str(index + offset) if index + offset > 0 else f"[{index + 1}]" for index in range(len(pages))]


def _worn(text: str) -> str:
    """A line without what changes from page to page: its digits, and Roman numbers that stand alone."""
    text = re.sub(r"\d+", "#", text)
    return re.sub(r"\b[ivxlc]+\b", "#", text.lower()) if len(text) < 8 else text.lower()


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _by_outline(
    pages: Sequence[Page], outline: Sequence[Entry], heads: Sequence[set[int]]
) -> dict[int, dict[int, list[str]]]:
    """For each page the headings at each line; at -1 those whose words are not on their page."""
    found: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for entry in outline:
        lines, taken = pages[entry.page].lines, set(found[entry.page])
        # A running head may say the same.
        places = _places_of(entry.title, lines, taken | heads[entry.page]) or _places_of(entry.title, lines, taken)
        # The page often has the number, by which the text refers to it, and the outline has not.
        said = " ".join(lines[place].text for place in places) or entry.title
        over = _over(places[0], lines) if places else []
        if over:
            said = f"{_label(lines[place].text for place in over)}: {said}"
        marked = f"{'#' * min(entry.level, _DEEPEST)} {said}"
        found[entry.page][places[0] if places else -1].append(marked)
        for place in places[1:]:  # the second line of a heading is said by the first
            found[entry.page].setdefault(place, [])
        for place in over:
            found[entry.page].setdefault(place, [])
    return found


def _over(place: int, lines: Sequence[Line]) -> list[int]:
    """The lines above a title that say no more than "Chapter 9"."""
    for many in (1, 2):
        above = lines[max(0, place - many) : place]
        if len(above) == many and _OVER_TITLE.fullmatch(_plain("".join(line.text for line in above))):
            return list(range(place - many, place))
    return []


def _label(lines: Iterable[str]) -> str:
    """What stands above a title, with its number in figures.

    >>> _label(["CHAPTER", "TWENTYONE"]), _label(["Appendix A"])
    ('Chapter 21', 'Appendix A')
    """
    kind, _, number = " ".join(lines).replace("-", "").partition(" ")
    word = number.replace(" ", "").casefold()
    for ten, value in (("twenty", 20), ("thirty", 30), ("forty", 40), ("", 0)):
        rest = word.removeprefix(ten)
        if word.startswith(ten) and rest in _WORDS:
            number = str(value + _WORDS.index(rest))
            break
    return f"{kind.capitalize()} {number}".strip()


def _places_of(title: str, lines: Sequence[Line], taken: set[int]) -> list[int]:
    """The lines that say a title. It may go over up to three; a number may stand before it, but rather not."""
    wanted = _plain(title)
    numbered: list[int] = []
    for place in range(len(lines)) if wanted else ():
        said = ""
        for more in range(min(3, len(lines) - place)):
            if place + more in taken or len(said) > len(wanted) + _NUMBER:
                break
            said += _plain(lines[place + more].text)
            if said == wanted:
                return list(range(place, place + more + 1))
            if not numbered and said.endswith(wanted) and _BEFORE_TITLE.fullmatch(said[: -len(wanted)]):
                numbered = list(range(place, place + more + 1))
    return numbered


def _by_size(pages: Sequence[Page], heads: Sequence[set[int]]) -> dict[int, dict[int, list[str]]]:
    """Lines that are set larger than most text. The larger, the higher; a number before it tells it apart."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    if not sizes:
        return {}
    usual, most = sizes.most_common(1)[0][0], _HEADED * sum(sizes.values())
    larger: list[tuple[int, int, Line]] = [
        (number, place, line)
        for number, page in enumerate(pages)
        for place, line in enumerate(page.lines)
        if line.size > usual * _LARGER
        and sizes[line.size] <= most
        and place not in heads[number]
        and _may_be_heading(line.text)
    ]
    # Sizes that are used once or twice are those of a title page; beyond six, the smallest are one level.
    ranked = sorted({line.size for *_, line in larger}, reverse=True)
    levels = {size: min(level, _DEEPEST) for level, size in enumerate(ranked, 1)}
    found: dict[int, dict[int, list[str]]] = defaultdict(dict)
    before: tuple[int, int, Line] | None = None
    for number, place, line in larger:
        if before is not None and (number, place - 1) == before[:2] and line.size == before[2].size:
            first = next(at for at in range(place - 1, -1, -1) if found[number].get(at))
            if len(found[number][first][0]) + len(line.text) < _LONGEST_HEADING:  # a heading of two lines
                found[number][first] = [f"{found[number][first][0]} {line.text}"]
                found[number][place] = []
                before = (number, place, line)
                continue
        numbered = _NUMBERED.match(line.text)
        level = min(numbered[1].count(".") + 1, _DEEPEST) if numbered and "." in numbered[1] else levels[line.size]
        found[number][place] = [f"{'#' * level} {line.text}"]
        before = (number, place, line)
    return found


def _may_be_heading(text: str) -> bool:
    return len(text) < _LONGEST_HEADING and sum(char.isalpha() for char in text) >= 3
