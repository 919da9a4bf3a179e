"""What the server, the network and the client library complain about, said in terms of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ir.errors import CorpusBusy, CorpusError, CorpusNotBuilt, IrError, StoreUnwritable
from ir.store.postgres.address import Address

__all__ = ["busy", "full_pool", "is_passing", "removed", "translated", "unreachable"]

#: What a server that cannot be reached says, and what to do then.
_CONNECTING = (
    ("password authentication failed", "refused the password", "Correct it in ~/.pgpass or PGPASSWORD."),
    ("no password supplied", "asks for a password", "Put it in ~/.pgpass or PGPASSWORD."),
    ("refused", "takes no connections", "Start the server, or correct the host and port."),
    ("no such file", "takes no connections", "Start the server, or correct the host and port."),
    ("could not translate host", "was not found", "Correct the host name."),
    ("name or service not known", "was not found", "Correct the host name."),
    ("failed to resolve host", "was not found", "Correct the host name."),
    ("name resolution", "was not found", "Correct the host name."),
    ("timeout", "did not answer in time", "Check the network, the host and the port."),
    ("too many clients", "has no connection left", "Close some, or raise its max_connections."),
    ("remaining connection slots", "has no connection left", "Close some, or raise its max_connections."),
    ("starting up", "is starting", "Wait a moment, then try again."),
    ("recovery mode", "is recovering from a crash", "Wait a moment, then try again."),
    ("shutting down", "is shutting down", "Start it again, then try again."),
    ("role", "does not know this user, or does not let it in", "Correct the user, or create it."),
    ("pg_hba.conf", "does not let this user in from here", "Ask whoever keeps the server."),
    ("database", "has no such database", "Create it with: createdb NAME"),
)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn the library's errors into ones that say what to do next; none of them holds a password."""
    try:
        yield
    except IrError:
        raise
    except psycopg.Error as error:
        raise _known(error, address) from error


def removed(address: Address) -> CorpusNotBuilt:
    return CorpusNotBuilt(
        f"The corpus at {address.label} was removed after it was opened here.",
        remedy="Build it again, or open another one.",
    )


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed when it is simply tried again."""
    return isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected))


def _known(error: psycopg.Error, address: Address) -> IrError:
    where = f"The corpus at {address.label}"
    if isinstance(error, errors.QueryCanceled):
        if "timeout" in str(error):
            return CorpusError(
                f"{where} did not answer within {address.timeout:g} seconds; the query was cancelled.",
                remedy="Narrow the search, or allow more with ?timeout=SECONDS in the address.",
            )
        return CorpusError(f"A query to {address.label} was cancelled on the server.", remedy="Try again.")
    if is_passing(error):
        return CorpusBusy(
            f"{where} was changed by another writer at the same time; nothing was written.", remedy="Try again."
        )
    if isinstance(error, (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege)):
        return StoreUnwritable(
            f"{where} may not be used like this: {_first_line(error)}.",
            remedy="Use a user that may, and the primary server for writing.",
        )
    if isinstance(error, (errors.DiskFull, errors.OutOfMemory, errors.InsufficientResources)):
        return StoreUnwritable(
            f"The server of {address.label} has no room left: {_first_line(error)}. Nothing was changed.",
            remedy="Free some space there and run it again.",
        )
    if isinstance(error, psycopg.OperationalError):
        return CorpusError(
            f"The connection to {address.label} was lost. A write that had not returned may or may not be kept, "
            "but never in part.",
            remedy="Try again: the next call connects anew.",
        )
    return CorpusError(f"{where} cannot be used: {_first_line(error)}.")


def unreachable(error: psycopg.OperationalError, address: Address) -> CorpusError:
    """Why no connection could be made; the library has no codes for that, only words."""
    text = str(error).lower()
    for word, fact, remedy in _CONNECTING:
        if word in text:
            return CorpusError(f"The PostgreSQL server of {address.label} {fact}.", remedy=remedy)
    return CorpusError(f"The PostgreSQL server of {address.label} cannot be reached: {_first_line(error)}.")


def busy(address: Address, holder: str) -> CorpusBusy:
    who = f" ({holder})" if holder else ""
    return CorpusBusy(
        f"The corpus at {address.label} is being written by another session{who}.",
        remedy="Wait until it is done, then try again. What was built before can be searched meanwhile.",
    )


def full_pool(address: Address) -> CorpusBusy:
    return CorpusBusy(
        f"All {address.pool} connections of this process to {address.label} are in use.",
        remedy="Hold fewer snapshots at once, or allow more connections with ?pool=NUMBER in the address.",
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
