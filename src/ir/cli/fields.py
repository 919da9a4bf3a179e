"""The arguments and options of a command, made from the fields of its request.

A command is a function that takes what only a terminal has (``--json``, words in a free order) as parameters of its
own and the fields that were given as ``**given``. Every word is checked by its field, as from every other door.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from ir.app.fields import Arg, Either, Field, Flag, Kind, Listed, Number, fields_of, fitting
from ir.cli.arguments import complete_corpus, complete_corpus_or_path, one_of
from ir.errors import InvalidInput

__all__ = ["WrongWord", "derived", "names_only"]

#: What a shell offers where help shows this.
_COMPLETIONS = {
    "CORPUS": complete_corpus,
    "CORPUS|PATH": complete_corpus_or_path,
    "[CORPUS...]": complete_corpus,
}


#: Whether commands are only listed.
_NAMES_ONLY: ContextVar[bool] = ContextVar("names_only", default=False)


@contextmanager
def names_only() -> Iterator[None]:
    """A block in which commands are made without options: to list them, no request has to be loaded."""
    token = _NAMES_ONLY.set(True)
    try:
        yield
    finally:
        _NAMES_ONLY.reset(token)


def _named(command: Callable[..., Any]) -> Callable[..., Any]:
    def listed() -> None: ...

    listed.__name__, listed.__doc__ = command.__name__, command.__doc__
    return listed


def derived(
    command: Callable[..., Any],
    request: str | Sequence[str],
    *,
    arguments: Sequence[str] = (),
    without: Sequence[str] = (),
    required: Sequence[str] = (),
    defaults: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """``command`` with the fields of ``request`` (``"module:Class"``) as parameters.

    A command of several operations has the fields of all their requests; those of one name are described alike.
    ``arguments`` are those fields that stand without an option, in this order; those among them that are ``required``
    have a default elsewhere. ``without`` are taken care of by the command itself. ``defaults`` are those that hold at
    a terminal instead of the request's.
    """
    if _NAMES_ONLY.get():
        return _named(command)
    known: dict[str, Field] = {}
    for one in (request,) if isinstance(request, str) else request:
        module, _, name = one.partition(":")
        known |= {
            key: field for key, field in fields_of(getattr(import_module(module), name)).items() if key not in known
        }
    other = defaults or {}
    taken = [known[one]._replace(default=other.get(one, known[one].default)) for one in known if one not in without]
    places = {field.name: field for field in taken if field.name in arguments}
    options = [field for field in taken if field.name not in places and field.arg.option]
    made = {one: _argument(places[one], required=one in required) for one in arguments}
    made |= {field.name: _option(field) for field in options}
    own = _own(command)
    before = [one for one in own if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    after = [one for one in own if one.kind is Parameter.KEYWORD_ONLY]
    parameters = [*before, *made.values(), *after]

    def run(**values: Any) -> Any:
        mine = {one.name: values[one.name] for one in own if one.name in values}
        given = dict(other)
        for field in (*places.values(), *options):
            value = _given(field, values.get(field.name))
            if value is not None:
                given[field.name] = _fitting(field, value, _label(field, places))
        return command(**mine, **given)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    shown = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


class WrongWord(InvalidInput):
    """A word on the command line that its field does not take; the help of the command says more."""


WrongWord.code = InvalidInput.code


def _fitting(field: Field, value: Any, label: str) -> Any:
    try:
        return fitting(field, value, label)
    except InvalidInput as error:
        raise WrongWord(error.message) from None


def _given(field: Field, value: Any) -> Any:
    """What the user said of a field; ``None`` if nothing."""
    if value is None or value == [] or value == _default(field):
        return None
    if isinstance(field.kind, Flag):
        said = not value if field.arg.negated else value
        return None if said is field.default else said
    return _read(field.kind, value)


def _own(command: Callable[..., Any]) -> list[Parameter]:
    """The parameters that the command declares itself, with types that can be read."""
    hints = get_type_hints(command, include_extras=True)
    return [
        one.replace(annotation=hints[one.name])
        for one in signature(command).parameters.values()
        if one.kind is not Parameter.VAR_KEYWORD
    ]


def _label(field: Field, places: dict[str, Field]) -> str:
    """What an error calls a field: as the user wrote it."""
    if field.name in places:
        return field.name
    return _flags(field)[0].partition("/")[0]


def _flags(field: Field) -> list[str]:
    long = field.arg.flag or f"--{field.name.replace('_', '-')}"
    return [long, *([field.arg.short] if field.arg.short else [])]


def _read(kind: Kind, word: Any) -> Any:
    """What a word on the command line stands for; a word that stands for nothing is left for the field to refuse."""
    if isinstance(kind, Either):
        return _read(kind.only, word) if kind.only is not None else word
    if isinstance(kind, Listed):
        return [_read(kind.of, one) for one in word]
    if isinstance(kind, Number) and isinstance(word, str):
        try:
            return int(word) if kind.whole else float(word)
        except ValueError:
            return word
    return word


def _type(kind: Kind) -> Any:
    """How Typer reads it: as words, or as a flag. What a word means is for the field to say."""
    if isinstance(kind, Either):
        return _type(kind.only) if kind.only is not None else str
    if isinstance(kind, Flag):
        return bool
    return list[str] if isinstance(kind, Listed) else str


def _help(field: Field) -> str:
    told = field.arg.help or f"{field.arg.doc[0].upper()}{field.arg.doc[1:]}."
    repeats = isinstance(field.kind, Listed) and field.arg.help is None and field.arg.flag is not None
    return f"{told} Repeatable." if repeats else told


def _default(field: Field) -> str | None:
    """The word for what a field is if nobody says anything, for help to show; nothing where its text says it."""
    if field.required or isinstance(field.kind, Flag) or not field.default:
        return None
    return str(field.default)


def _completion(arg: Arg) -> dict[str, Any]:
    if arg.metavar in _COMPLETIONS:
        return {"autocompletion": _COMPLETIONS[arg.metavar]}
    offered = arg.choices or arg.complete
    if not offered:
        return {}
    return {"autocompletion": one_of(among=offered) if isinstance(offered, str) else one_of(*offered)}


def _argument(field: Field, *, required: bool) -> Parameter:
    info = typer.Argument(metavar=field.arg.metavar, help=_help(field), show_default=False, **_completion(field.arg))
    kind = _type(field.kind)
    if field.required or required:
        return Parameter(field.name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info])


def _option(field: Field) -> Parameter:
    kind = _type(field.kind)
    said: dict[str, Any] = {"help": _help(field), **_completion(field.arg)}
    if kind is bool:
        info = typer.Option(*_flags(field), show_default="/" in _flags(field)[0], **said)
        default: Any = field.default is not field.arg.negated
        return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[bool, info])
    default = _default(field)
    info = typer.Option(*_flags(field), metavar=field.arg.metavar, show_default=default is not None, **said)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind | None, info])
