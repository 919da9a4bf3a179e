"""Figures as plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["number", "plain_table"]


def number(value: object, digits: int = 4) -> str:
    """A figure for a table; a missing one is a dash.

    >>> number(0.123456), number(3), number(None)
    ('0.1235', '3', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def plain_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns padded with spaces: the first flush left, the others flush right.

    >>> print(plain_table(["k", "recall"], [["1", 0.5], ["10", None]]))
    k   recall
    1   0.5000
    10       –
    """
    cells = [list(header), *([number(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = [
            text.ljust(width) if at == 0 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
