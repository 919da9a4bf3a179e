"""Where a corpus is: a MongoDB server, a database of it, and the corpus in that."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace
from ir.errors import InvalidInput
from ir.store.addresses import option_number, secret_in

__all__ = ["Address"]

_SCHEMES = ("mongodb", "mongodb+srv")
_DFLT_DATABASE = "ir"
_DFLT_CORPUS = "corpus"
_LONGEST_NAME = 80
_OWN = ("corpus", "timeout", "lock_timeout", "keep")
_DATABASE = re.compile(r"[^/\\. \"$*<>:|?\0]{1,63}")


@dataclass(frozen=True)
class Address:
    """``mongodb://[user@]host[:port][,…]/database[/corpus][?option=value…]``, or the same with ``mongodb+srv``.

    Options that are not ours are the driver's. A password comes from ``MONGODB_PASSWORD``, or from the file that
    ``MONGODB_PASSWORD_FILE`` names; one in the address is used, too, and never shown.

    >>> Address.parse("mongodb://me:secret@db.example/library/rules?tls=true")
    Address('mongodb://me@db.example/library/rules')
    """

    uri: str = field(repr=False)
    hosts: str
    database: str = _DFLT_DATABASE
    corpus: str = _DFLT_CORPUS
    user: str = ""
    given: str = field(default="", repr=False)
    scheme: str = "mongodb"
    timeout: float = 30.0
    lock_timeout: float = 10.0
    keep: float = 600.0
    #: Said by where the address is used, never by the address: nobody reaches another workspace by writing one.
    workspace: str = field(default_factory=current_workspace, repr=False)

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that ``url`` gives; an error never repeats what might be a password."""
        try:
            parts = urlsplit(url)
            query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise _malformed() from None
        login, _, hosts = parts.netloc.rpartition("@")
        if parts.scheme not in _SCHEMES or not hosts or parts.fragment:
            raise _malformed()
        user, _, password = login.partition(":")
        database, _, corpus = unquote(parts.path).strip("/").partition("/")
        own = {key: value for key, value in query if key in _OWN}
        rest = urlencode([(key, value) for key, value in query if key not in _OWN], quote_via=quote)
        times: dict[str, Any] = {key: option_number("MongoDB", key, own[key]) for key in _OWN[1:] if key in own}
        return cls(
            f"{parts.scheme}://{hosts}/" + (f"?{rest}" if rest else ""),
            hosts,
            database or _DFLT_DATABASE,
            own.get("corpus") or corpus or _DFLT_CORPUS,
            unquote(user),
            unquote(password),
            parts.scheme,
            **times,
        )

    def __post_init__(self) -> None:
        if not self.corpus.strip() or not self.corpus.isprintable() or not _DATABASE.fullmatch(self.database):
            raise InvalidInput(
                f"A corpus in MongoDB needs names that can be printed, not {self.database!r} and {self.corpus!r}.",
                remedy="Name database and corpus at the end of the address: mongodb://host/database/NAME",
            )

    @property
    def prefix(self) -> str:
        """How the names of the corpus's collections begin."""
        start = self.workspace_prefix
        plain = re.sub(r"[^A-Za-z0-9-]", "_", self.corpus)[:_LONGEST_NAME]
        # No name has the sign that stands before a mark, so no two corpora share collections.
        return f"{start}{plain}" if plain == self.corpus else f"{start}{plain}~{_mark(self.corpus)}"

    @property
    def workspace_prefix(self) -> str:
        """How the collections of the workspace begin, and of no other: a workspace has no underscore in its name."""
        return "ir_" if self.workspace == DEFAULT_WORKSPACE else f"irw_{self.workspace}_"

    @property
    def label(self) -> str:
        """The address as it may be shown: without a password or options."""
        login = f"{quote(self.user)}@" if self.user else ""
        return f"{self.scheme}://{login}{self.hosts}/{self.database}/{self.corpus}"

    def __repr__(self) -> str:
        return f"Address({self.label!r})"

    def password(self) -> str:
        """The password, read when a connection is made; empty for a server that asks for none."""
        if self.given:
            return self.given
        return secret_in("MONGODB_PASSWORD")


def _mark(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


def _malformed() -> InvalidInput:
    return InvalidInput(
        "The MongoDB address cannot be read.",
        remedy="Write it as mongodb://user@host:27017/database/corpus?option=value; beside those of the driver, the "
        f"options are {', '.join(_OWN)}. A password goes into MONGODB_PASSWORD, or a file that MONGODB_PASSWORD_FILE "
        "names.",
    )
