"""Where a corpus is: a Milvus server or file, the corpus in it, and how it is indexed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace
from ir.errors import InvalidInput
from ir.options import choice
from ir.store.addresses import option_number, secret_in

__all__ = ["INDEXES", "Address"]

#: Index types of the dense field. FLAT is exact; the others trade recall for time.
INDEXES = ("FLAT", "IVF_FLAT", "HNSW", "AUTOINDEX", "DISKANN")
_DFLT_CORPUS = "corpus"
_LONGEST_NAME = 200
_OPTIONS = ("corpus", "index", "tls", "ca", "timeout", "lock_timeout", "keep")


@dataclass(frozen=True)
class Address:
    """``milvus://[user@]host[:port][/database[/corpus]][?option=value…]`` or ``milvus+lite:FILE[?corpus=NAME]``.

    A password or token comes from ``MILVUS_TOKEN`` or the file that ``MILVUS_TOKEN_FILE`` names, never from here.

    >>> Address.parse("milvus://vectors.example/wiki/notes").label
    'milvus://vectors.example:19530/wiki/notes'
    >>> Address.parse("milvus+lite:notes.db?corpus=mail").label
    'milvus+lite:notes.db?corpus=mail'
    """

    uri: str
    database: str = ""
    user: str = field(default="", repr=False)
    corpus: str = _DFLT_CORPUS
    index: str = "FLAT"
    timeout: float = 30.0
    lock_timeout: float = 10.0
    keep: float = 600.0
    ca: str = ""
    #: Said by where the address is used, never by the address: nobody reaches another workspace by writing one.
    workspace: str = field(default_factory=current_workspace, repr=False)

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that ``url`` gives; an error never repeats what might be a password."""
        scheme, colon, rest = url.partition(":")
        if not colon or scheme not in ("milvus", "milvus+lite"):
            raise _malformed()
        try:
            parts = urlsplit(f"milvus:{rest}")
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            host, port = parts.hostname, parts.port or 19530
        except ValueError:
            raise _malformed() from None
        if not options.keys() <= set(_OPTIONS):
            raise _malformed()
        times: dict[str, Any] = {
            key: option_number("Milvus", key, options[key])
            for key in ("timeout", "lock_timeout", "keep")
            if key in options
        }
        ca = options.get("ca", "")
        tls = bool(ca) or options.get("tls", "") not in ("", "0", "no", "false")
        index = choice("Milvus index", options.get("index", "FLAT").upper(), INDEXES)
        if scheme == "milvus+lite":
            path = unquote(parts.netloc + parts.path)
            return cls(_file(path), corpus=options.get("corpus") or _DFLT_CORPUS, index=index, **times)
        if not host or parts.password:
            raise _malformed()
        database, _, corpus = unquote(parts.path).strip("/").partition("/")
        named = options.get("corpus") or corpus or _DFLT_CORPUS
        uri = f"{'https' if tls else 'http'}://{host}:{port}"
        return cls(uri, database, parts.username or "", named, index, **times, ca=ca)

    def __post_init__(self) -> None:
        if not self.corpus.strip() or len(self.corpus.encode()) > _LONGEST_NAME:
            raise InvalidInput(
                f"A corpus in Milvus needs a name of 1 to {_LONGEST_NAME} bytes, not {self.corpus!r}.",
                remedy="Name it at the end of the address: milvus://host:19530/database/NAME",
            )

    @property
    def is_file(self) -> bool:
        """Whether the core of Milvus runs in this process, over one file, rather than on a server."""
        return "://" not in self.uri

    @property
    def prefix(self) -> str:
        """How the names of the corpus's collections begin; Milvus allows few characters in them."""
        start = self.workspace_prefix
        plain = re.sub(r"[^A-Za-z0-9_]", "_", self.corpus)[:80]
        whole = plain == self.corpus and not plain.endswith("_")
        return f"{start}{plain}" if whole else f"{start}{plain}_{_mark(self.corpus)}"

    @property
    def workspace_prefix(self) -> str:
        """How the collections of the workspace begin, and of no other."""
        return "ir_" if self.workspace == DEFAULT_WORKSPACE else f"irw{_mark(self.workspace)}_"

    @property
    def label(self) -> str:
        """The address as it may be shown."""
        if self.is_file:
            return f"milvus+lite:{self.uri}?corpus={self.corpus}"
        return f"milvus://{self.uri.partition('://')[2]}/{self.database or 'default'}/{self.corpus}"

    def token(self) -> str:
        """The credentials, read when a connection is made; empty for a server that asks for none."""
        secret = secret_in("MILVUS_TOKEN")
        return f"{self.user}:{secret}" if self.user and secret and ":" not in secret else secret


def _mark(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


def _file(path: str) -> str:
    if not path.endswith(".db"):
        raise InvalidInput(
            f"Milvus keeps a corpus in a file whose name ends in .db, not in {path!r}.",
            remedy="Write: milvus+lite:/path/to/notes.db?corpus=NAME",
        )
    return path


def _malformed() -> InvalidInput:
    return InvalidInput(
        "The Milvus address cannot be read.",
        remedy="Write it as milvus://host:19530/database/corpus or milvus+lite:FILE.db?corpus=NAME; the options are "
        f"{', '.join(_OPTIONS)}. A password or token goes into MILVUS_TOKEN, or a file that MILVUS_TOKEN_FILE names.",
    )
