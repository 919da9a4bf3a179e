"""Everything that can go wrong, as one tree.

    IrError
    ├── InvalidInput (ValueError)        an argument is outside what is allowed
    │   ├── FilterError                  a metadata filter does not parse
    │   ├── NotFound (LookupError)       a corpus has no such artifact, path or line
    │   └── OutsideCorpus                a path leads out of what was registered
    ├── CorpusError
    │   ├── CorpusNotBuilt (LookupError) the corpus has no index yet
    │   ├── CorpusBusy                   another process is writing it
    │   ├── CorpusCorrupt                the database file cannot be read
    │   ├── FormatMismatch               written by another version of ir
    │   └── StoreUnwritable (OSError)    read-only folder, full disk
    ├── NoLedgerEntry (KeyError)         the artifact was never indexed
    ├── EmbedderError (ValueError)
    │   ├── EmbedderMismatch             not the model the index was built with
    │   └── EmbedderUnavailable          the model is not on this machine
    ├── SourceError (ValueError)         a source cannot be read
    ├── SeedNotFound (ValueError)        a hit is not in the corpus it is expanded in
    ├── LlmError                         a language model did not answer usefully
    ├── RerankError                      a reranker did not answer usefully
    ├── KeywordError                     an engine for words did not answer usefully
    ├── QuotaExceeded                    a workspace would hold more than it may
    ├── TooManyJobs                      a workspace has begun as many jobs as it may
    ├── AccessUnavailable                nobody can tell now who may ask, or how much
    ├── ClientError                      the settings of an agent's client cannot be read or changed
    ├── Cancelled                        whoever asked does not want the answer any more
    ├── DeadlineExceeded (TimeoutError)  the answer would come too late
    └── MissingExtra (ImportError)       an optional part is not installed

A message says what happened and to what; ``remedy`` says what to do next. ``str(error)`` holds both. ``code`` is the
same for the same kind of error from one version to the next, and is what a program should look at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "AccessUnavailable",
    "Cancelled",
    "ClientError",
    "CorpusBusy",
    "CorpusCorrupt",
    "CorpusError",
    "CorpusNotBuilt",
    "DeadlineExceeded",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "FilterError",
    "FormatMismatch",
    "InvalidInput",
    "IrError",
    "KeywordError",
    "LlmError",
    "MissingExtra",
    "NoLedgerEntry",
    "NotFound",
    "OutsideCorpus",
    "QuotaExceeded",
    "Remedy",
    "RerankError",
    "SeedNotFound",
    "SourceError",
    "StoreUnwritable",
    "TooManyJobs",
]


@dataclass(frozen=True)
class Remedy:
    """What to do next, where that differs by who is told: a person at a terminal, a program in Python, or an agent.

    What is not said for one of them is not known; :mod:`ir.app.problems` then has a word for each code.
    """

    cli: str = ""
    python: str | None = None
    agent: str | None = None


class IrError(Exception):
    """Base of every error that ``ir`` raises on purpose."""

    exit_code = 3
    code = "error"

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, message: str, *, remedy: str | Remedy = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedies = remedy if isinstance(remedy, Remedy) else Remedy(remedy)

    @property
    def remedy(self) -> str:
        """The remedy as it is worded for a terminal."""
        return self.remedies.cli

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()

    def to_dict(self) -> dict[str, str]:
        return {"type": type(self).__name__, "code": self.code, "message": self.message, "remedy": self.remedy}


class InvalidInput(IrError, ValueError):
    """An argument is outside what is allowed; the message names what is."""

    exit_code = 2


class FilterError(InvalidInput):
    """A metadata filter does not parse."""


class NotFound(InvalidInput, LookupError):
    """A corpus has no such artifact, path or line."""


class OutsideCorpus(InvalidInput):
    """A path leads out of what the user registered, or names what no caller from outside may name."""


class CorpusError(IrError):
    """A corpus cannot be opened, read or written."""


class CorpusNotBuilt(CorpusError, LookupError):
    """The corpus has no index yet."""


class CorpusBusy(CorpusError):
    """Another process is writing the corpus."""


class CorpusCorrupt(CorpusError):
    """The database file of a corpus cannot be read."""


class FormatMismatch(CorpusError):
    """The corpus was written in a format that this version does not read."""


class StoreUnwritable(CorpusError, OSError):
    """The corpus cannot be written: read-only folder, full disk, no permission."""


class NoLedgerEntry(IrError, KeyError):
    """The ledger has no entry for the artifact."""


class EmbedderError(IrError, ValueError):
    """An embedder cannot be made or used."""


class EmbedderMismatch(EmbedderError):
    """The query would be embedded by another model than the index was."""


class EmbedderUnavailable(EmbedderError):
    """The embedding model is not on this machine."""


class SourceError(IrError, ValueError):
    """A source cannot be read."""


class SeedNotFound(IrError, ValueError):
    """A hit's record is not among the stored records of its artifact."""


class LlmError(IrError):
    """A language model did not answer, or not usefully."""


class RerankError(IrError):
    """A reranker did not answer, or not usefully."""


class KeywordError(IrError):
    """An engine that was asked for words alone did not answer, or not usefully."""


class QuotaExceeded(IrError):
    """A workspace would hold more than its quota allows; nothing was written."""


class TooManyJobs(IrError):
    """A workspace has as many jobs running or waiting as it may; another can begin when one of them has ended."""


class AccessUnavailable(IrError):
    """What is kept of tokens, workspaces and limits cannot be read or written now; so nobody is let in."""


class ClientError(IrError):
    """The settings of a client, such as Claude Code, cannot be read or changed."""


class Cancelled(IrError):
    """Whoever asked does not want the answer any more."""

    exit_code = 130


class DeadlineExceeded(IrError, TimeoutError):
    """The answer would come after the time that was given for it."""


class MissingExtra(IrError, ImportError):
    """An optional part is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed.",
            remedy=f"Install it with: pip install 'ir-substrate[{extra}]'",
        )
        self.package = package
        self.extra = extra
