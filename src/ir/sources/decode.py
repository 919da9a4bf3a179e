"""Bytes of a file to text."""

from __future__ import annotations

import codecs

__all__ = ["BINARY_SUFFIXES", "NotText", "decode_text"]

_SNIFFED = 8192
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


class NotText(Exception):
    """The bytes are not text; the message says why. It never leaves this package."""


def decode_text(data: bytes) -> str:
    """UTF-8, or UTF-16/32 with a byte order mark; anything else is :class:`NotText`."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        if b"\0" in data[:_SNIFFED]:
            raise NotText("binary file")
        encoding = "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise NotText(f"not {name} text (byte {error.start}); convert it to UTF-8") from error
