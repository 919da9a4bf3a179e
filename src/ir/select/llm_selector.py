"""A selector that asks a language model which candidates really help."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.select.checks import count
from ir.select.selectors import Selector, top_k

__all__ = ["SELECTION_PROMPT", "make_llm_selector"]

SELECTION_PROMPT = """\
Somebody asks:

{query}

These candidates were found, each with its id:

{candidates}

Which of them are really needed to answer? Prefer one good candidate over several doubtful ones.
Answer with their ids only, one on each line, the best first. If none of them helps, answer with the word NONE.
"""

_log = logging.getLogger(__name__)
_SHOWN_CHARS = 300
_BULLET = re.compile(r"^\s*[-*•]\s+")


def make_llm_selector(
    query: str,
    *,
    chooser: Callable[..., Sequence[str]] | None = None,
    prompt: str = SELECTION_PROMPT,
    max_candidates: int = 10,
    fallback: Selector | None = None,
    **llm_settings: Any,
) -> Selector:
    """A strategy for :func:`ir.select` that lets a model choose among the first ``max_candidates`` hits.

    ``chooser(query=…, candidates=…)`` returns the chosen ids; without one a model is asked, on first use, as the
    settings say (``llm_settings`` override them). A choice of nothing is an abstention. A failure, or an answer that
    names no candidate, leaves the choice to ``fallback``, by default the conservative rule; the log and the selection's
    ``signals["note"]`` say so.

    >>> hits = [SearchHit("a", "document", 0.9, "tea"), SearchHit("b", "document", 0.8, "bread")]
    >>> [hit.artifact_id for hit in make_llm_selector("bake", chooser=lambda query, candidates: ["b"])(hits)]
    ['b']
    """
    count("max_candidates", max_candidates)
    if chooser is not None and not callable(chooser):
        raise InvalidInput(f"chooser must be callable, not {chooser!r}.")
    ask = chooser or _asking(prompt, llm_settings)
    return _LlmSelector(query, ask, max_candidates, fallback or _conservative)


class _LlmSelector:
    """The selector that :func:`make_llm_selector` returns; ``note`` says what its last call had to do without."""

    __name__ = "llm_selector"

    def __init__(self, query: str, ask: Callable[..., Any], max_candidates: int, fallback: Selector) -> None:
        self.query = query
        self.note: str | None = None
        self._ask = ask
        self._max_candidates = max_candidates
        self._fallback = fallback

    def __call__(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        self.note = None
        if not hits:
            return []
        labels = _labels(top_k(self._max_candidates)(hits))
        lines = "\n".join(f"- {label}: {_line(hit.text)}" for label, hit in labels.items())
        try:
            answer = self._ask(query=self.query, candidates=lines)
            named = [answer] if isinstance(answer, str) else [str(item) for item in answer]
        except Exception as error:
            # Whatever a model or its transport does, a search must still end in an answer.
            return self._without(hits, f"The selector's model failed ({type(error).__name__}: {error})")
        chosen = [labels[name.strip()] for name in named if name.strip() in labels]
        if not chosen and named:
            return self._without(hits, "The selector's model named none of the candidates")
        return chosen

    def _without(self, hits: Sequence[SearchHit], trouble: str) -> list[SearchHit]:
        self.note = f"{trouble}; selecting without it."
        _log.warning("%s", self.note)
        return self._fallback(hits)


def _conservative(hits: Sequence[SearchHit]) -> list[SearchHit]:
    from ir.select.selection import select

    return select(hits).selected


def _asking(prompt: str, llm_settings: dict[str, Any]) -> Callable[..., Sequence[str]]:
    from ir.llm import first_use

    complete = first_use(**llm_settings)

    def ask(*, query: str, candidates: str) -> Sequence[str]:
        reply = complete(prompt.replace("{candidates}", candidates).replace("{query}", query))
        lines = [_BULLET.sub("", line).strip().strip("`'\"").strip() for line in reply.splitlines()]
        named = [line for line in lines if line]
        return [] if [name.upper().rstrip(".") for name in named] == ["NONE"] else named or ["(empty reply)"]

    return ask


def _labels(hits: Sequence[SearchHit]) -> dict[str, SearchHit]:
    """Each hit under its id; the source stands before it where two sources share an id."""
    ids = [hit.artifact_id for hit in hits]
    labels: dict[str, SearchHit] = {}
    for hit in hits:
        label = hit.artifact_id
        if ids.count(label) > 1 and hit.source:
            label = f"{hit.source}:{label}"
        labels.setdefault(label, hit)
    return labels


def _line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN_CHARS]
