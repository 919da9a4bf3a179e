"""Every operation as a plain function: keywords in, a typed response out.

>>> from ir import operations
>>> operations.ls().corpora
()
>>> operations.search(query="tea", k="ten")
Traceback (most recent call last):
...
ir.errors.InvalidInput: k must be a whole number of at least 1 and at most 1000, not 'ten'.

The names are those of the commands, with ``_`` for ``-`` and ``import_`` for ``import``. Corpora stay open between
calls; :func:`close` lets go of them. Nothing is indexed on the way: build first.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.answer import Event
    from ir.app.session import Session

__all__ = ["ask_events", "ask_events_async", "close"]

_lock = threading.Lock()
_session: Session | None = None


def close() -> None:
    """Close the corpora that earlier calls opened; the next call opens what it needs."""
    if _session is not None:
        _session.close()


def ask_events(**arguments: Any) -> Iterator[Event]:
    """The events of :func:`ask` as they come; closing the iterator ends the request to the language model."""
    from ir.app.asking import AskRequest
    from ir.app.asking import ask_events as events

    request = AskRequest.from_dict(arguments)
    context = _shared().context()
    try:
        yield from events(request, context)
    finally:
        context.release()


async def ask_events_async(**arguments: Any) -> AsyncIterator[Event]:
    """The same for ``async for``; each event is waited for in a thread."""
    from asyncio import to_thread

    events = ask_events(**arguments)
    try:
        while (event := await to_thread(next, events, None)) is not None:
            yield event
    finally:
        await to_thread(events.close)  # type: ignore[attr-defined]


def _shared() -> Session:
    global _session
    with _lock:
        if _session is None:
            from ir.app.session import Session

            _session = Session()
        return _session


def _python_name(name: str) -> str:
    plain = name.replace("-", "_")
    return f"{plain}_" if iskeyword(plain) else plain


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ir.app.operation import names

    known = {_python_name(one): one for one in names()}
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no operation {name!r}; there are {', '.join(sorted(known))}")
    made = globals()[name] = _function(known[name])
    return made


def _function(name: str) -> Callable[..., Any]:
    from ir.app.fields import fields_of
    from ir.app.operation import find_operation

    found = find_operation(name)

    def call(**arguments: Any) -> Any:
        return _shared().call(name, arguments)

    fields = fields_of(found.request).values()
    told = "\n".join(f"    ``{field.name}``: {field.arg.doc}." for field in fields)
    call.__name__ = call.__qualname__ = _python_name(name)
    call.__doc__ = f"{found.summary}.\n\n{told}\n"
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.required else field.default,
                annotation=field.hint,
            )
            for field in fields
        ],
        return_annotation=found.response,
    )
    return call


def __dir__() -> list[str]:
    from ir.app.operation import names

    return sorted({*__all__, *map(_python_name, names())})
