"""Words that tell of a question about links: what calls it, where it is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["PHRASES", "asks_for_links", "phrases_of"]

#: By language; a star stands for any words between.
PHRASES: dict[str, tuple[str, ...]] = {
    "english": (
        *("references", "references to", "uses", "implements", "inherits from", "depends on"),
        *("what calls", "who calls", "what uses", "who uses", "where is * used", "where are * used", "callers of"),
    ),
    "german": (
        *("verweist auf", "verwendet", "benutzt", "implementiert", "erbt von", "hängt * ab von"),
        *("was ruft", "wer ruft", "wo wird * verwendet", "wo wird * benutzt", "aufrufer von"),
    ),
    "french": (
        *("fait référence à", "utilise", "implémente", "hérite de", "dépend de"),
        *("qui appelle", "qu'est-ce qui appelle", "où est * utilisé", "où est * utilisée", "appelants de"),
    ),
    "spanish": (
        *("hace referencia a", "usa", "utiliza", "implementa", "hereda de", "depende de"),
        *("qué llama", "quién llama", "dónde se usa", "dónde se utiliza"),
    ),
}


def phrases_of(language: str | None, own: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """The phrases for a corpus in that language, or a user's ``own``, with commas between them.

    Source code is asked about in English, so its phrases hold for every language that has none.
    """
    if own:
        given = own.split(",") if isinstance(own, str) else own
        return tuple(one.strip() for one in given if one.strip())
    return PHRASES.get(language or "english", PHRASES["english"])


def asks_for_links(query: str, phrases: Sequence[str]) -> bool:
    """Whether a query holds one of the phrases, as whole words.

    >>> asks_for_links("Where is the parser used?", phrases_of("english"))
    True
    >>> asks_for_links("reuses of buffers", phrases_of("english"))
    False
    """
    return _pattern(tuple(phrases)).search(query) is not None


@lru_cache(maxsize=16)
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    # A lazy stretch that may not cross a sentence keeps the star from matching half a page.
    written = [
        r"\s+".join(r"[^.?!\n]{1,80}?" if word == "*" else re.escape(word) for word in phrase.split())
        for phrase in phrases
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(written) or '(?!)'})(?!\w)", re.IGNORECASE)
