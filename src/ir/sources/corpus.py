"""A corpus, defined: what is in it, what counts as a change, how it is taken apart, and who embeds it.

The one module here that knows strategies: it puts a scope and a strategy together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.protocols import IndexingStrategy
from ir.sources.files import MARKDOWN_FILES, FileScope
from ir.sources.signals import content_hash_signal
from ir.sources.skipped import Skipped
from ir.strategy import Chunked, WholeText

__all__ = ["CorpusSource"]


@dataclass
class CorpusSource:
    """A corpus definition: scope, change signal, strategy and embedder.

    ``scope`` is any mapping ``{id: raw}``. ``metadata_of(id, raw)`` gives the fields to filter on; without it these
    are a raw mapping's own scalar fields. Every classmethod takes the fields of this class that it does not set
    itself, such as ``embedder``, ``change_signal`` and ``metadata_of``, as keywords.
    """

    name: str
    scope: Mapping[str, Any]
    indexing_strategy: IndexingStrategy = field(default_factory=WholeText)
    change_signal: Callable[[str, Any], str] = content_hash_signal
    embedder: Any = "default"
    metadata_of: Callable[[str, Any], Mapping[str, Any]] | None = None

    def skipped(self) -> list[Skipped]:
        """What the scope could not use, and why; empty if it does not say."""
        said = getattr(self.scope, "skipped", None)
        return list(said()) if callable(said) else []

    def stat_signal(self, artifact_id: str) -> str | None:
        """A cheap change test, if the scope has one; ``None`` means: compare the content."""
        said = getattr(self.scope, "stat_signal", None)
        return said(artifact_id) if callable(said) else None

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], *, name: str, strategy: IndexingStrategy | None = None, **kwargs: Any
    ) -> CorpusSource:
        """Any mapping ``{id: raw}`` as a corpus; one surface for each item by default.

        >>> CorpusSource.from_mapping({"a": "some text"}, name="notes", embedder="light").scope["a"]
        'some text'
        """
        return cls(name, mapping, strategy or WholeText(), **kwargs)

    @classmethod
    def from_files(
        cls,
        root: str | Path,
        *,
        name: str | None = None,
        pattern: str | None = MARKDOWN_FILES,
        exclude: Callable[[str], bool] | None = None,
        strategy: IndexingStrategy | None = None,
        all_text: bool = False,
        hidden: bool = False,
        max_bytes: int | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """A folder of text files (or one file), in chunks; see :class:`ir.sources.FileScope`.

        ``pattern`` is searched for in paths relative to ``root``; ``all_text`` (or no pattern) takes every text file
        that is not ignored. ``exclude`` is asked with the relative path.
        """
        limit = {} if max_bytes is None else {"max_bytes": max_bytes}
        wanted = None if all_text else pattern
        scope = FileScope(root, pattern=wanted, exclude=exclude, hidden=hidden, **limit)
        return cls(name or scope.root.resolve().name or "files", scope, strategy or Chunked(), **kwargs)
