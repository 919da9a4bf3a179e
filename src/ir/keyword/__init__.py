"""Which other engine finds words? Adapters of :class:`ir.keywords.KeywordProvider`, one file for each."""

from ir.keyword.embedded import EmbeddedKeywords

__all__ = ["EmbeddedKeywords"]
