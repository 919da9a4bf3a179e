"""Documents beside code: their sections as nodes, and the definitions that they name.

A name is linked only where it can mean one definition: a path of a file that is there, a dotted name whose owner fits,
or a word that one definition alone has. Whatever else a text mentions stays a word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any
from urllib.parse import unquote

from ir.code.languages import language_of
from ir.code.linking import UNIQUE, symbol_key
from ir.code.values import Lookup
from ir.links import Edge, Node, Symbols, Use
from ir.strategy.markdown import Outline, outline_of

__all__ = ["Doc", "documented", "file_named", "is_doc", "resolved", "whole_name"]

_MARKDOWN = frozenset({"md", "markdown", "mdx", "mkd"})
_TEXTS = frozenset({"rst", "adoc"})
#: How much of a section's first words a node keeps.
_DOC = 300
_LONGEST = 200

_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
_DOTTED = re.compile(r"(?<![\w./`-])[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)+(?:\(\))?(?![\w/])")
_PATH = re.compile(r"(?<![\w/`.:-])(?:\.{0,2}/)?(?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.[a-z]{1,5}\b(?![\w/])")
_INDENTED = re.compile(r"^(?: {4}|\t| {2,3}(?=\S)).*$", re.MULTILINE)
_NAME = re.compile(r"[@&*]?([A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$~][\w$]*)*)(\([^()]*\))?")
_ROLE = re.compile(r"^(.*?)\s*<([^<>]+)>$", re.DOTALL)
_UNDERLINE = re.compile(r"""^(?P<title>[^\s].*)\n(?P<rule>([=\-`:'"~^_*+#<>.])\3{2,})[ \t]*$""", re.MULTILINE)
_PLAIN = re.compile(r"[a-z]+")
#: The names that a symbol is made of: types end with a hash, functions with parentheses and a dot.
_DESCRIPTORS = re.compile(r"([^#()]+?)(?:\+\d+)?(#|\((?:\+\d+)?\)\.)")
_OVERLOAD = re.compile(r"\(\+\d+\)")


def is_doc(format: str) -> bool:
    """Whether a file is a document that people read, by what its format is called."""
    return format in _MARKDOWN or format in _TEXTS


@dataclass(frozen=True)
class _Section:
    """A stretch under one heading; ``end`` is where the next heading begins, ``last`` where its own level ends."""

    key: str
    title: str
    start: int
    end: int
    last: int
    owner: int


class Doc:
    """A document's sections, each a node below the heading that it stands under, and what they mention."""

    def __init__(self, path: str, text: str, format: str, first_line: int = 1) -> None:
        self._path = path
        self._text = text
        self._format = format
        self._first_line = first_line
        outline = outline_of(text) if format in _MARKDOWN else Outline()
        self._spoken = _without(text, outline.fences)
        headings = _headings(outline) if format in _MARKDOWN else _underlined(text)
        self._sections = list(_sections(path, text, headings))
        self._starts = [section.start for section in self._sections]
        self._breaks = [place.start() for place in re.finditer("\n", text)]

    @property
    def key(self) -> str:
        return self._sections[0].key

    def key_at(self, start: int, end: int) -> str:
        """The section that a chunk is of: the one that it begins in, or the first of which it holds the heading."""
        first = bisect_right(self._starts, start) - 1
        blank = not self._text[start : self._sections[first].end].strip()
        if blank and first + 1 < len(self._sections) and self._sections[first + 1].start < end:
            first += 1
        return self._sections[first].key

    def nodes(self) -> list[Node]:
        return [Node(section.key, "doc", self._properties(section)) for section in self._sections]

    def edges(self) -> list[Edge]:
        return [
            Edge(self._sections[section.owner].key, "contains", section.key)
            for section in self._sections
            if section.owner >= 0
        ]

    def symbols(self) -> Symbols:
        """What is to be looked up once all files were read: each name once for each section."""
        found: dict[tuple[str, str], int] = {}
        for section in self._sections:
            for name, place in self._mentions(section):
                found.setdefault((section.key, name), self._line(place))
        mentions = [[key, name, line] for (key, name), line in found.items()]
        uses = [Use(key, "documents", key) for key in dict.fromkeys(key for key, _ in found)]
        return Symbols({f"doc:{self._path}": [self.key]}, uses, {"doc": self._path, "mentions": mentions})

    def _mentions(self, section: _Section) -> Iterator[tuple[str, int]]:
        text = self._spoken[section.start : section.end]
        for span in _CODE_SPAN.finditer(text):
            said = span[2].strip().strip("`")
            role = _ROLE.match(said) if self._format == "rst" else None
            said = (role[2] if role else said).lstrip("~!")
            if 0 < len(said) <= _LONGEST and "\n" not in said:
                yield f"`{said}", section.start + span.start()
        plain = _CODE_SPAN.sub(lambda span: " " * len(span[0]), text)
        for link in _LINK.finditer(plain):
            if "://" not in link[1] and not link[1].startswith(("#", "mailto:")) and len(link[1]) <= _LONGEST:
                yield f"]{unquote(link[1])}", section.start + link.start(1)
        plain = _LINK.sub(lambda link: " " * len(link[0]), plain)
        plain = _INDENTED.sub(lambda line: " " * len(line[0]), plain)  # an example, where a word is no mention
        for pattern in (_DOTTED, _PATH):
            for word in pattern.finditer(plain):
                if len(word[0]) <= _LONGEST:
                    yield word[0], section.start + word.start()

    def _properties(self, section: _Section) -> dict[str, Any]:
        about: dict[str, Any] = {
            "name": section.title or self._path.rsplit("/", 1)[-1],
            "path": self._path,
            "language": "markdown" if self._format in _MARKDOWN else self._format,
            "line_start": self._line(section.start),
            "line_end": self._line(max(section.start, len(self._text[: section.last].rstrip()) - 1)),
        }
        words = " ".join(self._text[section.start : section.end].lstrip("# \t").split())
        said = words.removeprefix(section.title).lstrip(" =-~^")[:_DOC]
        if said:
            about["doc"] = said
        return about

    def _line(self, place: int) -> int:
        return self._first_line + bisect_right(self._breaks, place - 1)


# -- sections --------------------------------------------------------------------------------------------------------


def _without(text: str, fences: Sequence[tuple[int, int]]) -> str:
    """A text with blanks in place of its examples."""
    parts, at = [], 0
    for low, high in fences:
        parts += [text[at:low], " " * (high - low)]
        at = high
    return "".join([*parts, text[at:]])


def _headings(outline: Outline) -> list[tuple[int, int, str]]:
    return [(heading.start, heading.level, heading.title) for heading in outline.headings]


def _underlined(text: str) -> list[tuple[int, int, str]]:
    """The headings of reStructuredText: a line with one of the same length under it; levels by the order they come."""
    levels: dict[str, int] = {}
    found = []
    for mark in _UNDERLINE.finditer(text):
        title = mark["title"].strip()
        if len(mark["rule"]) >= len(title) and not set(title) <= set("=-~^*+#"):
            found.append((mark.start(), levels.setdefault(mark["rule"][0], len(levels) + 1), title))
    return found


def _sections(path: str, text: str, headings: Sequence[tuple[int, int, str]]) -> Iterator[_Section]:
    """The document itself up to its first heading, then a section for each."""
    first = headings[0][0] if headings else len(text)
    yield _Section(symbol_key("doc", path, ""), "", 0, first, len(text), -1)
    seen: dict[str, int] = {}
    above: list[tuple[int, int]] = []
    for number, (start, level, title) in enumerate(headings, start=1):
        while above and above[-1][0] >= level:
            above.pop()
        owner = above[-1][1] if above else 0
        above.append((level, number))
        end = headings[number][0] if number < len(headings) else len(text)
        after = (headings[other] for other in range(number, len(headings)))
        last = next((other for other, depth, _ in after if depth <= level), len(text))
        yield _Section(symbol_key("doc", path, f"#{_anchor(title, seen)}"), title, start, end, last, owner)


def _anchor(title: str, seen: dict[str, int]) -> str:
    """The name of a section in its file, as pages link to it; a second one of the same name gets a number.

    >>> _anchor("Getting started!", {}), _anchor("Options", {"options": 1})
    ('getting-started', 'options-1')
    """
    made = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") or "section"
    count = seen.get(made, 0)
    seen[made] = count + 1
    return f"{made}-{count}" if count else made


# -- names -----------------------------------------------------------------------------------------------------------


def documented(payload: Mapping[str, Any], lookup: Lookup) -> Iterable[Edge]:
    """The links of a document: ``documents`` to definitions that it names, ``references`` to other documents."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for source, said, line in payload["mentions"]:
        target = _meant(said, payload["doc"], lookup)
        if target is None or target[0] == source:
            continue
        kind = "references" if target[0].startswith("doc ") else "documents"
        about = {"resolution": target[1], "line": line}
        held = found.setdefault((source, kind, target[0]), about)
        if held["resolution"] == UNIQUE != target[1]:
            found[source, kind, target[0]] = about
    for (source, kind, key), about in found.items():
        yield Edge(source, kind, key, None, about)


def _meant(said: str, path: str, lookup: Lookup) -> tuple[str, str] | None:
    """What a mention stands for, and how that is known. A code span begins with a backtick, a link with a bracket."""
    if said[0] == "]":
        return file_named(said[1:], path, lookup)
    spoken = said[1:] if said[0] == "`" else said
    file = file_named(spoken, path, lookup)
    if file is not None:
        return file
    name = _NAME.fullmatch(spoken)
    if name is None:
        return None
    return resolved(name[1], lookup, called=name[2] is not None, told=said[0] == "`")


def file_named(said: str, path: str, lookup: Lookup) -> tuple[str, str] | None:
    """A file of the corpus by its path, from its root or from where the document is."""
    bare = re.split(r"[#?:]", said.replace("\\", "/"), maxsplit=1)[0]
    if "." not in bare.rsplit("/", 1)[-1] or bare.startswith("//"):
        return None
    folder = path.rpartition("/")[0]
    for place in dict.fromkeys((normpath(f"{folder}/{bare}") if folder else normpath(bare), normpath(bare))):
        place = place.lstrip("/")
        if place == path or place.startswith(".."):
            continue
        format = place.rsplit(".", 1)[-1].lower()
        language = language_of(format)
        if language is not None and lookup(f"{language.family}:{place}"):
            return symbol_key(language.family, place, ""), "exact"
        if is_doc(format) and lookup(f"doc:{place}"):
            return symbol_key("doc", place, ""), "exact"
    return None


def resolved(name: str, lookup: Lookup, *, called: bool = False, told: bool = True) -> tuple[str, str] | None:
    """The one definition that a name can mean, and how that is known; ``None`` if there is none, or several.

    ``called`` if it is written with parentheses, ``told`` if it is marked as code. A plain lower-case word says too
    little to mean a method, unless it is called.
    """
    parts = re.split(r"\.|::|#|->", name)
    found = _without_overloads(lookup(f"symbol:{parts[-1]}"))
    if len(parts) > 1:
        fitting = [(key, _fits(key, parts)) for key in found]
        for wanted, how in ((2, "exact"), (1, "inferred")):
            those = [key for key, fit in fitting if fit >= wanted]
            if those:
                return (those[0], how) if len(those) == 1 else None
        return None
    if len(found) != 1 or not told or _is_local(found[0]):
        return None
    if not called and _PLAIN.fullmatch(name) and not _is_outermost(found[0]):
        return None
    return found[0], UNIQUE


def _fits(key: str, parts: Sequence[str]) -> int:
    """2 if a dotted name is the end of a definition's whole name, 1 if it leaves out the modules next to it, else 0.

    A package may offer what its modules define: ``shop.Order`` is ``shop.orders.Order``. But an owner has to be named:
    ``app.run`` says nothing of ``App.run``.
    """
    whole = whole_name(key)
    if whole[-len(parts) :] == list(parts):
        return 2
    names = len(_DESCRIPTORS.findall(key.rpartition("/")[2]))
    own, above = whole[-names:], whole[:-names]
    package = list(parts[:-names])
    if not names or not package or list(parts[-names:]) != own:
        return 0
    return 1 if any(above[:-left][-len(package) :] == package for left in (1, 2)) else 0


def whole_name(key: str) -> list[str]:
    """The folders, the file and the names that lead to a definition.

    >>> whole_name("python src/app.py/App#run().")
    ['src', 'app', 'App', 'run']
    """
    file, _, symbol = key.partition(" ")[2].rpartition("/")
    module = file.rsplit(".", 1)[0].removesuffix("/__init__")
    return [*module.split("/"), *(name for name, _ in _DESCRIPTORS.findall(symbol))]


def _is_local(key: str) -> bool:
    """Whether a definition is inside a function, where nobody can name it."""
    return ")." in key.rpartition("/")[2][:-2]


def _is_outermost(key: str) -> bool:
    """Whether a definition is a type or a function of a file's outermost scope."""
    return len(_DESCRIPTORS.findall(key.rpartition("/")[2])) == 1


def _without_overloads(keys: Iterable[str]) -> list[str]:
    """Functions of one name and one owner count as one: the first."""
    first: dict[str, str] = {}
    for key in sorted(keys, key=lambda key: (len(key), key)):
        first.setdefault(_OVERLOAD.sub("()", key), key)
    return list(first.values())
