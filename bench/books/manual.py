"""A manual of many pages as a PDF file, made without any library: chapters, sections, running heads, references."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

__all__ = ["write_manual"]

_PAGES_PER_CHAPTER = 40
_PAGES_PER_SECTION = 4
_LINES = 42
_WORDS = """
    creature target weapon armor shield attack damage saving throw check condition level ability score bonus action
    reaction round turn initiative movement speed distance range area effect duration spell ritual component material
    price weight rarity wonder potion scroll staff wand ring cloak gate bridge tower river market harbour winter summer
    the a of to in and or when while until before after within beyond against under each every any other same its their
    takes gives moves falls rises holds breaks opens closes begins ends applies ignores reduces requires grants
""".split()  # noqa: SIM905


def write_manual(path: Path, pages: int = 2400, *, outline: bool = True, seed: int = 7) -> None:
    """Write a manual; without an ``outline`` headings are told by their size alone."""
    made = list(_pages(pages, random.Random(seed)))
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for content, _ in made:
        stream = content.encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % len(objects)
        )
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    root = b"<< /Type /Catalog /Pages 2 0 R >>"
    if outline:
        root = b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % _add_outline(objects, kids, made)
    objects[0] = root
    _write(path, objects)


def _pages(count: int, chance: random.Random) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The drawing of each page and the headings on it, as (level, title)."""
    for number in range(count):
        chapter, section = number // _PAGES_PER_CHAPTER + 1, number % _PAGES_PER_CHAPTER // _PAGES_PER_SECTION + 1
        headings: list[tuple[int, str]] = []
        if number % _PAGES_PER_CHAPTER == 0:
            headings.append((1, f"Chapter {chapter} {_name(chance)}"))
        if number % _PAGES_PER_SECTION == 0:
            headings.append((2, f"{chapter}.{section} {_name(chance)}"))
        lines = [_shown(60, 760, 9, f"The Long Manual {number + 1}")]
        height = 730.0
        for level, title in headings:
            lines.append(_shown(60, height, 20 if level == 1 else 15, title))
            height -= 26
        for _ in range(_LINES - 2 * len(headings)):
            lines.append(_shown(60, height, 10, _line(chance, count)))
            height -= 15
        yield "\n".join(lines), headings


def _line(chance: random.Random, pages: int) -> str:
    said = " ".join(chance.choice(_WORDS) for _ in range(13)).capitalize() + "."
    if chance.random() < 0.03:
        said = f"{said[:55]}. See page {chance.randrange(pages) + 1}."
    elif chance.random() < 0.03:
        said = (
            f"{said[:55]}. See Rule {chance.randrange(1, pages // _PAGES_PER_CHAPTER + 1)}.{chance.randrange(1, 11)}."
        )
    return said


def _name(chance: random.Random) -> str:
    return " ".join(chance.choice(_WORDS).capitalize() for _ in range(3))


def _shown(left: float, bottom: float, size: float, text: str) -> str:
    return f"BT /F1 {size} Tf {left} {bottom} Td ({text}) Tj ET"


def _add_outline(objects: list[bytes], kids: list[int], made: list[tuple[str, list[tuple[int, str]]]]) -> int:
    """Append the outline as one list of two levels; the number of its root."""
    chapters: list[tuple[str, int, list[tuple[str, int]]]] = []
    for place, (_, headings) in enumerate(made):
        for level, title in headings:
            if level == 1:
                chapters.append((title, kids[place], []))
            else:
                chapters[-1][2].append((title, kids[place]))
    root = len(objects) + 1
    objects.append(b"")
    numbers: list[int] = []
    for title, page, sections in chapters:
        own = len(objects) + 1
        numbers.append(own)
        objects.append(b"")
        first, last = own + 1, own + len(sections)
        for at, (name, target) in enumerate(sections):
            objects.append(_item(name, target, own, first, last, first + at))
        inside = b" /First %d 0 R /Last %d 0 R /Count %d" % (first, last, len(sections)) if sections else b""
        objects[own - 1] = b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>" % (
            title.encode(),
            root,
            page,
            inside,
        )
    for at, own in enumerate(numbers):
        after = b" /Next %d 0 R" % numbers[at + 1] if at + 1 < len(numbers) else b""
        before = b" /Prev %d 0 R" % numbers[at - 1] if at else b""
        objects[own - 1] = objects[own - 1][:-3] + after + before + b" >>"
    objects[root - 1] = b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (
        numbers[0],
        numbers[-1],
        len(numbers),
    )
    return root


def _item(name: str, page: int, above: int, first: int, last: int, own: int) -> bytes:
    after = b" /Next %d 0 R" % (own + 1) if own < last else b""
    before = b" /Prev %d 0 R" % (own - 1) if own > first else b""
    return b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s%s >>" % (name.encode(), above, page, after, before)


def _write(path: Path, objects: list[bytes]) -> None:
    with path.open("wb") as file:
        file.write(b"%PDF-1.4\n")
        places = []
        for number, body in enumerate(objects, 1):
            places.append(file.tell())
            file.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
        start = file.tell()
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
        for place in places:
            file.write(b"%010d 00000 n \n" % place)
        file.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
