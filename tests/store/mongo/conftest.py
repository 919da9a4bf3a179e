"""The server that the tests of this folder share."""

from __future__ import annotations

from tests.store.mongo.fixtures import corpus_url, database_url

__all__ = ["corpus_url", "database_url"]
