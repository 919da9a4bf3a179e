"""A built corpus, ready to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.index.embedder import resolve

if TYPE_CHECKING:
    from ir.base import Hits
    from ir.index.report import BuildReport
    from ir.protocols import Embedder, Store

__all__ = ["Corpus"]


@dataclass
class Corpus:
    """A store together with the embedder that its vectors were made by.

    ``report`` says what the build did that this value came from; ``None`` if the corpus was only opened.
    """

    name: str
    store: Store
    embedder: Embedder
    embedder_id: str
    report: BuildReport | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.embedder, "id"):
            # A bare function: it may not know of input_type.
            self.embedder, _ = resolve(self.embedder)

    def search(self, query: str, **kwargs: Any) -> Hits:
        """The best matches of ``query``; the keywords are those of :func:`ir.retrieve.search`."""
        from ir.retrieve import search

        return search(self, query, **kwargs)
