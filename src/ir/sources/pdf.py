"""The text of a PDF file, page by page."""

from __future__ import annotations

import io
import logging
import warnings
from typing import Any

from ir.errors import MissingExtra
from ir.sources.decode import NotText

__all__ = ["pdf_text"]


def pdf_text(data: bytes) -> tuple[str, list[int], str | None]:
    """The text of all pages, the offset at which each starts, and the title if the file has one."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("pypdf", "pdf", "Reading PDF files") from error
    # The library logs every oddity of a file; all that matters here is whether there is text.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Damaged files make it raise nearly anything, and one file must not end an indexing run.
        try:
            reader = pypdf.PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise NotText("PDF is protected by a password")
            pages = [page.extract_text() or "" for page in reader.pages]
            title = _title(reader)
        except NotText:
            raise
        except Exception as error:
            raise NotText(f"PDF cannot be read: {' '.join(str(error).split())[:200]}") from error
    offsets, position = [], 0
    for page in pages:
        offsets.append(position)
        position += len(page) + 2
    text = "\n\n".join(pages)
    if not text.strip():
        raise NotText("PDF holds no text (scanned pages?)")
    return text, offsets, title


def _title(reader: Any) -> str | None:
    title = (reader.metadata or {}).get("/Title")
    return str(title).strip() or None if title else None
