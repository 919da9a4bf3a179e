"""The visible text of an HTML page, with its headings, lists and code marked as in Markdown."""

from __future__ import annotations

import re
import warnings
from typing import Any

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
_SPACE = re.compile(r"[ \t\r\f\v\u00a0]*\n[ \t\r\f\v\u00a0]*")
_GAPS = re.compile(r"\n{3,}")


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
    text = _render(soup, bs4)
    return text, title or None


def _render(soup: Any, bs4: Any) -> str:
    """Depth first without recursion: pages nest deeper than Python's stack."""
    out: list[str] = []
    pending: list[tuple[Any, bool]] = [(soup, False)]
    while pending:
        node, verbatim = pending.pop()
        if isinstance(node, str) and not isinstance(node, bs4.NavigableString):
            out.append(node)
        elif isinstance(node, bs4.NavigableString):
            if type(node) in (bs4.NavigableString, bs4.CData):
                out.append(str(node) if verbatim else re.sub(r"\s+", " ", node))
        elif node.name not in _UNSEEN:
            before, after = _marks(node.name)
            out.append(before)
            pending.append((after, False))
            inner = verbatim or node.name in ("pre", "textarea")
            pending.extend((child, inner) for child in reversed(node.contents))
    return _tidy("".join(out))


def _marks(name: str) -> tuple[str, str]:
    if len(name) == 2 and name[0] == "h" and name[1] in "123456":
        return f"\n\n{'#' * int(name[1])} ", "\n\n"
    if name == "pre":
        return "\n\n```\n", "\n```\n\n"
    if name == "li":
        return "\n- ", "\n"
    if name == "br":
        return "\n", ""
    if name in ("td", "th"):
        return "", " | "
    return ("\n\n", "\n\n") if name in _BLOCKS else ("", "")


def _tidy(text: str) -> str:
    parts = text.split("\n```\n")
    # Odd parts are the insides of code blocks, where spaces at line starts matter.
    tidy = [part if index % 2 else _SPACE.sub("\n", part) for index, part in enumerate(parts)]
    return _GAPS.sub("\n\n", "\n```\n".join(tidy)).strip()
