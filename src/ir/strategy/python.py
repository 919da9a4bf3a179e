"""The units of a Python file, by Python's own parser."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from ir.strategy.code import Unit, Unparsable

__all__ = ["cut"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT = re.compile(r"[ \t]*#")
#: Statements that hold others deeper than this are not looked into.
_DEEPEST = 20
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def cut(text: str) -> list[Unit]:
    """Functions, classes and the code between them; :class:`ir.strategy.code.Unparsable` if it is not Python.

    >>> [(unit.kind, unit.name) for unit in cut("import os\\n\\n\\ndef f():\\n    return os\\n")]
    [('code', ''), ('function', 'f')]
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and the like in somebody else's code
            tree = ast.parse(text)
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise Unparsable(f"{error.msg}{where}") from None
    except ValueError as error:  # null bytes, before Python 3.12
        raise Unparsable(str(error)) from None
    except (RecursionError, MemoryError):
        raise Unparsable("nested too deeply") from None
    return _Cut(text).units(tree.body, "", 0)


class _Cut:
    def __init__(self, text: str) -> None:
        self._text = text
        ends = [match.end() for match in _LINE_END.finditer(text)]
        #: Where each line begins, and the end of the text.
        self._lines = [0, *ends, len(text)] if not ends or ends[-1] != len(text) else [0, *ends]

    def units(self, statements: Sequence[ast.stmt], owner: str, depth: int) -> list[Unit]:
        """A unit for each statement; several on one line are one."""
        units: list[Unit] = []
        for statement in statements:
            unit = self._unit(statement, owner, depth)
            if units and unit.start < units[-1].end:
                units[-1] = units[-1]._replace(end=max(unit.end, units[-1].end))
            else:
                units.append(unit)
        return units

    def _unit(self, statement: ast.stmt, owner: str, depth: int) -> Unit:
        line = statement.lineno
        if isinstance(statement, _Definition):
            line = min([line, *(decorator.lineno for decorator in statement.decorator_list)])
        start, end = self._start(line), self._line(statement.end_lineno or statement.lineno)
        if not isinstance(statement, _Definition):
            return Unit(start, end, "code", "", owner, self._inside(start, statement, owner, depth))
        kind = "class" if isinstance(statement, ast.ClassDef) else "method" if owner else "function"
        qualified = f"{owner}.{statement.name}" if owner else statement.name
        return Unit(start, end, kind, statement.name, owner, self._inside(start, statement, qualified, depth))

    def _inside(self, start: int, statement: ast.stmt, owner: str, depth: int) -> tuple[Unit, ...]:
        """What stands in a statement, after the line or lines that open it."""
        if depth >= _DEEPEST:
            return ()
        inner = [
            one
            for block in ("body", "handlers", "orelse", "finalbody", "cases")
            for one in getattr(statement, block, ())
        ]
        flat = [one for each in inner for one in (each.body if not isinstance(each, ast.stmt) else (each,))]
        units = self.units(flat, owner, depth + 1)
        return tuple(units) if not units or units[0].start <= start else (Unit(start, units[0].start), *units)

    def _start(self, number: int) -> int:
        """Where a line begins, or the comment right above it."""
        while number > 1 and _COMMENT.match(self._text, self._lines[number - 2], self._lines[number - 1]):
            number -= 1
        return self._lines[number - 1]

    def _line(self, number: int) -> int:
        """Where a line ends."""
        return self._lines[min(number, len(self._lines) - 1)]
