"""Everything that can go wrong, as one tree.

    IrError
    ├── InvalidInput (ValueError)        an argument is outside what is allowed
    │   └── FilterError                  a metadata filter does not parse
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
    └── MissingExtra (ImportError)       an optional part is not installed

A message says what happened and to what; ``remedy`` says what to do next. ``str(error)`` holds both.
"""

from __future__ import annotations

__all__ = [
    "CorpusBusy",
    "CorpusCorrupt",
    "CorpusError",
    "CorpusNotBuilt",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "FilterError",
    "FormatMismatch",
    "InvalidInput",
    "IrError",
    "LlmError",
    "MissingExtra",
    "NoLedgerEntry",
    "RerankError",
    "SeedNotFound",
    "SourceError",
    "StoreUnwritable",
]


class IrError(Exception):
    """Base of every error that ``ir`` raises on purpose."""

    exit_code = 3

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()

    def to_dict(self) -> dict[str, str]:
        return {"type": type(self).__name__, "message": self.message, "remedy": self.remedy}


class InvalidInput(IrError, ValueError):
    """An argument is outside what is allowed; the message names what is."""

    exit_code = 2


class FilterError(InvalidInput):
    """A metadata filter does not parse."""


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


class MissingExtra(IrError, ImportError):
    """An optional part is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed.",
            remedy=f"Install it with: pip install 'ir-substrate[{extra}]'",
        )
        self.package = package
        self.extra = extra
