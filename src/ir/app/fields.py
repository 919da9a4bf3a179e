"""What a field of a request may be: said once, where the field is, and checked for every door.

>>> from dataclasses import dataclass
>>> from typing import Annotated
>>> from ir.app.operation import Value
>>> @dataclass(frozen=True)
... class Asked(Value):
...     query: Annotated[str, Arg("what to look for", blank=False)]
...     k: Annotated[int, Arg("how many results", min=1, max=1000)] = 10
>>> Asked.from_dict({"query": "tea", "k": "ten"})
Traceback (most recent call last):
...
ir.errors.InvalidInput: k must be a whole number of at least 1 and at most 1000, not 'ten'.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from math import isfinite
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from ir.errors import InvalidInput
from ir.options import choice

__all__ = [
    "Arg",
    "Field",
    "check",
    "check_outside",
    "clamped",
    "fields_of",
    "fitting",
    "from_data",
    "is_bare",
    "kind_of",
]

_Value = TypeVar("_Value")
#: What is said of a text that has to say something.
EMPTY = "text that is not empty"
#: So much of a wrong value is repeated in a message.
_SHOWN = 80


@dataclass(frozen=True)
class Arg:
    """A field's description, its bounds, and how a command line takes it.

    ``choices`` are the allowed words, or ``"module:NAME"`` that holds or returns them. ``min`` and ``max`` are for
    numbers; ``max_chars`` for texts, and texts that are ``blank`` may be forbidden; ``max_items`` for lists. With
    ``clamp`` an agent that asks for more than ``max`` gets that, and a note.

    ``flag`` and ``short`` are the words of the option (``--field-name`` if not said; ``--yes/--no`` for one that can
    be negated), ``metavar`` stands for its value in help, ``help`` for ``doc`` where a terminal needs other words,
    ``complete`` is what a shell offers, in the same form as ``choices``. A field with ``option=False`` has no option,
    and that of a ``negated`` one turns it off.

    Programs that are not the user may not give a ``private`` field at all, and a ``bare`` one only as a name: no path
    and no address of a server comes in through them. A field with a ``setting`` may name a server that texts are sent
    to; such programs may name there what the user chose, in that setting or for the corpus, and no other.
    """

    doc: str = ""
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] | str = ()
    clamp: bool = False
    blank: bool = True
    max_chars: int | None = None
    max_items: int | None = None
    flag: str | None = None
    short: str | None = None
    metavar: str | None = None
    help: str | None = None
    complete: tuple[str, ...] | str = ()
    option: bool = True
    negated: bool = False
    private: bool = False
    bare: bool = False
    setting: str | None = None

    def allowed(self) -> tuple[str, ...]:
        """The words that the field may be; nothing if any will do."""
        return held(self.choices)


def held(choices: tuple[str, ...] | str) -> tuple[str, ...]:
    """Words, also those that ``"module:NAME"`` stands for; the module is loaded when it is needed."""
    if isinstance(choices, str):
        module, _, name = choices.partition(":")
        found: Any = getattr(import_module(module), name)
        return tuple(found() if callable(found) else found)
    return choices


class Misfit(Exception):
    """A value that is not what a field takes: where in it, and what would be."""

    def __init__(self, value: Any, says: str, at: str = "") -> None:
        super().__init__(says)
        self.value = value
        self.says = says
        self.at = at


class Kind:
    """What a value has to be. ``take`` returns it as the request holds it, or raises :class:`Misfit`."""

    says = "anything"

    def take(self, value: Any) -> Any:
        return value

    def misfit(self, value: Any) -> Misfit:
        return Misfit(value, self.says)


class Anything(Kind):
    """Whatever JSON can say."""


class Nothing(Kind):
    says = "null"

    def take(self, value: Any) -> Any:
        if value is None:
            return value
        raise self.misfit(value)


class Flag(Kind):
    says = "true or false"

    def take(self, value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        raise self.misfit(value)


class Text(Kind):
    def __init__(self, arg: Arg) -> None:
        self.arg = arg
        self.says = "text"
        if arg.max_chars is not None:
            self.says += f" of at most {arg.max_chars:,} characters"

    def take(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.misfit(value)
        if not self.arg.blank and not value.strip():
            raise Misfit(value, EMPTY)
        if self.arg.max_chars is not None and len(value) > self.arg.max_chars:
            raise self.misfit(value)
        return value


class Word(Kind):
    """One of a few words."""

    def __init__(self, choices: tuple[str, ...] | str) -> None:
        self._choices = choices

    @property
    def words(self) -> tuple[str, ...]:
        return held(self._choices)

    @property
    def says(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(map(repr, self.words))}"

    def take(self, value: Any) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise self.misfit(value)


class Number(Kind):
    """A whole number, or any; a truth value is none, though Python counts it as one."""

    def __init__(self, arg: Arg, *, whole: bool) -> None:
        self.arg = arg
        self.whole = whole
        if not whole and arg.min is not None and arg.max is not None:
            self.says = f"a number between {arg.min:g} and {arg.max:g}"
            return
        bounds = [f"of at least {arg.min:g}"] if arg.min is not None else []
        bounds += [f"{'at' if bounds else 'of at'} most {arg.max:.0f}"] if arg.max is not None else []
        self.says = " ".join(("a whole number" if whole else "a number", " and ".join(bounds))).strip()

    def take(self, value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            raise self.misfit(value)
        number: int | float = int(value) if isinstance(value, Integral) else float(value)
        if not isfinite(number) or not self._within(number):
            raise self.misfit(value)
        return number

    def _within(self, number: float) -> bool:
        return (self.arg.min is None or number >= self.arg.min) and (self.arg.max is None or number <= self.arg.max)


class Listed(Kind):
    """A list of things of one kind; the request holds a tuple."""

    def __init__(self, of: Kind, arg: Arg) -> None:
        self.of = of
        self.max_items = arg.max_items
        self.says = "a list" if arg.max_items is None else f"a list of at most {arg.max_items}"

    def take(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or (self.max_items is not None and len(value) > self.max_items):
            raise self.misfit(value)
        return tuple(_taken(self.of, item, f"[{number}]") for number, item in enumerate(value))


class Mapped(Kind):
    says = "a mapping"

    def __init__(self, of: Kind) -> None:
        self.of = of

    def take(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self.misfit(value)
        return {key: _taken(self.of, item, f"[{key!r}]") for key, item in value.items()}


class Either(Kind):
    """One of several kinds; ``None`` is not told among them: whoever wants nothing leaves the field out."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self.kinds = kinds
        told = [kind for kind in kinds if not isinstance(kind, Nothing)]
        self.only = told[0] if len(told) == 1 else None
        self._told = told

    @property
    def says(self) -> str:  # type: ignore[override]
        return " or ".join(kind.says for kind in self._told)

    def take(self, value: Any) -> Any:
        if value is None and len(self._told) < len(self.kinds):
            return None
        if self.only is not None:
            return self.only.take(value)
        inner: Misfit | None = None
        for kind in self._told:
            try:
                return kind.take(value)
            except Misfit as misfit:
                inner = misfit if misfit.at else inner
        raise inner or self.misfit(value)


class Nested(Kind):
    """A value of its own inside a request."""

    says = "an object"

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    def take(self, value: Any) -> Any:
        if isinstance(value, self.shape):
            return check(value)
        if not isinstance(value, Mapping):
            raise self.misfit(value)
        return from_data(self.shape, value)


def _taken(kind: Kind, value: Any, at: str) -> Any:
    try:
        return kind.take(value)
    except Misfit as misfit:
        misfit.at = at + misfit.at
        raise


def kind_of(hint: Any, arg: Arg = Arg()) -> Kind:
    """What a type says of the values of a field."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(inner[0], next((one for one in inner[1:] if isinstance(one, Arg)), arg))
    if origin in (Union, types.UnionType):
        return Either(tuple(kind_of(one, arg) for one in inner))
    if origin is Literal:
        return Word(tuple(map(str, inner)))
    if hint is types.NoneType or hint is None:
        return Nothing()
    if hint is bool:
        return Flag()
    if hint is str:
        return Word(arg.choices) if arg.choices else Text(arg)
    if hint in (int, float):
        return Number(arg, whole=hint is int)
    if origin in (tuple, list):
        return Listed(kind_of(inner[0], arg) if inner else Anything(), arg)
    if hint in (tuple, list):
        return Listed(Anything(), arg)
    if isinstance(origin or hint, type) and issubclass(origin or hint, Mapping):
        return Mapped(kind_of(inner[1]) if len(inner) == 2 else Anything())
    if hasattr(hint, "__dataclass_fields__"):
        return Nested(hint)
    return Anything()


class Field(NamedTuple):
    """A field of a request with all that is known of it."""

    name: str
    hint: Any
    kind: Kind
    arg: Arg
    default: Any

    @property
    def required(self) -> bool:
        return self.default is MISSING


_FIELDS: dict[Any, dict[str, Field]] = {}


def fields_of(shape: Any) -> dict[str, Field]:
    """The fields of a request by name; looked into once."""
    found = _FIELDS.get(shape)
    if found is None:
        found = _FIELDS[shape] = _read_fields(shape)
    return found


def _read_fields(shape: Any) -> dict[str, Field]:
    hints = get_type_hints(shape, include_extras=True)
    found = {}
    for item in fields(shape):
        hint = hints[item.name]
        parts = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        arg = next((one for one in parts[1:] if isinstance(one, Arg)), Arg())
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        found[item.name] = Field(item.name, parts[0], kind_of(hint), arg, default)
    return found


def from_data(shape: type[_Value], data: Mapping[str, Any]) -> _Value:
    """A request from plain data; an error names the field, what was given and what is allowed."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{shape.__name__} is made from named fields, not from {_shown(data)}.")
    known = fields_of(shape)
    for name in data:
        choice("field", name, known)
    given = {name: fitting(known[name], value) for name, value in data.items()}
    missing = [field.name for field in known.values() if field.required and field.name not in given]
    if missing:
        told = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        raise InvalidInput(f"{told} {'is' if len(missing) == 1 else 'are'} missing.")
    return shape(**given)


def check(request: _Value) -> _Value:
    """A request that was made in Python, checked like one that came from elsewhere."""
    changed = {}
    for field in fields_of(type(request)).values():
        value = getattr(request, field.name)
        taken = value if value is field.default else fitting(field, value)
        if taken is not value and type(taken) is not type(value):
            changed[field.name] = taken
    if changed:
        from dataclasses import replace

        return replace(request, **changed)  # type: ignore[type-var]
    return request


def clamped(shape: type[Any], data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The data with numbers brought down to what is allowed, where the field says so; and what to tell about it."""
    out, notes = dict(data), []
    for name, field in fields_of(shape).items():
        value, most = out.get(name), field.arg.max
        if not field.arg.clamp or most is None or isinstance(value, bool):
            continue
        if isinstance(value, int | float) and value > most:
            out[name] = type(value)(most)
            notes.append(f"{name} is {most:.0f}, the most that is allowed; {value:g} was asked for.")
    return out, notes


def check_outside(shape: type[Any], data: Mapping[str, Any]) -> None:
    """An error for what only the user may give, when somebody else asks."""
    known = fields_of(shape)
    public = {name: field for name, field in known.items() if not field.arg.private}
    for name, value in data.items():
        choice("field", name, public)
        if public[name].arg.bare and isinstance(value, str) and not is_bare(value):
            raise InvalidInput(f"{name} must be a plain name, not {_shown(value)}.")


#: A word that leads nowhere: no folder, no parent, no home, no address.
BARE = r"^[A-Za-z0-9][^/\\\x00]*$"


def is_bare(word: str) -> bool:
    """Whether a word is a name alone, not a path nor the address of a server.

    >>> is_bare("minilm-int8"), is_bare("../models"), is_bare("http://host")
    (True, False, False)
    """
    return re.search(BARE, word) is not None


def fitting(field: Field, value: Any, label: str | None = None) -> Any:
    """A value as the field holds it; the error for one that does not fit calls the field by its ``label``."""
    try:
        return field.kind.take(value)
    except Misfit as misfit:
        name = f"{label or field.name}{misfit.at}"
        if misfit.says == EMPTY and isinstance(misfit.value, str):
            raise InvalidInput(f"The {name.replace('_', ' ')} is empty.", remedy="Give one.") from None
        if field.arg.choices and isinstance(misfit.value, str) and not isinstance(field.kind, Either):
            one = (field.arg.metavar or "").strip("[].").lower()  # of a list of words, one is wrong
            choice(one if misfit.at and one else name, misfit.value, field.arg.allowed())
        only = field.kind.only if isinstance(field.kind, Either) else None
        if isinstance(only, Word) and isinstance(misfit.value, str) and not misfit.at:
            choice(name, misfit.value, only.words)
        raise InvalidInput(f"{name} must be {misfit.says}, not {_shown(misfit.value)}.") from None


def _shown(value: Any) -> str:
    """A wrong value as a message repeats it: short, and without keys."""
    from ir.secrets.texts import for_show

    text = str(for_show(repr(value)))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
