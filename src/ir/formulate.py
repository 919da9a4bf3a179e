"""Which searches to make for what somebody asked?"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from ir.errors import InvalidInput
from ir.llm import first_use
from ir.options import count
from ir.protocols import Formulator

__all__ = ["FORMULATION_PROMPT", "identity_formulator", "make_llm_formulator"]

FORMULATION_PROMPT = (
    "Rewrite the search query into {n} short, diverse alternative search queries that would retrieve the same target "
    "documents: fix typos, expand jargon, and add synonyms, but keep each a terse search phrase. One query per line, "
    "no numbering.\n\nQuery: {query}"
)

_log = logging.getLogger(__name__)
_NUMBERING = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def identity_formulator(query: str) -> str:
    """The query as it is.

    >>> identity_formulator("green tea")
    'green tea'
    """
    return query


def make_llm_formulator(
    *,
    rewriter: Callable[[str], str | Sequence[str]] | None = None,
    prompt: str = FORMULATION_PROMPT,
    n: int = 3,
    fallback: Callable[[str], str | Sequence[str]] | None = None,
    **prompt_function_kwargs: Any,
) -> Formulator:
    """A formulator that lets a language model rewrite the query into up to ``n`` others.

    ``rewriter(query)`` may stand in for the model; without one the configured model is asked, on first use, with
    ``prompt_function_kwargs`` (``model``, ``base_url``, ``timeout_s``, …) over the settings. A failure or an empty
    answer is logged and leaves the query to ``fallback``, by default :func:`identity_formulator`.

    >>> make_llm_formulator(rewriter=lambda query: [query, "camellia sinensis"])("tea")
    ['tea', 'camellia sinensis']
    """
    n = count("n", n)
    if rewriter is not None and not callable(rewriter):
        raise InvalidInput(f"rewriter must be callable, not {rewriter!r}.")
    rewrite = rewriter or _asking(prompt, n, prompt_function_kwargs)
    otherwise = fallback or identity_formulator

    def formulate(query: str) -> str | Sequence[str]:
        try:
            queries = _cleaned(rewrite(query))
        except Exception as error:
            # Whatever a model or its transport does, the query itself can still be searched.
            _log.warning("Rewriting the query failed (%s: %s); searching without it.", type(error).__name__, error)
            return otherwise(query)
        if not queries:
            _log.warning("Rewriting the query gave nothing; searching without it.")
            return otherwise(query)
        return queries

    return formulate


def _asking(prompt: str, n: int, settings: dict[str, Any]) -> Callable[[str], Sequence[str]]:
    complete = first_use(**settings)

    def ask(query: str) -> Sequence[str]:
        reply = complete(prompt.replace("{n}", str(n)).replace("{query}", query))
        return [_NUMBERING.sub("", line) for line in reply.splitlines() if line.strip()][:n]

    return ask


def _cleaned(answer: str | Sequence[str]) -> str | list[str]:
    """The answer without blank or repeated queries; a string stays one."""
    if isinstance(answer, str):
        return answer.strip()
    kept = [text.strip() for text in answer if isinstance(text, str) and text.strip()]
    return list(dict.fromkeys(kept))
