"""The embedded store does what a store does, and what a durable one does beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ir.store.local import LocalStore
from ir.testing.contracts import DurableStoreContract


class TestLocalStore(DurableStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[LocalStore]:
        store = LocalStore(tmp_path / "corpus")
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Callable[[], LocalStore]:
        return lambda: LocalStore(tmp_path / "corpus")
