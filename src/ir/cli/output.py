"""Printing: one JSON document, tables for a person at a terminal, or plain text for a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ir.cli.streams import json_text
from ir.cli.visible import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

    from ir.app.operation import Value

__all__ = ["Output"]

#: Columns that have less room than this on average show letters below letters, or nothing.
NARROW_COLUMN = 8


class Output:
    """Where a command's result goes. ``pretty`` is true for a person at a terminal."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.pretty = not as_json and sys.stdout.isatty()
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """Rich's console on stdout; loaded only for a person."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False)
        return self._console

    def json(self, value: Value) -> bool:
        """Print ``value`` if JSON is wanted, and say whether it was."""
        if self.as_json:
            print(json_text(value.to_dict()))
        return self.as_json

    def line(self, text: str = "", *, style: str | None = None) -> None:
        text = visible(text)
        if self.pretty:
            self.console.print(text, style=style, markup=False, soft_wrap=True)
        else:
            print(text)

    def row(self, *cells: object) -> None:
        """Some values side by side, of which none can break the line."""
        self.line("\t".join(one_line(str(cell)) for cell in cells))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()) -> None:
        """A table; in a pipe, and on a screen that is too narrow for one, a header and tab-separated rows."""
        if not self.pretty or self.console.width < NARROW_COLUMN * len(columns):
            for row in (columns, *rows):
                self.row(*row)
            return
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column, justify="right" if column in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(one_line(str(cell)) for cell in row))
        self.console.print(table, markup=False)

    def pairs(self, values: Mapping[str, Any]) -> None:
        """Names and values, one to a line."""
        width = max(map(len, values), default=0)
        for name, held in values.items():
            value = one_line(str(held))
            if self.pretty:
                from rich.text import Text

                self.console.print(Text.assemble((f"{name:<{width}}  ", "bold"), value), soft_wrap=True)
            else:
                print(f"{name}\t{value}")


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "file"), count(2000, "file"), count(3, "entry", "entries")
    ('1 file', '2,000 files', '3 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: float) -> str:
    """A number of bytes for people.

    >>> size(900), size(1_500_000)
    ('900 B', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return ""
