"""The text of a raw item, whatever its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.base import storable

__all__ = ["TEXT_KEYS", "format_named", "is_source", "layout_of", "scanned_remark", "text_key_of", "text_of"]

#: Where the text of a mapping is looked for, in this order.
TEXT_KEYS = ("text", "content", "body", "description")

_MARKDOWN = frozenset({"md", "markdown", "mdx", "mkd", "html", "htm", "ipynb", "pdf"})
_CODE = """
    bash c cc cfg clj cpp cs css csv cxx dart erl ex exs go gradle h hpp hs ini java jl js json jsonl jsx kt lua
    ml php pl proto ps1 py pyi r rb rs scala scss sh sql svelte swift tf toml ts tsv tsx vue xml yaml yml zsh
"""
_CODE_SUFFIXES = frozenset(_CODE.split())
_DATA_SUFFIXES = "cfg css csv gradle ini json jsonl proto scss sql tf toml tsv xml yaml yml"
_DATA = frozenset(_DATA_SUFFIXES.split())
_PROSE = frozenset({"txt", "text", "rst", "log", "tex", "adoc", "org"})


def scanned_remark(raw: Any) -> str | None:
    """What is to be said of a file of pages most of which are pictures; nothing of others."""
    if not isinstance(raw, Mapping) or not raw.get("_scanned"):
        return None
    pages = f"{raw['_scanned']:,} of {len(raw['_pages']):,} pages hold no text, only pictures of it"
    return f"{pages}: run OCR over the file first (ocrmypdf, for one)"


def text_of(raw: Any, text_key: str | None = None) -> str:
    """The text of a string, bytes, a mapping (``text_key``, else the first of text/content/body/description).

    Halves of surrogate pairs, which no encoding can store, become U+FFFD; the length stays the same.

    >>> text_of({"title": "T", "body": "words"}), text_of(None), text_of({"q": "x"}, "q")
    ('words', '', 'x')
    """
    if isinstance(raw, Mapping):
        key = text_key_of(raw, text_key)
        return "" if key is None else text_of(raw[key])
    if raw is None:
        return ""
    if isinstance(raw, (bytes, bytearray, memoryview)):
        return bytes(raw).decode("utf-8", "replace")
    text = raw if isinstance(raw, str) else str(raw)
    return storable(text)


def text_key_of(raw: Mapping[str, Any], text_key: str | None = None) -> str | None:
    """The key under which a mapping keeps its text, ``None`` if it has none."""
    keys = TEXT_KEYS if text_key is None else (text_key,)
    return next((key for key in keys if raw.get(key) is not None), None)


def layout_of(artifact_id: str, raw: Any) -> str:
    """How a text is laid out: ``"markdown"``, ``"prose"`` or ``"code"``.

    A mapping's ``format`` says it, else a well-known suffix of the id. Without either the text is taken for
    Markdown, of which plain prose is a special case.

    >>> layout_of("notes/a.md", ""), layout_of("a.py", ""), layout_of("a.py", {"format": "md"}), layout_of("42", "")
    ('markdown', 'code', 'markdown', 'markdown')
    """
    kind = format_named(artifact_id, raw)
    if kind in _MARKDOWN:
        return "markdown"
    if kind in _PROSE:
        return "prose"
    return "code" if _declared(raw) or kind in _CODE_SUFFIXES else "markdown"


def is_source(format: str) -> bool:
    """Whether files of a format are programs that people write.

    >>> is_source("py"), is_source("c"), is_source("json"), is_source("md")
    (True, True, False, False)
    """
    return format in _CODE_SUFFIXES and format not in _DATA


def format_named(artifact_id: str, raw: Any) -> str:
    """What a mapping calls its ``format``, else the suffix of the id."""
    return (_declared(raw) or artifact_id[artifact_id.rfind(".") + 1 :]).lower()


def _declared(raw: Any) -> str:
    declared = raw.get("format") if isinstance(raw, Mapping) else None
    return declared if isinstance(declared, str) else ""
