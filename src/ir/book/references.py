"""Cross references in a text: "see Fireball", "Rule 4.5.1(2)", "page 12", "Table 3-1", "chapter 5"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Reference", "numbered", "plain_name", "references_in", "unnumbered"]

_NUMBER = r"(?:\d+(?:[.\-–]\d+)*(?:\([0-9a-z]{1,3}\))*|(?-i:[IVXLC]{1,6}|[A-Z]))"
_KINDS = {
    "rule": "section",
    "section": "section",
    "sec": "section",
    "article": "section",
    "art": "section",
    "clause": "section",
    "paragraph": "section",
    "§": "section",
    "chapter": "chapter",
    "part": "chapter",
    "appendix": "chapter",
    "table": "table",
    "figure": "figure",
    "fig": "figure",
    "page": "page",
    "pages": "page",
    "p": "page",
    "pp": "page",
}
_BY_NUMBER = re.compile(
    r"(?<![\w§])(?P<kind>(?:rule|section|article|clause|paragraph|chapter|part|appendix|table|figure|pages?)(?=\s)"
    rf"|sec\.|art\.|fig\.|pp?\.|§)\s*(?P<number>{_NUMBER})(?![\w])",
    re.IGNORECASE,
)
_BY_NAME = re.compile(
    r"\b[Ss]ee (?:also |the )?[\"“'‘*_]*"
    r"(?P<name>[A-Z][\w’'\-]*(?: (?:of|the|and|or|in|to|for|from|with|a|[A-Z(][\w’'\-)]*))*[A-Za-z)]*)"
)
#: A word broken at the end of a line, and the end of a line within a paragraph.
_BROKEN = re.compile(r"(?<=[a-z])-[ \t]*\n[ \t]*(?=[a-z])")
_LINE_END = re.compile(r"[ \t]*(?<!\n)\n(?![ \t]*\n)[ \t]*")
#: So much of the text behind "see" may be a title.
_LONGEST_TITLE = 150
_LABELLED = re.compile(
    rf"^\s*(?:(?P<kind>rule|section|article|clause|chapter|part|appendix|table|figure|fig\.)\s+)?(?P<number>{_NUMBER})"
    r"(?=[\s.:)—–-]|$)",
    re.IGNORECASE,
)


class Reference(NamedTuple):
    """``kind`` is ``name``, ``section``, ``chapter``, ``table``, ``figure`` or ``page``; ``start`` where it stands.

    ``rest`` is the text from a name on: where a title ends that is written as a sentence is, only the book knows.
    """

    kind: str
    target: str
    said: str
    start: int
    rest: str = ""


def references_in(text: str) -> Iterator[Reference]:
    """The cross references of a text, in order.

    >>> [(one.kind, one.target) for one in references_in("See Fireball and Rule 4.5.1(2) on page 12; Table 3-1.")]
    [('name', 'fireball'), ('section', '4.5.1(2)'), ('page', '12'), ('table', '3-1')]
    """
    text = _LINE_END.sub(" ", _BROKEN.sub("", text))
    found: list[Reference] = []
    for match in _BY_NUMBER.finditer(text):
        kind = _KINDS[match["kind"].lower().rstrip(".")]
        number = match["number"]
        if number.isalpha() and (kind == "page" or not match["kind"][0].isupper()):
            continue  # "part I play" is a sentence, and "P. L" a person
        found.append(Reference(kind, _number(number), match[0], match.start()))
    starts = sorted(one.start for one in found)
    for match in _BY_NAME.finditer(text):
        start = match.start("name")
        end = next((place for place in starts if place >= start), match.end())  # "See Fireball and Rule 4"
        name = _trimmed(match["name"][: end - start])
        if name:
            rest = text[start : start + _LONGEST_TITLE]
            found.append(Reference("name", plain_name(name), f"see {name}", start, rest))
    return iter(sorted(found, key=lambda one: one.start))


def plain_name(name: str) -> str:
    """A name as it is compared.

    >>> plain_name("The  Fire-Ball"), plain_name("Bigby’s Hand")
    ('the fire ball', "bigby's hand")
    """
    return " ".join(re.sub(r"[^\w']+", " ", name.replace("’", "'")).split()).casefold()


def numbered(heading: str) -> tuple[str, str] | None:
    """The kind and number that a heading or a caption begins with.

    >>> numbered("4.5.1 Attacks"), numbered("Table 3-1: Weapons"), numbered("Chapter 5"), numbered("Attacks")
    (('section', '4.5.1'), ('table', '3-1'), ('chapter', '5'), None)
    """
    match = _LABELLED.match(heading)
    if match is None or (match["kind"] is None and match["number"].isalpha()):
        return None
    return _KINDS[(match["kind"] or "section").lower().rstrip(".")], _number(match["number"])


def unnumbered(heading: str) -> str:
    """A heading without the label before it; one that is nothing else stays as it is.

    >>> unnumbered("4.5.1 Attacks"), unnumbered("Chapter 5: Magic"), unnumbered("Attacks"), unnumbered("Chapter 5")
    ('Attacks', 'Magic', 'Attacks', 'Chapter 5')
    """
    match = _LABELLED.match(heading)
    if match is None or numbered(heading) is None:
        return heading
    return heading[match.end() :].strip(" \t.:)—–-") or heading


def _number(said: str) -> str:
    return said.replace("–", "-").strip(".").lower()


def _trimmed(name: str) -> str:
    """A name without the small words that its sentence goes on with."""
    parts = name.split()
    while parts and not (parts[-1][0].isupper() or parts[-1][0] == "("):
        parts.pop()
    return " ".join(parts).strip("()")
