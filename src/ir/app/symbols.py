"""Everything about one definition in one answer: its text, its callers, its tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import MAX_TOKENS, SYMBOL, TARGET
from ir.app.context import Context
from ir.app.documents import tokens_of
from ir.app.naming import Asked
from ir.app.operation import Value, operation
from ir.app.related import Candidate, candidate
from ir.base import json_clean

if TYPE_CHECKING:
    from ir.code.definitions import Definition, Meant
    from ir.code.relations import Related, Relations

__all__ = ["SymbolRequest", "SymbolResponse", "symbol"]

#: What an answer about one symbol may take.
SYMBOL_TOKENS = 2_000
_CALLERS, _TESTS, _CALLEES, _KINDS = 12, 8, 10, 6


@dataclass(frozen=True)
class SymbolRequest(Value):
    symbol: Annotated[str, SYMBOL]
    target: Annotated[str, TARGET] = "."
    max_tokens: Annotated[int | None, MAX_TOKENS] = None


@dataclass(frozen=True)
class SymbolResponse(Value):
    """One definition with its text, and the surest of what is related to it; ``totals`` counts what there is.

    ``more`` is what to ask ``get`` for to read the rest of the text. The rest as in a ``RelationsResponse``.
    """

    corpus: str
    symbol: str
    definition: Candidate | None = None
    text: str = ""
    more: str | None = None
    callers: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    reason: str | None = None
    why: str = ""
    near: tuple[str, ...] = ()
    root: str | None = None
    tokens: int = 0
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation(
    "symbol",
    summary="Show a definition with its text, callers and tests in one answer",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def symbol(request: SymbolRequest, ctx: Context) -> SymbolResponse:
    asked = Asked(request.symbol, request.target, ctx)
    with asked.store.snapshot() as snapshot:
        relations = asked.relations(snapshot)
        meant = asked.meant(relations)
        if not meant.chosen:
            reason, why, near, stale = asked.unknown(meant, relations)
            return SymbolResponse(
                asked.name, request.symbol, reason=reason, why=why, near=near, root=asked.root, stale=stale
            )
        parts = _around(relations, meant.chosen)
        budget = request.max_tokens or SYMBOL_TOKENS
        return _fitted(asked, meant, parts, budget)


def _around(relations: Relations, chosen: Sequence[Definition]) -> dict[str, tuple[int, list[Related]]]:
    """What is related to a definition in each way: how many, and the first of them."""
    wanted = {"callers": _CALLERS, "tests": _TESTS, "callees": _CALLEES, "implementations": _KINDS}
    found: dict[str, tuple[int, list[Related]]] = {}
    for relation, most in wanted.items():
        # Guesses are only worth the room where nothing is known.
        links = relations.of(relation, chosen, 1, 0).links or relations.of(relation, chosen, 1, most).links
        if relation == "callers":
            links = [link for link in links if not relations.is_test(link)]
        found[relation] = len(links), relations.shown(links[:most])
    return found


def _fitted(asked: Asked, meant: Meant, parts: Mapping[str, tuple[int, list[Related]]], budget: int) -> SymbolResponse:
    """All of it within a budget: the text of the definition takes what the rest leaves, and at least a few lines."""
    one = meant.chosen[0]
    lines = asked.lines(one)
    shown = {relation: [_cited(related) for related in found] for relation, (_, found) in parts.items()}
    totals = {relation: count for relation, (count, _) in parts.items() if count}
    others = [f"{other.path}::{other.name}" for other in (*meant.chosen[1:], *meant.others)]

    def made(kept: int, share: float) -> SymbolResponse:
        some = {relation: tuple(all_[: max(1, int(len(all_) * share))]) for relation, all_ in shown.items()}
        text = "\n".join(lines[:kept])
        more = f"{one.path}:{one.line + kept}-{one.end_line}" if kept < len(lines) else None
        return SymbolResponse(
            asked.name,
            asked.word,
            candidate(one),
            text,
            more,
            some["callers"],
            some["tests"],
            some["callees"],
            some["implementations"],
            totals,
            tuple(others[: max(1, int(_KINDS * share))]),
            root=asked.root,
            notes=tuple(asked.notes),
        )

    def cost(response: SymbolResponse) -> int:
        return tokens_of(json.dumps(json_clean(response.to_dict()), ensure_ascii=False))

    share, kept = 1.0, len(lines)
    for share in (1.0, 0.6, 0.3, 0.1):
        bare = cost(made(0, share))
        if bare <= budget * 2 // 3 or share == 0.1:
            break
    kept = 0
    room = budget - cost(made(0, share))
    for line in lines:
        room -= tokens_of(line) + 2
        if room < 0:
            break
        kept += 1
    response = made(kept, share)
    while kept and cost(response) > budget:
        kept = kept * 9 // 10
        response = made(kept, share)
    return replace(response, tokens=cost(response))


def _cited(related: Related) -> str:
    """One line for something related: place, name, how it is known."""
    one = related.definition
    return f"{one.path}:{related.line} {one.name} ({related.resolution})"
