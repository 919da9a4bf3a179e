"""From candidates to a choice among them, by a rule or by a language model that can name nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ir.ground.grounding import Grounded, Grounding
from ir.llm import first_use
from ir.options import count

__all__ = ["CHOICE_PROMPT", "choose_by_rule", "make_llm_chooser", "term_schema"]

CHOICE_PROMPT = (
    "Choose the terms that describe the text. Use only terms of this list, as they are written. Answer with a JSON "
    "list of terms and nothing else; an empty list if none fits.\n\nTerms:\n{terms}\n\nText: {text}"
)
_log = logging.getLogger(__name__)


def term_schema(found: Sequence[Grounding], *, most: int | None = None) -> dict[str, Any]:
    """A JSON Schema for a list of these candidates, for models that answer in a structure.

    >>> term_schema([Grounding("teas", (Grounded("tea", 1.0),))])["items"]
    {'type': 'string', 'enum': ['tea']}
    """
    names = sorted({one.term for grounding in found for one in grounding.terms})
    schema: dict[str, Any] = {"type": "array", "uniqueItems": True}
    if names:
        schema["items"] = {"type": "string", "enum": names}
    if most is not None or not names:
        schema["maxItems"] = min(len(names), most) if most is not None else 0
    return schema


def choose_by_rule(
    found: Sequence[Grounding], *, threshold: float = 0.0, most_per_phrase: int = 1, rel: float = 0.8
) -> list[str]:
    """The terms that score at least ``threshold``, and at least ``rel`` of the best of their phrase, best first."""
    count("most_per_phrase", most_per_phrase)
    best: dict[str, float] = {}
    for grounding in found:
        top = grounding.terms[0].score if grounding.terms else 0.0
        one: Grounded
        for one in grounding.terms[:most_per_phrase]:
            if one.score >= max(threshold, rel * top):
                best[one.term] = max(one.score, best.get(one.term, 0.0))
    return sorted(best, key=lambda term: (-best[term], term))


def make_llm_chooser(
    *,
    complete: Callable[[str], str] | None = None,
    prompt: str = CHOICE_PROMPT,
    **settings: Any,
) -> Callable[[str, Sequence[Grounding]], list[str]]:
    """A function ``(text, groundings) -> terms`` that lets a language model choose among the candidates.

    ``complete(prompt)`` may stand in for the configured model. What it names that is no candidate is left out; if it
    cannot be understood, the rule chooses.

    >>> chooser = make_llm_chooser(complete=lambda prompt: '["tea", "coffee"]')
    >>> chooser("a cup of tea", [Grounding("tea", (Grounded("tea", 1.0),))])
    ['tea']
    """
    ask = complete or first_use(**settings)

    def choose(text: str, found: Sequence[Grounding]) -> list[str]:
        names = term_schema(found).get("items", {}).get("enum", [])
        if not names:
            return []
        try:
            reply = ask(prompt.replace("{terms}", "\n".join(names)).replace("{text}", text))
            chosen = json.loads(reply[reply.index("[") : reply.rindex("]") + 1])
        except Exception as error:
            # Whatever a model does, the candidates are still there.
            _log.warning("The model's choice cannot be used (%s: %s); the rule chooses.", type(error).__name__, error)
            return choose_by_rule(found)
        allowed = set(names)
        return [term for term in dict.fromkeys(map(str, chosen)) if term in allowed]

    return choose
