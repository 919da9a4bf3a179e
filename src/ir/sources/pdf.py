"""The text of a PDF file, page by page, with its headings marked as in Markdown."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from ir.errors import MissingExtra
from ir.sources.decode import NotText
from ir.sources.pdf_layout import Entry, Line, Page, in_reading_order, laid_out, printed_labels

__all__ = ["PdfText", "pdf_text"]

#: The library must not be used by two threads at once.
_ALONE = threading.Lock()
#: A page that is larger than this many characters was made to harm.
_MOST = 2_000_000
#: A part of a line with more characters than this is prose, not a cell of a table; so many parted lines make columns.
_PROSE = 25
_FEWEST_PARTED = 4


class PdfText(NamedTuple):
    """The text of all pages, the offset at which each starts, and what is printed as its number.

    ``scanned`` is how many pages hold pictures and no text, where those are most of them.
    """

    text: str
    pages: list[int]
    labels: list[str]
    title: str | None
    scanned: int = 0


def pdf_text(data: bytes) -> PdfText:
    """Read a PDF. Running heads are left out, broken words joined, columns kept apart.

    Headings are those of the outline, and without one the lines that are set larger than the rest.
    """
    try:
        import pypdfium2 as pdfium
    except ImportError as error:
        raise MissingExtra("pypdfium2", "pdf", "Reading PDF files") from error
    with _ALONE:
        # Damaged files make it raise nearly anything, and one file must not end an indexing run.
        try:
            document = pdfium.PdfDocument(data)
        except Exception as error:
            if "password" in str(error).lower():
                raise NotText("PDF is protected by a password") from error
            raise NotText(f"PDF cannot be read: {' '.join(str(error).split())[:200]}") from error
        try:
            outline = _outline(document)
            pages = [_page(document, index, sizes=not outline) for index in range(len(document))]
            labelled = any(document.get_page_label(index) for index in range(len(document)))
            title = str(document.get_metadata_value("Title") or "").strip() or None
            bare = [index for index, page in enumerate(pages) if not page.lines]
            pictures = 2 * len(bare) > len(pages) and _has_pictures(document, bare)
        except Exception as error:
            raise NotText(f"PDF cannot be read: {' '.join(str(error).split())[:200]}") from error
        finally:
            document.close()
    if not any(page.lines for page in pages):
        scanned = "PDF holds no text, only pictures of it: run OCR over it first (ocrmypdf, for one)"
        raise NotText(scanned if pictures else "PDF holds no text")
    texts = laid_out(pages, outline)
    offsets, position = [], 0
    for text in texts:
        offsets.append(position)
        position += len(text) + 2
    labels = (None if labelled else printed_labels(pages)) or [page.label for page in pages]
    return PdfText("\n\n".join(texts), offsets, labels, title, len(bare) if pictures else 0)


def _outline(document: Any) -> list[Entry]:
    entries = []
    for mark in document.get_toc(max_depth=6):
        target = mark.get_dest()
        title = " ".join(mark.get_title().split())
        index = None if target is None else target.get_index()
        if title and index is not None and 0 <= index < len(document):
            entries.append(Entry(mark.level + 1, title, index))
    return entries


def _page(document: Any, index: int, *, sizes: bool) -> Page:
    import pypdfium2.raw as raw

    label = document.get_page_label(index) or str(index + 1)
    page = document[index]
    try:
        width, height = page.get_size()
        written = page.get_textpage()
        try:
            text = written.get_text_range() if written.count_chars() <= _MOST else ""
            spans, position = [], 0
            for shown in text.split("\n"):
                bare = shown.strip()
                if bare:
                    spans.append((position + len(shown) - len(shown.lstrip()), bare))
                position += len(shown) + 1
            lines = [_line(raw, written, said, first, sizes=sizes) for first, said in spans]
            if _may_be_joined(lines, width) and _has_gap(raw, written, spans, lines, width):
                parts = [part for first, said in spans for part in _parted(raw, written, said, first, width)]
                if 2 * sum(len(said) > _PROSE for _, said in parts) > len(parts) >= len(spans) + _FEWEST_PARTED:
                    lines = [_line(raw, written, said, first, sizes=sizes) for first, said in parts]
        finally:
            written.close()
    finally:
        page.close()
    # Of a long book there are many lines: where each stood is needed to put them in order, and then no more.
    ordered = in_reading_order(Page(label, width, height, lines))
    return Page(label, width, height, [Line(line.text, 0.0, 0.0, 0.0, line.size) for line in ordered])


def _line(raw: Any, written: Any, text: str, first: int, *, sizes: bool) -> Line:
    """A line and where it stands; the library marks a word that was broken at a line's end by a sign of its own."""
    left, _, bottom = _box(raw, written, first)
    _, right, _ = _box(raw, written, first + len(text) - 1)
    size = raw.FPDFText_GetFontSize(written, _index(raw, written, first)) if sizes else 0.0
    joined = text.replace("\ufffe", "").replace("\u00ad", "")
    return Line(joined, left, right, bottom, round(size * 2) / 2)


def _index(raw: Any, written: Any, place: int) -> int:
    """The library's number of the character at a place of the text."""
    return max(0, int(raw.FPDFText_GetCharIndexFromTextIndex(written, place)))


def _box(raw: Any, written: Any, place: int) -> tuple[float, float, float]:
    """Where a character stands: its left and right edge, and its foot."""
    left, bottom, right, _ = written.get_charbox(_index(raw, written, place))
    return left, right, bottom


def _may_be_joined(lines: list[Line], width: float) -> bool:
    """Whether lines may go across two columns: where a file writes those row by row, the library joins them."""
    return sum(line.right - line.left > 0.6 * width for line in lines) >= _FEWEST_PARTED


def _has_gap(raw: Any, written: Any, spans: list[tuple[int, str]], lines: list[Line], width: float) -> bool:
    """Whether one of the wide lines goes across a gap. Not all are looked at: those that do stand together."""
    wide = [span for span, line in zip(spans, lines, strict=True) if line.right - line.left > 0.6 * width]
    return any(len(_parted(raw, written, said, first, width)) > 1 for first, said in wide[:: _FEWEST_PARTED - 1])


def _parted(raw: Any, written: Any, text: str, first: int, width: float) -> list[tuple[int, str]]:
    """A line cut at gaps that are much wider than a space, each part with its place."""
    parts, begin = [], 0
    for gap in (place for place, sign in enumerate(text) if sign == " " and place >= _PROSE):
        if gap - begin >= _PROSE and len(text) - gap > _PROSE and text[gap + 1] != " ":
            _, right, _ = _box(raw, written, first + gap - 1)
            left, _, _ = _box(raw, written, first + gap + 1)
            if left - right > 0.025 * width:
                parts.append((first + begin, text[begin:gap].rstrip()))
                begin = gap + 1
    return [*parts, (first + begin, text[begin:])]


def _has_pictures(document: Any, pages: list[int]) -> bool:
    """Whether the first of these pages hold images."""
    import pypdfium2.raw as raw

    for index in pages[:5]:
        page = document[index]
        try:
            if next(iter(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=2)), None) is not None:
                return True
        finally:
            page.close()
    return False
