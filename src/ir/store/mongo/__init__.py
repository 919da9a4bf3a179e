"""A corpus in MongoDB: for those who have one already, and for books that others read from it."""

from __future__ import annotations

from ir.store.mongo.address import Address
from ir.store.mongo.store import MongoStore

__all__ = ["Address", "MongoStore"]
