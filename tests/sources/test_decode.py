"""How bytes become text: encodings that people have, and what is no text at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.sources.decode import NotText, decode

FRENCH = "Le café est à 80 degrés.\nUne théière, déjà usée.\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (FRENCH.encode(), None),
        (FRENCH.encode("utf-8-sig"), None),
        (FRENCH.encode("utf-16"), None),
        (b"\xfe\xff" + FRENCH.encode("utf-16-be"), None),
        (FRENCH.encode("utf-32"), None),
        (FRENCH.encode("utf-16-le"), "UTF-16 without a byte order mark"),
        (FRENCH.encode("utf-16-be"), "UTF-16 without a byte order mark"),
        (FRENCH.encode("cp1252"), "Windows-1252"),
        (FRENCH.encode("latin-1"), "Windows-1252"),
    ],
)
def test_every_encoding_that_editors_write_gives_the_same_text(data: bytes, encoding: str | None) -> None:
    assert decode(data) == (FRENCH, encoding)


def test_signs_that_only_windows_has_are_read_as_such() -> None:
    assert decode("“Price: 5 €” – a note".encode("cp1252")).text == "“Price: 5 €” – a note"


def test_a_byte_that_windows_lacks_is_latin_1() -> None:
    assert decode(b"plain words and one odd \x81 byte").encoding == "Latin-1"


def test_utf_8_with_a_broken_byte_keeps_all_that_is_right() -> None:
    text, encoding = decode("größer, schöner, wärmer".encode() + b" \xff end")
    assert (text, encoding) == ("größer, schöner, wärmer \ufffd end", "damaged UTF-8")


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\0\0\1\2" * 100,
        bytes(range(256)) * 20,
        b"text and then\0 a null byte \xe9 in other than UTF-8",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
        b"\0\0\0\0",
    ],
)
def test_what_is_no_text_is_called_binary(data: bytes) -> None:
    with pytest.raises(NotText, match="binary file"):
        decode(data)


def test_another_script_in_an_encoding_that_cannot_be_told_is_left_to_the_user() -> None:
    with pytest.raises(NotText, match="convert it to UTF-8"):
        decode("Зелёный чай заваривают при восьмидесяти градусах".encode("cp1251"))


def test_lines_that_end_with_cr_alone_can_be_counted() -> None:
    assert decode(b"one\rtwo\rthree").text == "one\ntwo\nthree"
    assert decode(b"one\r\ntwo\r\n").text == "one\r\ntwo\r\n"


@given(st.text())
def test_valid_utf_8_is_read_as_it_is(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    if b"\0" not in data and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe")) and "\r" not in text:
        assert decode(data) == (data.decode(), None)
