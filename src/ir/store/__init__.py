"""How is a corpus kept, and how is it asked?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir.store.mapping import CorpusStore

if TYPE_CHECKING:
    from ir.store.local import LocalStore

__all__ = ["CorpusStore", "LocalStore"]


def __getattr__(name: str) -> Any:
    # The embedded engine is imported by those who use it: mappings need neither SQLite, tantivy nor faiss.
    if name == "LocalStore":
        from ir.store.local import LocalStore

        return LocalStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
