"""One error for whatever goes wrong in an engine for words."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

from ir.errors import Cancelled, IrError, KeywordError
from ir.secrets.addresses import masked

__all__ = ["told_as_fault", "unknown_collection"]

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
