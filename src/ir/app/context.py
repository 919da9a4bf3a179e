"""What an operation is given beside its request: settings, somewhere to report to, and the user's corpora."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir.config import Settings

if TYPE_CHECKING:
    from ir.index import Corpus
    from ir.store import CorpusStore

__all__ = ["Context"]


@dataclass
class Context:
    """``progress`` receives :class:`ir.index.Progress` values, ``note`` receives sentences for the user."""

    settings: Settings = field(default_factory=Settings.load)
    progress: Callable[[Any], None] = field(default=lambda step: None)
    note: Callable[[str], None] = field(default=lambda sentence: None)

    def store(self, name: str) -> CorpusStore:
        """The store of a named corpus, for writing: it waits for another writer as long as the user has set."""
        from ir.index import store_for

        return store_for(name, lock_timeout=self.settings["lock_timeout_s"])

    def open(self, name: str, *, embedder: Any = None) -> Corpus:
        """The built corpus ``name``."""
        from ir.index import open_corpus

        return open_corpus(name, embedder=embedder)
