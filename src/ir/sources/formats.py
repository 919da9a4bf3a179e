"""A file's bytes to a raw item: text, with the fields and places that its format knows."""

from __future__ import annotations

import importlib.util
from typing import Any

from ir.base import POINTER_KEYS
from ir.sources.decode import decode
from ir.sources.frontmatter import split_front_matter

__all__ = ["format_of", "missing_extra", "parse"]

_MARKDOWN = {"md": "markdown", "markdown": "markdown", "mdx": "markdown", "mkd": "markdown"}
_HTML = {"html": "html", "htm": "html", "xhtml": "html"}
_FORMATS = {**_MARKDOWN, **_HTML, "pdf": "pdf"}
#: Formats that need an optional package: its import name and its extra.
_EXTRAS = {"html": ("bs4", "html"), "pdf": ("pypdfium2", "pdf")}


def format_of(name: str) -> str:
    """The format of a file by its name: ``markdown``, ``html``, ``pdf``, else the suffix, else ``text``.

    >>> format_of("a/B.MD"), format_of("x.py"), format_of("Makefile"), format_of(".env")
    ('markdown', 'py', 'text', 'text')
    """
    # Called for every file of every walk; making a path object would take most of the time.
    stem, _, suffix = name[name.rfind("/") + 1 :].rpartition(".")
    kind = suffix.lower() if stem.strip(".") else ""
    return _FORMATS.get(kind, kind or "text")


def missing_extra(format: str) -> str | None:
    """The extra that a format needs and that is not installed."""
    if format not in _EXTRAS:
        return None
    package, extra = _EXTRAS[format]
    return None if importlib.util.find_spec(package) else extra


def parse(format: str, data: bytes) -> tuple[dict[str, Any], str | None]:
    """The raw item of a file's bytes, and a problem that left its text usable.

    Keys that start with ``_`` are for strategies: the file's line on which the text starts (``None`` if the text is
    not that of the file), and the offsets of pages or cells. ``encoding`` is there if it had to be found out. Raises
    :class:`ir.sources.decode.NotText`.
    """
    if format == "pdf":
        from ir.sources.pdf import pdf_text

        read = pdf_text(data)
        raw: dict[str, Any] = {"text": read.text, "_pages": read.pages, "_labels": read.labels, "_first_line": None}
        if read.scanned:
            raw["_scanned"] = read.scanned
        return raw | ({"title": read.title} if read.title else {}), None
    text, encoding = decode(data)
    raw, problem = _parse_text(format, text)
    return raw if encoding is None else {**raw, "encoding": encoding}, problem


def _parse_text(format: str, text: str) -> tuple[dict[str, Any], str | None]:
    if format == "html":
        from ir.sources.html import html_text

        text, title = html_text(text)
        return {"text": text, "_first_line": None, **({"title": title} if title else {})}, None
    if format == "ipynb":
        from ir.sources.notebook import notebook_text

        text, cells = notebook_text(text)
        return {"text": text, "_first_line": None, "_cells": cells}, None
    if format == "markdown":
        front = split_front_matter(text)
        # What a file says about itself must not make a reader open another one.
        fields = {
            key: value for key, value in front.fields.items() if not key.startswith("_") and key not in POINTER_KEYS
        }
        return {**fields, "text": front.body, "_first_line": front.first_line}, front.problem
    return {"text": text}, None
