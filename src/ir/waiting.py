"""Waiting for somebody who does not watch the clock: a user's function, a library that talks to a server."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["TookTooLong", "within"]

Answer = TypeVar("Answer")


class TookTooLong(Exception):
    """The answer was not there in time."""


def within(seconds: float, work: Callable[[], Answer], name: str) -> Answer:
    """What ``work`` returns or raises within so many seconds, else :class:`TookTooLong`.

    Python cannot end a call from outside: one that is late goes on in a thread called ``name``, which does not keep the
    process from ending, and what it returns is lost.

    >>> within(5, lambda: 3, "counting")
    3
    """
    ended = threading.Event()
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    if not ended.wait(seconds):
        raise TookTooLong
    if errors:
        raise errors[0]
    return answers[0]
