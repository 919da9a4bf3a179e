"""One client for each server, shared by the stores of a process; its errors in terms of a corpus."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ir.errors import CorpusError, InvalidInput, IrError, MissingExtra
from ir.secrets.addresses import masked
from ir.store.mongo.address import Address

__all__ = ["Connection", "driver", "translated"]

_SHOWN = 300
_Key = tuple[str, str, str, float]
_clients: dict[_Key, tuple[Any, int]] = {}
_opening = threading.Lock()


def driver() -> Any:
    """The package ``pymongo``."""
    try:
        import pymongo
    except ImportError:
        raise MissingExtra("pymongo", "mongo", "A corpus in MongoDB") from None
    return pymongo


class Connection:
    """The database that an address names; its client is made when it is first used."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._held: weakref.finalize[Any, Any] | None = None
        self._client: Any = None

    @property
    def database(self) -> Any:
        """Read from the primary and written to a majority: what was acknowledged stays."""
        pymongo = driver()
        if self._client is None:
            with translated(self.address):
                key, self._client = _acquired(self.address)
            self._held = weakref.finalize(self, _release, key)
        return self._client.get_database(
            self.address.database,
            read_preference=pymongo.ReadPreference.PRIMARY,
            write_concern=pymongo.WriteConcern(w="majority"),
        )

    def close(self) -> None:
        """Let go of the client; a later call connects again."""
        held, self._held, self._client = self._held, None, None
        if held is not None:
            held()


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn the driver's errors into ones that say what to do next."""
    from pymongo import errors

    try:
        yield
    except IrError:
        raise
    except (errors.ServerSelectionTimeoutError, errors.NetworkTimeout, errors.AutoReconnect) as error:
        raise CorpusError(
            f"The server of {address.label} did not answer within {address.timeout:g} seconds: {_said(error)}",
            remedy="See that it runs and that the address is right; ?timeout=SECONDS waits longer.",
        ) from None
    except errors.OperationFailure as error:
        if error.code in (13, 18):
            raise CorpusError(
                f"The server of {address.label} did not let us in: {_said(error)}",
                remedy="Name the user in the address, and put the password into MONGODB_PASSWORD or a file that "
                "MONGODB_PASSWORD_FILE names.",
            ) from None
        raise CorpusError(f"The server of {address.label} refused: {_said(error)}") from error
    except errors.ConfigurationError:
        raise _unusable(address) from None
    except errors.PyMongoError as error:
        raise CorpusError(f"The server of {address.label}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return masked(" ".join(str(error).split()))[:_SHOWN]


def _acquired(address: Address) -> tuple[_Key, Any]:
    key = (address.uri, address.user, address.password(), address.timeout)
    with _opening:
        client, users = _clients.get(key, (None, 0))
        if client is None:
            client = _connected(address, key[2])
        _clients[key] = (client, users + 1)
    return key, client


def _connected(address: Address, password: str) -> Any:
    patience = max(1, round(address.timeout * 1000))
    login = {"username": address.user, "password": password} if address.user else {}
    times = dict.fromkeys(("serverSelectionTimeoutMS", "connectTimeoutMS", "socketTimeoutMS"), patience)
    with warnings.catch_warnings():
        # An option that is misspelt is passed over with a warning; but somebody may rely on it, on tls=true say.
        warnings.simplefilter("error", UserWarning)
        try:
            return driver().MongoClient(address.uri, appname="ir", **times, **login)
        except (UserWarning, ValueError):
            raise _unusable(address) from None


def _unusable(address: Address) -> InvalidInput:
    """The driver's message may quote the address, and with it a password: it stays out of sight."""
    return InvalidInput(
        f"The driver cannot use the address {address.label} with its options.",
        remedy="Look at the options after the question mark; see docs/mongo.md.",
    )


def _release(key: _Key) -> None:
    with _opening:
        client, users = _clients.pop(key)
        if users > 1:
            _clients[key] = (client, users - 1)
            return
    client.close()
