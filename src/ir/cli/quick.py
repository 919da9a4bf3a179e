"""Reading plain arguments without Typer's validation, whose imports take longer than a search.

A command is declared once, for Typer. What is read here is read the same way; whatever is not plain (help, an unknown
option, a value that does not fit, a missing argument) is left to Typer, which then says what is wrong.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Union, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

__all__ = ["read_arguments"]


class _NotPlain(Exception):
    """This needs Typer."""


@dataclass(frozen=True)
class _Parameter:
    name: str
    kind: type
    many: bool
    info: ArgumentInfo | OptionInfo


def read_arguments(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """The keywords with which to call ``command``, or ``None`` if Typer has to look at the words."""
    try:
        return _read(command, list(words))
    except _NotPlain:
        return None


def _read(command: Callable[..., Any], words: list[str]) -> dict[str, Any]:
    parameters = _parameters(command)
    flags = {flag: (item, value) for item in parameters for flag, value in _flags(item)}
    values: dict[str, Any] = {}
    positional: list[str] = []
    while words:
        word = words.pop(0)
        name, equals, inline = word.partition("=")
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        if name not in flags or (equals and not name.startswith("--")):
            raise _NotPlain
        item, value = flags[name]
        if item.kind is not bool:
            value = _converted(item, inline if equals else words.pop(0) if words else None)
        elif equals:
            raise _NotPlain
        if item.many:
            values.setdefault(item.name, []).append(value)
        else:
            values[item.name] = value
    _place(positional, [item for item in parameters if isinstance(item.info, ArgumentInfo)], values)
    return _complete(command, values)


def _place(words: list[str], arguments: list[_Parameter], values: dict[str, Any]) -> None:
    for item in arguments:
        taken = words[:] if item.many else words[:1]
        del words[: len(taken)]
        if taken:
            values[item.name] = taken if item.many else taken[0]
    if words:
        raise _NotPlain


def _complete(command: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    for name, parameter in signature(command).parameters.items():
        if name not in values and parameter.default is parameter.empty:
            raise _NotPlain
    return values


def _converted(item: _Parameter, word: str | None) -> Any:
    if word is None or (word.startswith("-") and item.kind is str):
        raise _NotPlain
    if item.kind is str:
        return word
    try:
        value = item.kind(word)
    except ValueError:
        raise _NotPlain from None
    if item.info.min is not None and value < item.info.min:
        raise _NotPlain
    return value


def _flags(item: _Parameter) -> list[tuple[str, bool]]:
    """The words that stand for an option, with the value of one that takes none."""
    found: list[tuple[str, bool]] = []
    # Inside Annotated the first name lands where Typer otherwise keeps the default.
    names = (item.info.default, *(item.info.param_decls or ())) if isinstance(item.info, OptionInfo) else ()
    for declared in names:
        on, slash, off = str(declared).partition("/")
        found.append((on, True))
        if slash:
            found.append((off, False))
    return found


def _parameters(command: Callable[..., Any]) -> list[_Parameter]:
    return [
        _parameter(name, hint)
        for name, hint in get_type_hints(command, include_extras=True).items()
        if name != "return"
    ]


def _parameter(name: str, hint: Any) -> _Parameter:
    annotated, *infos = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    info = infos[0] if infos else None
    kind, many = _kind(annotated)
    if kind not in (str, int, float, bool) or not isinstance(info, (ArgumentInfo, OptionInfo)):
        raise _NotPlain
    return _Parameter(name, kind, many, info)


def _kind(hint: Any) -> tuple[Any, bool]:
    """The plain type of a hint, and whether it is a list of such; ``None`` as an alternative does not matter."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not types.NoneType)
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    return hint, False
