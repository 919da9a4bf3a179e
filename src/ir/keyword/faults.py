"""One error for whatever goes wrong in an engine for words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from ir.errors import Cancelled, IrError, KeywordError
from ir.keywords import KeywordResult
from ir.secrets.addresses import masked
from ir.waiting import TookTooLong, within

__all__ = ["TIMEOUT_S", "answered_within", "silent", "told_as_fault", "unknown_collection"]

#: So long an engine on a server is waited for, unless the caller says otherwise.
TIMEOUT_S = 30.0
#: An engine that watches the clock itself can explain better why it is late, so it gets this much longer.
_GRACE_S = 0.5
_SHOWN = 300


@contextmanager
def told_as_fault(name: str) -> Iterator[None]:
    """Turn what is raised inside into a :class:`~ir.errors.KeywordError`, but not that somebody cancelled."""
    try:
        yield
    except (KeywordError, Cancelled, CancelledError):
        raise
    except IrError as error:
        raise KeywordError(f"The keyword back end {name!r} failed: {error.message}", remedy=error.remedies) from error
    except Exception as error:
        said = masked(" ".join(str(error).split()))[:_SHOWN].rstrip(".")
        kind = type(error).__name__
        raise KeywordError(f"The keyword back end {name!r} failed: {f'{kind}: {said}' if said else kind}.") from error


def unknown_collection(name: str, collection: str, remedy: str = "") -> KeywordError:
    return KeywordError(f"The keyword back end {name!r} has no collection {collection!r}.", remedy=remedy)


def answered_within(
    timeout_s: float | None, name: str, search: Callable[[], list[KeywordResult]]
) -> list[KeywordResult]:
    """What ``search`` returns in time, however long its connection keeps silent."""
    limit = TIMEOUT_S if timeout_s is None else timeout_s
    try:
        return within(limit + _GRACE_S, search, "ir-keyword")
    except TookTooLong:
        raise silent(name, limit) from None


def silent(name: str, limit_s: float) -> KeywordError:
    return KeywordError(f"The keyword back end {name!r} did not answer within {limit_s:g} s.")
