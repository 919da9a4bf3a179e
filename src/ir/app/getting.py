"""Reading what a search found: whole artifacts or some of their lines, several at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ir.app.arguments import MAX_TOKENS, TARGET
from ir.app.context import Context
from ir.app.documents import Document, document_of, numbered, tokens_of
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.references import Reference, find_artifact
from ir.errors import NotFound

__all__ = ["GetRequest", "GetResponse", "Got", "get"]

#: About so many tokens are returned where nobody says how many.
DFLT_MAX_TOKENS = 8_000


@dataclass(frozen=True)
class GetRequest(Value):
    """``items`` are ids, paths relative to the corpus's folder, or citations such as ``path:12-40``."""

    items: Annotated[
        tuple[str, ...],
        Arg("ids, paths or citations such as path:12-40", blank=False, max_items=100, metavar="ID|PATH:LINES"),
    ]
    target: Annotated[str, TARGET] = "."
    context: Annotated[int, Arg("lines more before and after those that are cited", min=0, max=1000, metavar="N")] = 0
    max_tokens: Annotated[int | None, MAX_TOKENS] = None
    numbers: Annotated[bool, Arg("number the lines", flag="--numbers/--no-numbers")] = True


@dataclass(frozen=True)
class Got(Value):
    """Lines ``line`` to ``end_line`` of an artifact that has ``first_line`` to ``last_line``.

    ``cited``: the lines are those of the file at ``path``; else they are counted in the text that is indexed.
    ``cut``: there is less than was asked for.
    """

    id: str
    path: str | None
    title: str
    line: int
    end_line: int
    first_line: int
    last_line: int
    cited: bool
    text: str
    cut: bool = False


@dataclass(frozen=True)
class GetResponse(Value):
    """``more`` are the ``items`` to ask for next: what is left of those that were cut, and those not begun.

    ``tokens`` is about how many the texts have. ``stale`` as in a search.
    """

    corpus: str
    got: tuple[Got, ...]
    more: tuple[str, ...] = ()
    tokens: int = 0
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation(
    "get",
    summary="Read artifacts, or some of their lines, by id, path or citation",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def get(request: GetRequest, ctx: Context) -> GetResponse:
    target = ctx.target(request.target)
    corpus = ctx.open(target)
    left = request.max_tokens or DFLT_MAX_TOKENS
    found = [find_artifact(item, target.name, corpus.store, ctx) for item in request.items]
    got: list[Got] = []
    more: list[str] = []
    for asked, entry in found:
        ctx.check()
        if left <= 0 or more:
            more.append(str(asked))
            continue
        document = document_of(entry, corpus.store)
        piece, rest = _piece(document, asked, request, left)
        left -= tokens_of(piece.text)
        got.append(piece)
        more += [str(rest)] if rest is not None else []
    notes = () if not more else (f"Not all fits; to go on, ask for: {', '.join(more)}.",)
    return GetResponse(target.name, tuple(got), tuple(more), sum(tokens_of(one.text) for one in got), None, notes)


def _piece(document: Document, asked: Reference, request: GetRequest, budget: int) -> tuple[Got, Reference | None]:
    """As much as fits of what was asked of a document, at least a line; and what is left of it."""
    first = document.first if asked.first is None else asked.first - request.context
    last = document.last if asked.last is None else asked.last + request.context
    if asked.first is not None and asked.first > document.last:
        raise NotFound(
            f"{document.artifact_id!r} has lines {document.first} to {document.last}, not {asked.first}.",
            remedy="Ask for lines that are there.",
        )
    first, last = max(first, document.first), min(last, document.last)
    kept = list(document.between(first, last))
    while len(kept) > 1 and tokens_of(_text(kept, first, request)) > budget:
        share = budget / tokens_of(_text(kept, first, request))
        kept = kept[: max(1, min(len(kept) - 1, int(len(kept) * share)))]
    end = first + len(kept) - 1
    rest = None
    if end < last:
        # An open end stays open, so that what is asked for next says the same.
        rest = Reference(document.artifact_id, end + 1, None if asked.last is None else last)
    text = _text(kept, first, request)
    short = rest is None and tokens_of(text) > 2 * budget
    if short:  # one line that is longer than all that was asked for
        text = f"{text[: int(budget * 3)]}…"
    piece = Got(
        document.artifact_id,
        document.path,
        document.title,
        first,
        end,
        document.first,
        document.last,
        document.cited,
        text,
        rest is not None or short,
    )
    return piece, rest


def _text(lines: list[str], first: int, request: GetRequest) -> str:
    return numbered(lines, first) if request.numbers else "\n".join(lines)
