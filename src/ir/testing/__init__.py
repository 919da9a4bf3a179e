"""How does the author of an adapter know that it is right?

Subclass a contract and give it one fixture; every sentence of the seam becomes a test::

    from ir.testing.contracts import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self):
            return MyStore(...)

The contracts need pytest; the small corpora and the toy embedder here do not.
"""

from __future__ import annotations

from ir.testing.tiny_corpora import CITIES, FUNCTIONS, TINY_CORPORA, ToyEmbedder, tiny_records

__all__ = ["CITIES", "FUNCTIONS", "TINY_CORPORA", "ToyEmbedder", "tiny_records"]
