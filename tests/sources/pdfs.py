"""PDF files for tests: lines of text at given places, with an outline, page labels, a picture or a password."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

pypdf = pytest.importorskip("pypdf", reason="pypdf makes the PDF files of these tests")

WIDTH, HEIGHT = 600, 800

#: A line: how far from the left and from the bottom, how large, and what it says.
Line = tuple[float, float, float, str]


def made(
    pages: Sequence[Sequence[Line]],
    *,
    outline: Sequence[tuple[int, str, int]] = (),
    labels: Sequence[tuple[int, int, str]] = (),
    title: str | None = None,
    password: str | None = None,
    picture: bool = False,
) -> bytes:
    """``outline`` has (level, title, page); ``labels`` has (first page, last page, style such as ``/r``)."""
    from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject, NumberObject

    writer = pypdf.PdfWriter()
    font = writer._add_object(
        DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
    )
    for lines in pages:
        page = writer.add_blank_page(WIDTH, HEIGHT)
        resources = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
        content = ""
        for left, bottom, size, text in lines:
            said = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            content += f"BT /F1 {size} Tf {left} {bottom} Td ({said}) Tj ET\n"
        if picture:
            image = DecodedStreamObject()
            image.set_data(b"\x80" * 16)
            for key, value in (("/Type", "/XObject"), ("/Subtype", "/Image"), ("/ColorSpace", "/DeviceGray")):
                image[NameObject(key)] = NameObject(value)
            for key, number in (("/Width", 4), ("/Height", 4), ("/BitsPerComponent", 8)):
                image[NameObject(key)] = NumberObject(number)
            resources[NameObject("/XObject")] = DictionaryObject({NameObject("/I"): writer._add_object(image)})
            content += "q 500 0 0 700 20 20 cm /I Do Q\n"
        page[NameObject("/Resources")] = resources
        stream = DecodedStreamObject()
        stream.set_data(content.encode("latin-1"))
        page[NameObject("/Contents")] = ArrayObject([writer._add_object(stream)])
    above: dict[int, object] = {}
    for level, name, number in outline:
        above[level] = writer.add_outline_item(title=name, page_number=number, parent=above.get(level - 1))
    for first, last, style in labels:
        writer.set_page_label(first, last, style=style, start=1)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def column(texts: Sequence[str], *, left: float = 50, top: float = 740, size: float = 10) -> list[Line]:
    """Lines below each other."""
    return [(left, top - 14 * number, size, text) for number, text in enumerate(texts)]
