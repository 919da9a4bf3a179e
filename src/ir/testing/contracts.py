"""The contracts an adapter's author subclasses; importing this module needs pytest."""

from __future__ import annotations

from ir.testing.content_contract import ContentContract
from ir.testing.durable_contract import DurableContract
from ir.testing.embedder_contract import EmbedderContract
from ir.testing.graph_contract import GraphContract
from ir.testing.keeping_contract import KeepingContract
from ir.testing.keyword_contract import KeywordContract
from ir.testing.paging_contract import PagingContract
from ir.testing.searching_contract import SearchingContract
from ir.testing.spaces_contract import SpacesContract
from ir.testing.transaction_contract import TransactionContract

__all__ = ["DurableStoreContract", "EmbedderContract", "KeywordContract", "StoreContract"]


class StoreContract(
    KeepingContract,
    PagingContract,
    TransactionContract,
    SearchingContract,
    GraphContract,
    SpacesContract,
    ContentContract,
):
    """What every store does. Subclass it with a fixture ``store`` that gives an empty one."""


class DurableStoreContract(StoreContract, DurableContract):
    """What a store does that outlives its process and has several users.

    Beside ``store`` it needs a fixture ``reopen``: a callable that returns another store, opened by itself on the
    same data, each time it is called; also from another thread.
    """
