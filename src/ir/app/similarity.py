"""Finding what is like something: like an artifact of the corpus, some lines of it, or a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.arguments import FILTER, MODE, SURFACES, TARGET, K
from ir.app.context import Context
from ir.app.documents import document_of
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.references import find_artifact
from ir.app.searching import Found, analyzer_of, found_in, words_of
from ir.errors import InvalidInput

__all__ = ["SimilarRequest", "SimilarResponse", "similar"]

#: So much of a text says what it is about; no embedder reads more.
_READ = 8_000


@dataclass(frozen=True)
class SimilarRequest(Value):
    """Either ``item``, an id, a path or a citation in the corpus, or ``text`` of your own."""

    item: Annotated[
        str | None, Arg("an id, a path or a citation such as path:12-40", blank=False, metavar="ID|PATH:LINES")
    ] = None
    text: Annotated[str | None, Arg("a text instead", blank=False, max_chars=100_000, metavar="TEXT")] = None
    target: Annotated[str, TARGET] = "."
    k: Annotated[int | None, K] = None
    mode: Annotated[str | None, MODE] = None
    filter: Annotated[Mapping[str, Any] | None, FILTER] = None
    surfaces: Annotated[tuple[str, ...], SURFACES] = ()

    def __post_init__(self) -> None:
        if (self.item is None) == (self.text is None):
            raise InvalidInput("Say what it should be like: an item of the corpus or a text, and not both.")


@dataclass(frozen=True)
class SimilarResponse(Value):
    """``found`` is most alike first, without the item itself. ``stale`` as in a search."""

    corpus: str
    like: str
    found: tuple[Found, ...]
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation(
    "similar",
    summary="Find what is like an artifact, some lines of it, or a text",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def similar(request: SimilarRequest, ctx: Context) -> SimilarResponse:
    from ir.base import Hits
    from ir.retrieve import search as search_corpus

    target = ctx.target(request.target)
    corpus = ctx.open(target)
    k = ctx.settings["k"] if request.k is None else request.k
    itself, text = None, str(request.text)
    if request.item is not None:
        asked, entry = find_artifact(request.item, target.name, corpus.store, ctx)
        document = document_of(entry, corpus.store)
        itself = document.artifact_id
        first, last = asked.first or document.first, asked.last or document.last
        text = "\n".join(document.between(first, last))
    if not text.strip():
        raise InvalidInput(f"{request.item!r} has no text to compare.")
    ctx.check()
    hits = search_corpus(
        corpus,
        text[:_READ],
        k=k + (itself is not None),
        mode=request.mode or "dense",
        filter=request.filter,
        surfaces=request.surfaces or None,
        ranking="plain",  # a text that others are compared with asks for nothing
    )
    kept = Hits([hit for hit in hits if hit.artifact_id != itself][:k], hits.meta)
    analyzer = analyzer_of(corpus, ctx)
    found = found_in(kept, words_of(text[:_READ], analyzer), {corpus.name: analyzer})
    like = request.item if request.item is not None else text[:80]
    return SimilarResponse(target.name, like, found, None, tuple(hits.meta.get("notes", ())))
