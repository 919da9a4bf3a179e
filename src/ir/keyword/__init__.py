"""Which other engine finds words? Adapters of :class:`ir.keywords.KeywordProvider`, one file for each.

:func:`keyword_provider` is the door: it gives the engine that the settings name. An engine that keeps words by itself
is kept in step by a :class:`KeywordMirror`.
"""

from ir.keyword.embedded import EmbeddedKeywords
from ir.keyword.mirror import Behind, KeywordIndex, KeywordMirror
from ir.keyword.resolve import backend_of, keyword_index, keyword_mirror, keyword_provider

__all__ = [
    "Behind",
    "EmbeddedKeywords",
    "KeywordIndex",
    "KeywordMirror",
    "backend_of",
    "keyword_index",
    "keyword_mirror",
    "keyword_provider",
]
