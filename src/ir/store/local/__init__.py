"""The embedded engine: a corpus in a folder, without a server."""

from ir.store.local.database import FORMAT
from ir.store.local.store import LocalStore

__all__ = ["FORMAT", "LocalStore"]
