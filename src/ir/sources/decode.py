"""Bytes of a file to text."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

__all__ = ["BINARY_SUFFIXES", "SNIFFED", "Decoded", "NotText", "decode", "decode_text", "looks_binary"]

#: So much of a file tells whether it is text.
SNIFFED = 8192
# UTF-32's mark begins with UTF-16's, so it is tried first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_BINARY = """
    7z a avi avif bin bmp bz2 class db dll dmg doc docx dylib eot exe faiss flac gif gz heic ico icns iso jar jpeg
    jpg lz4 m4a mkv mov mp3 mp4 npy npz o obj odt ogg onnx otf parquet pickle pkl png ppt pptx pt pth.tar pyc pyd
    pyo rar safetensors so sqlite sqlite3 tar tgz tif tiff ttf war wasm wav webm webp whl woff woff2 xls xlsx xz zip
    zst
"""
#: Suffixes of files that are never text, so that they need not be opened.
BINARY_SUFFIXES = frozenset(_BINARY.split())

#: Of two-byte text without a mark, so many of one half of the bytes are zero, and so few of the other.
_MOSTLY_ZERO, _HARDLY_ZERO = 0.4, 0.02
#: Text has hardly any control characters but those that lay it out.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.01
#: In no language that is written in Western Europe are more of the letters accented; so it is another encoding.
_MOST_ACCENTS = 0.3
_ACCENTED = bytes(range(0x80, 0x100))
_SPACE = b" \t\r\n\f"
_LONE_CR = re.compile(r"\r(?!\n)")


class NotText(Exception):
    """The bytes are not text; the message says why. It never leaves this package."""


class Decoded(NamedTuple):
    """A text, and the name of the encoding it was read by if that had to be found out."""

    text: str
    encoding: str | None = None


def decode_text(data: bytes) -> str:
    """The text of :func:`decode` alone."""
    return decode(data).text


def decode(data: bytes) -> Decoded:
    """UTF-8; UTF-16/32 with a byte order mark; else, with a word, what it must have been. Or :class:`NotText`.

    Where lines end with CR alone they end with LF afterwards, so that lines can be counted.
    """
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if marked is not None:
        return Decoded(_lines(_strict(data, marked)))
    if b"\0" in data[:SNIFFED]:
        return _two_byte(data)
    try:
        return Decoded(_lines(data.decode()))
    except UnicodeDecodeError as error:
        return _one_byte(data, error)


def looks_binary(head: bytes) -> bool:
    """Whether a file that begins so cannot be text."""
    if b"\0" not in head or any(head.startswith(mark) for mark, _ in _MARKS):
        return False
    encoding = _byte_order(head)
    return encoding is None or _has_controls(head.decode(encoding, "ignore"))


def _strict(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise NotText(f"not {name} text (byte {error.start}); convert it to UTF-8") from error


def _two_byte(data: bytes) -> Decoded:
    """UTF-16 without a mark: in Latin script every other byte is zero."""
    encoding = _byte_order(data[:SNIFFED])
    if encoding is None:
        raise NotText("binary file")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise NotText("binary file") from None
    if _has_controls(text):
        raise NotText("binary file")
    return Decoded(_lines(text), "UTF-16 without a byte order mark")


def _has_controls(text: str) -> bool:
    return sum(map(text.count, map(chr, _CONTROLS))) > _MOST_CONTROLS * len(text)


def _byte_order(head: bytes) -> str | None:
    even, odd = head[0::2], head[1::2]
    if not odd:
        return None
    first, second = even.count(0) / len(even), odd.count(0) / len(odd)
    if second > _MOSTLY_ZERO and first < _HARDLY_ZERO:
        return "utf-16-le"
    return "utf-16-be" if first > _MOSTLY_ZERO and second < _HARDLY_ZERO else None


def _one_byte(data: bytes, error: UnicodeDecodeError) -> Decoded:
    """Western European text of one byte to a character, or UTF-8 with some damage."""
    size = len(data)
    if b"\0" in data or size - len(data.translate(None, _CONTROLS)) > _MOST_CONTROLS * size:
        raise NotText("binary file") from error
    mended = data.decode("utf-8", "replace")
    damage = mended.count("\ufffd")
    if size - len(mended) > 3 * damage:
        # Far more is right than wrong: reading all of it by another encoding would spoil what is right.
        return Decoded(_lines(mended), "damaged UTF-8")
    dense = data.translate(None, _SPACE)
    if len(dense) - len(dense.translate(None, _ACCENTED)) > _MOST_ACCENTS * len(dense):
        raise NotText(f"not UTF-8 text (byte {error.start}); convert it to UTF-8") from error
    try:
        return Decoded(_lines(data.decode("cp1252")), "Windows-1252")
    except UnicodeDecodeError:
        return Decoded(_lines(data.decode("latin-1")), "Latin-1")


def _lines(text: str) -> str:
    return _LONE_CR.sub("\n", text) if "\r" in text and "\n" not in text else text
