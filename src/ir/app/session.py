"""A session: what lives as long as a process that answers many calls.

>>> from ir.app.session import Session
>>> with Session() as session:
...     session.call("ls", {}).corpora
()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ir.app.context import AGENT_DOORS, Caller, Context, Defer
from ir.app.fields import check_outside, clamped
from ir.app.operation import DOORS, Operation, Value, find_operation, operations
from ir.app.pool import Pool
from ir.app.servers import corpora_of
from ir.config import Settings, user_file
from ir.config.workspace import in_workspace
from ir.errors import InvalidInput
from ir.options import choice
from ir.registry import one_look

if TYPE_CHECKING:
    from ir.query import Answers

__all__ = ["Session"]

#: So long an open corpus waits for its next call.
IDLE_S = 600.0


class Session:
    """Calls operations by name, for whoever asks, with corpora that stay open in between. Threads may share one.

    Without ``settings`` the user's own are read, and read again when their file was changed.
    """

    def __init__(self, settings: Settings | None = None, *, open_corpora: int = 8, idle_s: float = IDLE_S) -> None:
        self.pool = Pool(open_corpora, idle_s)
        self._given = settings
        self._loaded: tuple[Any, Settings] | None = None
        self._answers: Answers | None = None
        self._making = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        if self._given is not None:
            return self._given
        state = _state_of_settings()
        if self._loaded is None or self._loaded[0] != state:
            self._loaded = (state, Settings.load())
        return self._loaded[1]

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        door: str = "python",
        caller: Caller | None = None,
        deadline_s: float | None = None,
        cancelled: Callable[[], bool] | None = None,
        progress: Callable[[Any], None] | None = None,
        note: Callable[[str], None] | None = None,
        emit: Callable[[Any], None] | None = None,
        allow_indexing: bool = False,
        defer: Defer | None = None,
    ) -> Any:
        """The response of the operation ``name`` to the arguments, which are those of its request.

        ``door`` says through what the call came: an operation that is not offered there is unknown there, and what an
        agent asks too much of is brought down, with a note. After ``deadline_s``, or when ``cancelled`` says so, the
        operation ends with an error. With ``allow_indexing`` a folder that was never built is built first, and a corpus
        is brought up to date where that is cheap; otherwise nothing is written for a question. ``emit`` receives what
        comes piece by piece; ``defer`` takes work that a caller does not want to wait for.
        """
        found = self.operation(name, door)
        notes: list[str] = []
        if door in AGENT_DOORS:
            check_outside(found.request, arguments)
            arguments, notes = clamped(found.request, arguments)
        request = found.request.from_dict(arguments)
        chosen = in_workspace(caller.workspace) if caller is not None and caller.workspace else nullcontext()
        with chosen, one_look():
            ctx = self.context(
                door=door, caller=caller, deadline_s=deadline_s, cancelled=cancelled, progress=progress, note=note
            )
            ctx.defer = defer
            if emit is not None:
                ctx.emit = emit
            try:
                if allow_indexing:
                    from ir.app.preparing import answer

                    response = answer(found, request, ctx)
                else:
                    response = found(request, ctx)
            finally:
                ctx.release()
        return _told(response, notes, ctx)

    def checked(self, name: str, arguments: Mapping[str, Any], *, door: str, caller: Caller | None = None) -> str:
        """The corpus that a call is about, or the first, once all is found right that can be told before it begins."""
        found = self.operation(name, door)
        if door in AGENT_DOORS:
            check_outside(found.request, arguments)
            arguments, _ = clamped(found.request, arguments)
        request = found.request.from_dict(arguments)
        chosen = in_workspace(caller.workspace) if caller is not None and caller.workspace else nullcontext()
        with chosen:
            ctx = self.context(door=door, caller=caller)
            try:
                found.check(request, ctx)
                if found.precheck is not None:
                    found.precheck(request, ctx)
                return next(iter([ctx.target(word).name for word in corpora_of(request)]), "")
            finally:
                ctx.release()

    def operation(self, name: str, door: str = "python") -> Operation[Any, Any]:
        """The operation of that name, if the door offers it."""
        choice("door", door, ("python", *DOORS))
        found = find_operation(name)
        if door != "python" and door not in found.doors:
            choice("operation", name, self.offered(door))
        return found

    def offered(self, door: str) -> dict[str, Operation[Any, Any]]:
        """The operations that a door offers."""
        return {name: one for name, one in operations().items() if door in one.doors}

    def context(
        self,
        *,
        door: str = "python",
        caller: Caller | None = None,
        deadline_s: float | None = None,
        cancelled: Callable[[], bool] | None = None,
        progress: Callable[[Any], None] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> Context:
        """What one call is given; whoever asks for it has to :meth:`Context.release` it."""
        if deadline_s is not None and not deadline_s > 0:
            raise InvalidInput(f"deadline_s must be above 0, not {deadline_s!r}.")
        ctx = Context(
            self.settings,
            door=door,
            caller=caller,
            deadline=None if deadline_s is None else monotonic() + deadline_s,
            cancelled=cancelled,
            pool=self.pool,
            answers=self.answers,
        )
        ctx.progress = _checking(ctx, progress)
        if note is not None:
            ctx.note = note
        return ctx

    def answers(self) -> Answers:
        """The answers that calls share, each with the version of the corpus that it was made from."""
        from ir.query import VersionedCache

        with self._making:
            if self._answers is None:
                self._answers = VersionedCache()
            return self._answers

    def sweep(self) -> None:
        """Close corpora that nobody has asked for long; a process that waits calls it now and then."""
        self.pool.sweep()

    def close(self) -> None:
        """Close all corpora; those in use when their calls end."""
        self.pool.close()


def _checking(ctx: Context, progress: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """Whoever reports progress learns at the same time that nobody waits for it any more."""

    def report(step: Any) -> None:
        ctx.check()
        if progress is not None:
            progress(step)

    return report


def _told(response: Value, notes: list[str], ctx: Context) -> Value:
    """The response with what is to be known of the call itself."""
    if not notes:
        return response
    if isinstance(getattr(response, "notes", None), tuple):
        told: Any = response
        return replace(told, notes=(*notes, *told.notes))  # type: ignore[no-any-return]
    for sentence in notes:
        ctx.note(sentence)
    return response


def _state_of_settings() -> tuple[int, int] | None:
    try:
        found = user_file().stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
