"""What makes two strategies the same: their ids, and their form in a settings file."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from ir.errors import InvalidInput
from ir.options import choice
from ir.protocols import IndexingStrategy

__all__ = ["strategy_from_spec", "strategy_id", "strategy_to_spec"]

_DEEPEST = 20


def strategy_id(strategy: Any) -> str:
    """The class name and scalar parameters of a strategy, and of those it wraps; a different id means: index again.

    Parameters that are ``None`` are left out, so a new option does not make every corpus stale.

    >>> from ir.strategy import WholeText
    >>> strategy_id(WholeText(text_key="q"))
    "WholeText(kind='document', text_key='q')"
    """
    return _id(strategy, 0)


def _id(strategy: Any, depth: int) -> str:
    if depth > _DEEPEST:
        raise InvalidInput(f"Strategies are wrapped more than {_DEEPEST} deep; does one wrap itself?")
    parts = [
        f"{name}={shown}" for name, value in sorted(_parameters(strategy).items()) if (shown := _show(value, depth))
    ]
    return f"{type(strategy).__name__}({', '.join(parts)})"


def _parameters(strategy: Any) -> dict[str, Any]:
    names = set(getattr(strategy, "__dict__", ()))
    for cls in type(strategy).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    if getattr(strategy, "version", None) is not None:
        names.add("version")
    return {name: getattr(strategy, name, None) for name in names if not name.startswith("_")}


def _show(value: Any, depth: int) -> str:
    if isinstance(value, (str, bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        shown = [_show(item, depth + 1) for item in value]
        return f"[{', '.join(shown)}]" if shown and all(shown) else ""
    return _id(value, depth + 1) if hasattr(value, "decompose") else ""


def strategy_to_spec(strategy: Any) -> dict[str, Any]:
    """A strategy in JSON's types, for a settings file; :func:`strategy_from_spec` reads it back.

    >>> from ir.strategy import Chunked
    >>> strategy_to_spec(Chunked(chunk_size=500))
    {'type': 'Chunked', 'chunk_size': 500}
    """
    cls = type(strategy)
    builtin = _builtins().get(cls.__name__) is cls
    spec: dict[str, Any] = {"type": cls.__name__ if builtin else f"{cls.__module__}:{cls.__qualname__}"}
    for name, parameter in inspect.signature(cls).parameters.items():
        value = getattr(strategy, name, None)
        if value is None or value == parameter.default:
            continue
        if hasattr(value, "decompose"):
            spec[name] = strategy_to_spec(value)
        elif isinstance(value, (str, bool, int, float)):
            spec[name] = value
        else:
            raise InvalidInput(
                f"The strategy {cls.__name__} cannot be saved: its {name!r} is a {type(value).__name__}.",
                remedy="Build from Python with that strategy, or register the corpus without it.",
            )
    return spec


def strategy_from_spec(spec: Mapping[str, Any] | str | None) -> IndexingStrategy | None:
    """The strategy a spec describes (a name alone will do), ``None`` for none.

    ``"module:Class"`` imports the module: specs belong in the user's own settings.
    """
    if spec is None:
        return None
    given = {"type": spec} if isinstance(spec, str) else dict(spec)
    cls = _class_of(given.pop("type", None))
    known = inspect.signature(cls).parameters
    for name in given:
        choice(f"parameter of {cls.__name__}", name, known)
    made = {
        name: strategy_from_spec(value) if isinstance(value, Mapping) and "type" in value else value
        for name, value in given.items()
    }
    strategy: IndexingStrategy = cls(**made)
    return strategy


def _builtins() -> dict[str, Any]:
    from ir.strategy.chunked import Chunked
    from ir.strategy.fitted import Fitted
    from ir.strategy.package import Package
    from ir.strategy.skill import Skill
    from ir.strategy.turns import TurnPair
    from ir.strategy.whole import WholeText

    return {cls.__name__: cls for cls in (Chunked, Fitted, Package, Skill, TurnPair, WholeText)}


def _class_of(name: object) -> Any:
    module_name, _, attribute = str(name).partition(":")
    if not attribute:
        return _builtins()[choice("strategy", name, _builtins())]
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise InvalidInput(f"The strategy {name!r} cannot be loaded: {error}.") from error
    if not (isinstance(found, type) and hasattr(found, "decompose")):
        raise InvalidInput(f"{name!r} is not a strategy: it has no 'decompose'.")
    return found
