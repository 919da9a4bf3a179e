"""How does text become terms?

One :class:`Analyzer` serves index, query, highlights and explanations of every store, so a term that was indexed is
the term that is searched for. Plain words become stems, stop words nothing, identifiers themselves and their parts.
"""

from ir.analysis.analyzer import (
    Analyzer,
    Token,
    analyzer_for,
    document_numbers,
    document_terms,
    numbers_at_hand,
    query_terms,
)
from ir.analysis.detect import AUTO, detect_language
from ir.analysis.languages import LANGUAGES
from ir.analysis.snippets import Snippet, highlights, snippet

__all__ = [
    "AUTO",
    "LANGUAGES",
    "Analyzer",
    "Snippet",
    "Token",
    "analyzer_for",
    "detect_language",
    "document_numbers",
    "document_terms",
    "highlights",
    "numbers_at_hand",
    "query_terms",
    "snippet",
]
