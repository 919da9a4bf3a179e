"""The server that the tests of this folder share."""

from __future__ import annotations

from tests.store.postgres.fixtures import corpus_url, database, server

__all__ = ["corpus_url", "database", "server"]
