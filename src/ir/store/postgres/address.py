"""Where a corpus is: a PostgreSQL address, the corpus in it, and how it is to be kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ir.base import storage_key
from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace
from ir.errors import InvalidInput
from ir.options import choice
from ir.store.addresses import option_number

__all__ = ["LEXICAL", "PRECISIONS", "Address"]

#: How words are ranked: BM25 over postings, the server's own text search, or not at all.
LEXICAL = ("bm25", "tsvector", "none")
#: How vectors are kept.
PRECISIONS = ("float32", "half")
_DFLT_CORPUS = "corpus"
_LONGEST_NAME = 59
_HOST = re.compile(r"(\[[^]]*\]|[^:]*)(:\d*)?")
_OWN = ("corpus", "lexical", "vectors", "replica", "pool", "timeout", "lock_timeout")


@dataclass(frozen=True)
class Address:
    """``postgresql://[user@][host][:port]/database[/corpus][?option=value…]``, taken apart.

    What is left out comes from libpq's own places: ``PGHOST`` and its kin, a service file, ``~/.pgpass``.

    >>> Address.parse("postgresql://me:secret@db.example/wiki/notes?lexical=tsvector")
    Address('postgresql://me@db.example/wiki/notes')
    """

    parameters: dict[str, Any] = field(repr=False)
    corpus: str = _DFLT_CORPUS
    lexical: str | None = None
    vectors: str | None = None
    replica: Address | None = None
    pool: int = 10
    timeout: float = 30.0
    lock_timeout: float = 10.0
    #: Said by where the address is used, never by the address: nobody reaches another workspace by writing one.
    workspace: str = field(default_factory=current_workspace, repr=False)

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that ``url`` gives; an error never repeats what might be a password."""
        try:
            parts = urlsplit(url)
            database, _, corpus = parts.path.strip("/").partition("/")
            if not all(_HOST.fullmatch(host) for host in parts.netloc.rpartition("@")[2].split(",")):
                raise ValueError
            query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise _malformed() from None
        own = {key: value for key, value in query if key in _OWN}
        # libpq knows %20 for a space, but no plus sign.
        rest = urlencode([(key, value) for key, value in query if key not in _OWN], quote_via=quote)
        plain = f"postgresql://{parts.netloc}/{database}" + (f"?{rest}" if rest else "")
        replica = own.pop("replica", None)
        numbers = {
            key: option_number("PostgreSQL", key, own.pop(key))
            for key in ("pool", "timeout", "lock_timeout")
            if key in own
        }
        own.setdefault("corpus", unquote(corpus) or _DFLT_CORPUS)
        if "pool" in numbers:
            numbers["pool"] = max(1, int(numbers["pool"]))
        made = cls(_parameters(plain), **own, **numbers)  # type: ignore[arg-type]
        return made.with_replica(replica) if replica else made

    def __post_init__(self) -> None:
        if not self.corpus.strip() or not self.corpus.isprintable():
            raise InvalidInput(
                f"A corpus in PostgreSQL needs a name that can be printed, not {self.corpus!r}.",
                remedy="Name it at the end of the address: postgresql://host/database/NAME",
            )
        if self.lexical is not None:
            choice("lexical ranking", self.lexical, LEXICAL)
        if self.vectors is not None:
            choice("vector precision", self.vectors, PRECISIONS)

    def with_replica(self, word: str) -> Address:
        """The same with a server to read from: an address of its own, or only another ``host[:port]``."""
        if word.startswith(("postgresql:", "postgres:")):
            return replace(self, replica=replace(Address.parse(word), corpus=self.corpus))
        host, _, port = (word, "", "") if word.startswith("/") else word.partition(":")
        parameters = {**self.parameters, "host": host, **({"port": port} if port else {})}
        parameters.pop("hostaddr", None)
        return replace(self, replica=replace(self, parameters=parameters, replica=None))

    @property
    def schema(self) -> str:
        """The schema that holds the corpus; a name that is too long for one ends in a hash of itself.

        The name of a workspace has no underscore, so no two corpora share a schema.
        """
        start = self.workspace_prefix
        name, most = self.corpus.encode(), _LONGEST_NAME + 3 - len(start)
        if len(name) <= most:
            return f"{start}{self.corpus}"
        return f"{start}{name[: most - 13].decode(errors='ignore')}_{storage_key(self.corpus)[:12]}"

    @property
    def workspace_prefix(self) -> str:
        """How the schemas of the workspace begin, and of no other."""
        return "ir_" if self.workspace == DEFAULT_WORKSPACE else f"irw_{self.workspace}_"

    @property
    def label(self) -> str:
        """The address as it may be shown: without a password or options."""
        user, host, port = (self.parameters.get(key) for key in ("user", "host", "port"))
        shown = "" if not host or str(host).startswith("/") else str(host)
        where = (f"{user}@" if user else "") + shown + (f":{port}" if port else "")
        return f"postgresql://{where}/{self.parameters.get('dbname', '')}/{self.corpus}"

    def __repr__(self) -> str:
        return f"Address({self.label!r})"


def _parameters(url: str) -> dict[str, Any]:
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(url))
    except Error:
        # The library's message may quote the address, and with it a password: it stays out of sight.
        raise _malformed() from None


def _malformed() -> InvalidInput:
    return InvalidInput(
        "The PostgreSQL address cannot be read.",
        remedy="Write it as postgresql://user@host:5432/database/corpus?option=value; "
        f"beside those of libpq, the options are {', '.join(_OWN)}. Special characters are written as %XX.",
    )
