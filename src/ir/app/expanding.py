"""Reading on around a place: the neighbourhood of what a search found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ir.app.arguments import MAX_TOKENS, TARGET
from ir.app.context import Context
from ir.app.documents import document_of, tokens_of
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.references import Reference, find_artifact
from ir.base import Record, SearchHit
from ir.errors import NotFound
from ir.secrets.texts import for_show

__all__ = ["ExpandRequest", "ExpandResponse", "expand"]

HOW = ("window", "parent")
DFLT_MAX_TOKENS = 4_000


@dataclass(frozen=True)
class ExpandRequest(Value):
    """``item`` is an id, a path or a citation; ``surface_index`` names a record where there are no lines."""

    item: Annotated[str, Arg("an id, a path or a citation such as path:12", blank=False, metavar="ID|PATH:LINE")]
    target: Annotated[str, TARGET] = "."
    how: Annotated[
        str, Arg("a window of neighbours, or the whole parent", choices=HOW, metavar="HOW", help="window or parent.")
    ] = "window"
    window: Annotated[
        int, Arg("how many neighbours to each side", min=0, max=100, clamp=True, short="-k", metavar="N")
    ] = 1
    surface_index: Annotated[int | None, Arg("the number of a surface in its artifact", min=0, metavar="N")] = None
    max_tokens: Annotated[int | None, MAX_TOKENS] = None


@dataclass(frozen=True)
class ExpandResponse(Value):
    """The text around the place, from ``line`` to ``end_line`` where lines are known. ``more`` is what to ask ``get``
    for to read on, where the text was cut."""

    corpus: str
    id: str
    path: str | None
    text: str
    line: int | None
    end_line: int | None
    records: int
    more: str | None = None
    tokens: int = 0
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation(
    "expand",
    summary="Read on around a place that a search found",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def expand(request: ExpandRequest, ctx: Context) -> ExpandResponse:
    from ir.expand import expand as expand_hit
    from ir.expand import parent_policy, sentence_window_policy

    target = ctx.target(request.target)
    corpus = ctx.open(target)
    asked, entry = find_artifact(request.item, target.name, corpus.store, ctx)
    document = document_of(entry, corpus.store)
    seed = _seed(document.records, asked, request.surface_index)
    hit = SearchHit(
        document.artifact_id, seed.surface_kind, 0.0, seed.text, seed.metadata, corpus.name, seed.surface_index
    )
    policy = parent_policy() if request.how == "parent" else sentence_window_policy(request.window)
    passage = expand_hit(hit, corpus, policy=policy)
    kept = set(passage.record_ids)
    chosen = [record for record in document.records if record.id in kept]
    line, end = _lines(chosen)
    text = str(for_show(passage.text))
    budget = request.max_tokens or DFLT_MAX_TOKENS
    more = None
    if tokens_of(text) > budget:
        text = text[: int(len(text) * budget / tokens_of(text))]
        text = text[: text.rfind("\n") + 1] or text
        if line is not None:
            reached = line + text.count("\n")
            more, end = str(Reference(document.artifact_id, reached, end)), max(line, reached - 1)
        else:
            more = document.artifact_id
    notes = () if more is None else (f"Not all fits; to read on, get {more}.",)
    return ExpandResponse(
        target.name,
        document.artifact_id,
        document.path,
        text,
        line,
        end,
        len(chosen),
        more,
        tokens_of(text),
        None,
        notes,
    )


def _seed(records: tuple[Record, ...], asked: Reference, surface_index: int | None) -> Record:
    """The record that is meant: the one of that number, the one that holds the line, or the first."""
    if surface_index is not None:
        found = next((record for record in records if record.surface_index == surface_index), None)
    elif asked.first is not None:
        line = asked.first
        found = next((record for record in records if _holds(record, line)), None)
    else:
        found = records[0] if records else None
    if found is None:
        raise NotFound(f"{asked.name!r} has nothing there.", remedy="A search shows what it has.")
    return found


def _holds(record: Record, line: int) -> bool:
    first, last = record.metadata.get("line_start"), record.metadata.get("line_end")
    return isinstance(first, int) and first <= line <= (last if isinstance(last, int) else first)


def _lines(records: list[Record]) -> tuple[int | None, int | None]:
    firsts = [record.metadata.get("line_start") for record in records]
    lasts = [record.metadata.get("line_end") for record in records]
    known = [one for one in firsts if isinstance(one, int)], [one for one in lasts if isinstance(one, int)]
    return (min(known[0]), max(known[1])) if all(known) else (None, None)
