"""Text of unknown origin made fit for a screen: what would steer a terminal, or tear a line apart, becomes a sign.

Each character becomes one other, so that places in the text stay what they were.
"""

from __future__ import annotations

__all__ = ["one_line", "visible"]

_REPLACEMENT = 0xFFFD
#: Separators of lines and paragraphs, and what reverses the direction of writing.
_UNRULY = (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ONE_LINE = {
    **{code: 0x2400 + code for code in range(0x20)},  # Unicode has a picture of each control character
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_UNRULY), _REPLACEMENT),
}
_VISIBLE = {code: sign for code, sign in _ONE_LINE.items() if chr(code) not in "\t\n"}
_VISIBLE[ord("\r")] = ord(" ")  # the end of a line, in files from Windows


def visible(text: str) -> str:
    r"""``text`` without control characters; lines and tabs stay.

    >>> visible("a\x1b[2J\tb\r\n")
    'a␛[2J\tb \n'
    """
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    r"""The same on one line, for a name or a cell of a table.

    >>> one_line("a\nb")
    'a␊b'
    """
    return text.translate(_ONE_LINE)
