"""From an address to the store that keeps a corpus there; each engine is imported by those who use it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ir.config import corpus_dir
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.store.base import BaseStore

__all__ = ["ENGINES", "for_corpus", "names_server", "open_store", "without_password"]

#: The engine of each scheme of a server: its module and its class, which is made from the address alone.
ENGINES: dict[str, tuple[str, str]] = {
    "postgresql": ("ir.store.postgres", "PostgresStore"),
    "postgres": ("ir.store.postgres", "PostgresStore"),
    "milvus": ("ir.store.milvus", "MilvusStore"),
    "milvus+lite": ("ir.store.milvus", "MilvusStore"),
    "mongodb": ("ir.store.mongo", "MongoStore"),
    "mongodb+srv": ("ir.store.mongo", "MongoStore"),
}
#: Options that hold a password or a key, or may: a whole address, what a way to log in needs.
_SECRET = re.compile(r"\w*password=|token=|replica=postgres|authmechanismproperties=", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)


def open_store(address: str) -> BaseStore:
    """The store at an address: ``postgresql://…``, ``local:NAME``, ``memory:`` or the path of a folder.

    >>> open_store("memory:"), open_store("local:notes")  # doctest: +ELLIPSIS
    (<...CorpusStore object at ...>, LocalStore('...notes'))
    """
    scheme = scheme_of(address)
    store: BaseStore
    if scheme == "memory":
        store = import_module("ir.store.mapping").CorpusStore.memory()
    elif scheme in (None, "local"):
        folder = address if scheme is None else corpus_dir(address.partition(":")[2])
        store = import_module("ir.store.local").LocalStore(folder)
    else:
        store = engine_of(scheme)(address)
    return store


def names_server(address: str) -> bool:
    """Whether the address is one of a server, not of a folder on this machine.

    >>> names_server("postgresql://db/wiki/notes"), names_server("./notes"), names_server("local:notes")
    (True, False, False)
    """
    match = _SCHEME.match(address)
    return match is not None and match[1].lower() in ENGINES


def for_corpus(address: str, name: str) -> str:
    """A server's address that names a corpus: the one it names already, else ``name``.

    >>> for_corpus("postgresql://db/wiki", "notes"), for_corpus("postgresql://db/wiki/mail", "notes")
    ('postgresql://db/wiki?corpus=notes', 'postgresql://db/wiki/mail')
    """
    from urllib.parse import parse_qsl, quote, urlsplit

    parts = urlsplit(address)
    in_path = "://" in address and "/" in parts.path.strip("/")
    if in_path or any(key == "corpus" for key, _ in parse_qsl(parts.query)):
        return address
    return f"{address}{'&' if parts.query else '?'}corpus={quote(name, safe='')}"


def engine_of(scheme: str | None) -> Any:
    """The class that keeps corpora at addresses of this scheme."""
    module, name = ENGINES[scheme or ""]
    return getattr(import_module(module), name)


def scheme_of(address: str) -> str | None:
    """The scheme of an address, ``None`` for a path; an unknown one is an error that lists the known ones."""
    if not isinstance(address, str) or not address.strip():
        raise InvalidInput("The address of a store is empty.", remedy="Give a path, local:NAME or a server's address.")
    match = _SCHEME.match(address)
    if match is None:
        return None
    scheme = match[1].lower()
    if scheme not in ENGINES and scheme not in ("local", "memory"):
        known = ", ".join(f"{name}:" for name in ("local", "memory", *ENGINES))
        raise InvalidInput(
            f"No store is known for addresses that begin with {match[0]!r}.", remedy=f"Use a path or one of: {known}."
        )
    return scheme


def without_password(address: str) -> str:
    """The address as it may be written down and shown.

    >>> without_password("postgresql://me:secret@db/wiki?password=x&lexical=bm25")
    'postgresql://me@db/wiki?lexical=bm25'
    """
    if _SCHEME.match(address) is None or "://" not in address:
        return address
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(address)
    login, at, host = parts.netloc.rpartition("@")
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _SECRET.match(pair))
    return urlunsplit((parts.scheme, f"{login.partition(':')[0]}{at}{host}", parts.path, query, parts.fragment))
