"""A corpus in Milvus: for those who outgrow one machine, and in a single file for trying that out."""

from __future__ import annotations

from ir.store.milvus.address import Address
from ir.store.milvus.store import MilvusStore

__all__ = ["Address", "MilvusStore"]
