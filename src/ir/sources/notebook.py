"""The cells of a Jupyter notebook as one text: prose as it is, code between fences, outputs left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ir.sources.decode import NotText

__all__ = ["notebook_text"]

_TICKS = re.compile("`{3,}")


def notebook_text(source: str) -> tuple[str, list[int]]:
    """The text of all cells, and the offset at which each starts; a cell without text has the offset of the next.

    >>> notebook_text('{"cells": [{"cell_type": "markdown", "source": ["# A"]}, {"cell_type": "code", "source": "1"}]}')
    ('# A\\n\\n```\\n1\\n```', [0, 5])
    """
    try:
        book = json.loads(source)
    except RecursionError:
        raise NotText("notebook cannot be read: it is nested too deeply") from None
    except ValueError as error:
        raise NotText(f"notebook cannot be read: not valid JSON ({error})") from None
    if not isinstance(book, Mapping):
        raise NotText("notebook cannot be read: it is not a JSON object")
    language = _language(book)
    parts: list[str] = []
    offsets, position = [], 0
    for cell in _cells(book):
        offsets.append(position)
        text = _text(cell)
        if not text.strip():
            continue
        text = _fenced(text, language) if cell.get("cell_type") == "code" else text.strip("\n")
        parts.append(text)
        position += len(text) + 2
    if not offsets:
        raise NotText("notebook has no cells")
    return "\n\n".join(parts), offsets


def _cells(book: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The cells; those of the oldest notebooks stand in worksheets."""
    sheets = book.get("worksheets")
    for holder in sheets if isinstance(sheets, list) else [book]:
        cells = holder.get("cells") if isinstance(holder, Mapping) else None
        for cell in cells if isinstance(cells, list) else ():
            yield cell if isinstance(cell, Mapping) else {}


def _text(cell: Mapping[str, Any]) -> str:
    if cell.get("cell_type") == "heading":
        level = cell.get("level")
        return f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {_source(cell)}"
    return _source(cell)


def _source(cell: Mapping[str, Any]) -> str:
    found = cell.get("source", cell.get("input"))
    if isinstance(found, list):
        return "".join(line for line in found if isinstance(line, str))
    return found if isinstance(found, str) else ""


def _language(book: Mapping[str, Any]) -> str:
    about = book.get("metadata")
    for holder, key in (("language_info", "name"), ("kernelspec", "language")):
        held = about.get(holder) if isinstance(about, Mapping) else None
        name = held.get(key) if isinstance(held, Mapping) else None
        if isinstance(name, str) and name.isidentifier():
            return name
    return ""


def _fenced(code: str, language: str) -> str:
    """Code between fences that are longer than any within it."""
    fence = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(code))])
    code = code.strip("\n")
    return f"{fence}{language}\n{code}\n{fence}"
