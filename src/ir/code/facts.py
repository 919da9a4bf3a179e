"""What is read from one source file, in the same shape for every language.

A file has *definitions* (module, types, functions), each under a symbol that is readable and stays the same when lines
move. What a name stands for is kept as *expressions*, small nested tuples that an evaluator follows across files:

====================== ==========================================================================
``("n", name)``        a name of the file's outermost scope, or of the language
``("v", scope, name)`` a variable of the function ``scope``: an index into the definitions, or a symbol
``("d", symbol)``      a definition of this file
``("self", symbol)``   an instance of the type ``symbol``, as ``self`` or ``this`` is
``("own", symbol, name)`` a member of the type ``symbol`` or of one around it, else the name ``name``
``("new", e)``         ``e`` as something that instances are made of
``("super", symbol)``  the same, from the next type in the order of inheritance on
``(".", e, name)``     a member of ``e``
``("()", e)``          what calling ``e`` gives
``("[]", e, key)``     an element of ``e``; without a key, any
``("t", a)``           an instance of the type that the annotation ``a`` names
``("k", name)``        an instance of a type of the language itself, as a literal is
``("l", e, ...)``      a list of these elements
``("{}", (key, e))``   a dictionary; a key that is not written out is ``None``
``("item", key, e)``   not a value: an element that was added to a variable
``("tuple", e, ...)``  several things that are taken apart by position
``("try", e)``         what is held in ``e``, or ``e`` itself
``("fn", a)``          a function that gives an instance of ``a``
``("variant", symbol)`` one of the cases of the type ``symbol``
``("|", e, ...)``      one of these
``None``               anything
====================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Call", "Definition", "Expression", "Facts", "Import", "Reference"]

Expression = tuple[Any, ...] | None


@dataclass
class Definition:
    """A module, type or function. ``symbol`` is unique in its file; ``owner`` is the index of what it is inside of."""

    symbol: str
    kind: str
    name: str
    owner: int
    start: int
    end: int
    line_start: int
    line_end: int
    signature: str = ""
    doc: str = ""
    #: For a type: what it inherits from or implements.
    bases: list[Expression] = field(default_factory=list)
    #: For a type: what its members stand for. Members of instances are among them.
    members: dict[str, list[Expression]] = field(default_factory=dict)
    #: For a function: what it gives back.
    returns: list[Expression] = field(default_factory=list)
    #: For a function: the variables of its own, with what they were given.
    variables: dict[str, list[Expression]] = field(default_factory=dict)
    #: For a function: the position of each parameter, ``self`` not counted.
    parameters: dict[str, int] = field(default_factory=dict)
    #: "property" for a function that is read like a variable, and the like.
    marks: frozenset[str] = frozenset()


class Import(NamedTuple):
    """A module that is asked for, and the name it gets here; ``name`` is ``"*"`` for all of its names."""

    module: str
    name: str | None
    alias: str | None
    line: int
    level: int = 0


class Call(NamedTuple):
    """``scope`` calls ``callee``; ``name`` is the last word of how it is written there."""

    scope: int
    callee: Expression
    name: str
    line: int
    #: What it gives to parameters, by position or name.
    given: tuple[tuple[str | int, Expression], ...] = ()
    #: How many arguments there are, where overloads are told apart by that.
    arity: int | None = None


class Reference(NamedTuple):
    """``scope`` names something without calling it."""

    scope: int
    target: Expression
    line: int


@dataclass
class Facts:
    """All of one file. The first definition is the file itself."""

    language: str
    path: str
    definitions: list[Definition]
    #: What the names of the outermost scope stand for.
    names: dict[str, list[Expression]] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    #: The names that a star import takes, where the file says so.
    exported: list[str] | None = None
    #: Members that this file gives to types by their symbols, which may be declared in another file; and their bases.
    extensions: dict[str, dict[str, list[Expression]]] = field(default_factory=dict)
    extended_bases: dict[str, list[Expression]] = field(default_factory=dict)
    #: Lines where the text could not be parsed; the rest was.
    errors: list[int] = field(default_factory=list)
    #: The package or namespace whose files see each other's names; empty where a file is a module of its own.
    unit: str = ""
    #: Names of the outermost scope that are of another package than the file's.
    elsewhere: dict[str, str] = field(default_factory=dict)

    def inside(self, symbol: str) -> Iterator[Definition]:
        """The definition ``symbol`` and those inside it."""
        for definition in self.definitions[1:]:
            if definition.symbol.startswith(symbol):
                yield definition
