"""The visible text of an HTML page, with its headings, lists and code marked as in Markdown."""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

from ir.errors import MissingExtra

__all__ = ["html_text"]

_UNSEEN = frozenset(
    {"script", "style", "noscript", "template", "head", "title", "svg", "math", "iframe", "object", "select"}
)
_BLOCK_NAMES = """
    address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr html
    main nav ol p section summary table tbody thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SPACE = re.compile(r"[ \t\r\f\v\u00a0]*\n[ \t\r\f\v\u00a0]*")
_GAPS = re.compile(r"\n{3,}")
#: What only serves to get about: lines that turn the pages of a manual, and signs beside its headings.
_ANCHORS = frozenset({"¶", "#", "§", "🔗"})
_TURNING = re.compile(
    r"^\W*(?:next|previous|prev|up|top): .{1,200}(?:, (?:previous|prev|up): |\[(?:contents|index)\]).*$\n?",
    re.IGNORECASE | re.MULTILINE,
)


def html_text(page: str) -> tuple[str, str | None]:
    """The text and the title of a page.

    >>> html_text("<title>T</title><h2>Head</h2><p>One <b>two</b></p><script>no</script>")
    ('## Head\\n\\nOne two', 'T')
    """
    try:
        import bs4
    except ImportError as error:
        raise MissingExtra("beautifulsoup4", "html", "Reading HTML") from error
    with warnings.catch_warnings():
        # It warns when a page looks like XML or like a file name; either way the text is all we want.
        warnings.simplefilter("ignore")
        soup = bs4.BeautifulSoup(page, "html.parser")
    named = soup.find("title")
    title = " ".join(named.get_text().split()) if named is not None else ""
    text = _TURNING.sub("", _render(soup, bs4)).strip()
    return text, title or None


def _is_anchor(node: Any) -> bool:
    """Whether an element is the sign beside a heading that links to it."""
    return node.name == "a" and len(node.contents) == 1 and str(node.contents[0]).strip() in _ANCHORS


def _render(soup: Any, bs4: Any) -> str:
    """Depth first without recursion: pages nest deeper than Python's stack."""
    text = _Text()
    pending: list[tuple[Any, bool]] = [(soup, False)]
    while pending:
        node, verbatim = pending.pop()
        if isinstance(node, _End):
            text.leave(node.name)
        elif isinstance(node, bs4.NavigableString):
            if type(node) in (bs4.NavigableString, bs4.CData):
                text.write(str(node) if verbatim else re.sub(r"\s+", " ", node))
        elif node.name not in _UNSEEN and not _is_anchor(node):
            # Code within code is in the same block.
            name = "" if verbatim and node.name == "pre" else node.name
            text.enter(name)
            pending.append((_End(name), False))
            inner = verbatim or node.name in ("pre", "textarea")
            pending.extend((child, inner) for child in reversed(node.contents))
    return text.tidy()


class _End(NamedTuple):
    """Where an element ends."""

    name: str


class _Text:
    """The text of a page as it is written, element by element."""

    def __init__(self) -> None:
        # Prose and code take turns: in code, spaces at line starts matter.
        self._parts: list[list[str]] = [[]]
        # The mark of a heading waits for its first word, which may stand in a block of its own.
        self._heading = ""

    def enter(self, name: str) -> None:
        if name in _HEADINGS:
            self._parts[-1].append("\n\n")
            self._heading = f"{'#' * int(name[1])} "
        elif name == "pre":
            self._heading = ""
            self._parts[-1].append("\n\n")
            self._parts.append([])
        elif not self._heading:
            self._parts[-1].append(_marks(name)[0])

    def write(self, text: str) -> None:
        if self._heading and text.strip():
            text = f"{self._heading}{text.lstrip()}"
            self._heading = ""
        self._parts[-1].append(text)

    def leave(self, name: str) -> None:
        if name in _HEADINGS:
            self._heading = ""
            self._parts[-1].append("\n\n")
        elif name == "pre":
            self._parts.append(["\n\n"])
        elif not self._heading:
            self._parts[-1].append(_marks(name)[1])

    def tidy(self) -> str:
        texts = map("".join, self._parts)
        tidy = [_fenced(text) if index % 2 else _SPACE.sub("\n", text) for index, text in enumerate(texts)]
        return _GAPS.sub("\n\n", "".join(tidy)).strip()


def _marks(name: str) -> tuple[str, str]:
    if name == "li":
        return "\n- ", "\n"
    if name == "br":
        return "\n", ""
    if name in ("td", "th"):
        return "", " | "
    return ("\n\n", "\n\n") if name in _BLOCKS else ("", "")


def _fenced(code: str) -> str:
    """Code between fences that are longer than any within it."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code}\n{fence}"
