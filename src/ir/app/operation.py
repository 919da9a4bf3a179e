"""What an operation is: a typed function of a request, known by name to every edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_type_hints

from ir.base import json_clean
from ir.errors import InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from ir.app.context import Context

__all__ = ["Operation", "Value", "find_operation", "given", "operation", "operations"]


class Value:
    """A request or a response: a frozen dataclass that is plain JSON to the outside."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The fields in JSON's types only."""
        return {item.name: json_clean(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A value from JSON; a field that is unknown or missing is an error that names it."""
        known = {item.name: item for item in fields(cls)}
        for name in data:
            choice("field", name, known)
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        try:
            return cls(**given)
        except TypeError as error:
            raise InvalidInput(f"{cls.__name__} is not complete: {error}.") from error


def given(**options: Any) -> dict[str, Any]:
    """The options that were given: those that are not ``None``, so that the library's defaults hold for the others.

    >>> given(k=5, mode=None)
    {'k': 5}
    """
    return {name: value for name, value in options.items() if value is not None}


Request = TypeVar("Request", bound=Value)
Response = TypeVar("Response", bound=Value)


@dataclass(frozen=True)
class Operation:
    """One thing a user can do. ``read_only`` tells an edge that calling it changes nothing a user made."""

    name: str
    summary: str
    request: type[Value]
    response: type[Value]
    run: Callable[[Any, Context], Any]
    read_only: bool = False


_KNOWN: dict[str, Operation] = {}

#: The modules of this package that define operations.
_MODULES = (
    *("building", "searching", "corpora", "registering", "transfer", "storing", "watching", "doctor", "settings"),
    *("discovering", "evaluating", "casewriting", "selecting", "calibrating", "comparing", "graphing", "maintaining"),
    *("models", "tuning"),
)


def operation(
    name: str, *, summary: str, read_only: bool = False
) -> Callable[[Callable[[Request, Context], Response]], Callable[[Request, Context], Response]]:
    """Make a function the operation ``name``; its request and response types are read from its annotations."""

    def enrol(function: Callable[[Request, Context], Response]) -> Callable[[Request, Context], Response]:
        from ir.app.context import Context

        hints = get_type_hints(function, localns={"Context": Context})
        _KNOWN[name] = Operation(name, summary, hints["request"], hints["return"], function, read_only)
        return function

    return enrol


def operations() -> dict[str, Operation]:
    """Every operation by name."""
    for module in _MODULES:
        import_module(f"ir.app.{module}")
    return dict(sorted(_KNOWN.items()))


def find_operation(name: str) -> Operation:
    """The operation of that name; an unknown one is an error that lists them."""
    known = operations()
    return known[choice("operation", name, known)]
