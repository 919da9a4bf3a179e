"""Asking a corpus a question: an answer that cites what was found, or the statement that nothing there answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import ALIASES, CHAPTERS, EMBEDDER, FILTER, FUSION, GRAPH, GRAPH_FIRST, MODE
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.searching import Found, SearchRequest, check_options
from ir.app.searching import search as search_operation
from ir.errors import InvalidInput, LlmError
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.answer import Event
    from ir.llm import LlmClient

__all__ = ["AskRequest", "AskResponse", "Source", "ask", "ask_events"]

_ROLES = ("user", "assistant")
DFLT_K = 6


@dataclass(frozen=True)
class AskRequest(Value):
    """``target`` is a corpus name or a path, or several. ``history`` are the turns before, ``{"role", "content"}``.

    ``llm``: ``None`` asks the configured language model if there is one, ``False`` answers by the best sentences,
    ``True`` is an error without a model.
    """

    question: Annotated[str, Arg("what to answer", blank=False, max_chars=20_000)]
    target: Annotated[str | tuple[str, ...], Arg("a corpus by name, or several", blank=False, max_items=20)] = "."
    k: Annotated[
        int,
        Arg("how many passages to answer from", min=1, max=50, clamp=True, short="-k", metavar="N"),
    ] = DFLT_K
    mode: Annotated[str | None, MODE] = None
    fusion: Annotated[str | None, FUSION] = None
    filter: Annotated[Mapping[str, Any] | None, FILTER] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    rerank: Annotated[
        str | None,
        Arg(
            "read the best again by this reranker",
            metavar="NAME",
            blank=False,
            bare=True,
            setting="retrieval.reranker",
        ),
    ] = None
    llm: Annotated[bool | None, Arg("ask the configured language model; without, the best sentences answer")] = None
    context_tokens: Annotated[
        int, Arg("about how many tokens of passages to answer from", min=50, max=100_000, clamp=True, metavar="N")
    ] = 3000
    answer_tokens: Annotated[
        int | None, Arg("how long the model's answer may be, in tokens", min=1, max=100_000, clamp=True, metavar="N")
    ] = None
    anyway: Annotated[bool, Arg("answer even if the floor says that nothing here does")] = False
    history: Annotated[
        tuple[Mapping[str, str], ...], Arg("the turns of the conversation before", option=False, max_items=100)
    ] = ()
    graph: Annotated[str | None, GRAPH] = None
    chapters: Annotated[int | None, CHAPTERS] = None
    graph_first: Annotated[bool, GRAPH_FIRST] = False
    aliases: Annotated[bool, ALIASES] = False

    def __post_init__(self) -> None:
        for turn in self.history if isinstance(self.history, (list, tuple)) else ():
            if (
                not isinstance(turn, Mapping)
                or turn.get("role") not in _ROLES
                or not isinstance(turn.get("content"), str)
            ):
                raise InvalidInput('A turn of history is {"role": "user" or "assistant", "content": a text}.')


@dataclass(frozen=True)
class Source(Value):
    """A passage that the answer was made from, and whether it cites it."""

    number: int
    id: str
    label: str
    score: float
    cited: bool
    corpus: str = ""
    path: str | None = None
    page: str | None = None
    section: str = ""
    line: int | None = None
    end_line: int | None = None
    text: str = ""


@dataclass(frozen=True)
class AskResponse(Value):
    """``answer`` is as it was written; ``cited_answer`` has citations that a rule attached, marked so.

    ``flags``: ``no_citation`` if the author cited nothing, ``unknown_citation`` if something that is not there.
    ``by`` is the model, or ``extract``. ``error`` is what the model failed with, and ``answer`` then what it had
    written until then. ``abstained``: nothing here answers that, for ``reason``.
    """

    question: str
    answer: str
    cited_answer: str
    by: str
    sources: tuple[Source, ...]
    flags: tuple[str, ...] = ()
    abstained: bool = False
    reason: str | None = None
    error: str | None = None
    corpora: tuple[str, ...] = ()
    query: str = ""
    stale: bool | None = None
    notes: tuple[str, ...] = ()


def check_question(request: AskRequest, ctx: Context) -> None:
    check_options(_search_request(request, request.question), ctx)
    if request.llm:
        _writer(request, ctx)


@operation(
    "ask",
    summary="Answer a question from a corpus, with citations",
    effect="reads",
    runs_long=True,
    doors=("cli", "mcp", "http"),
    precheck=check_question,
)
def ask(request: AskRequest, ctx: Context) -> AskResponse:
    found: dict[str, Any] = {}
    texts: dict[int, str] = {}
    for event in ask_events(request, ctx, texts=texts):
        ctx.emit(event)
        found[event.kind] = event.data
    ended = found.get("complete") or found["error"]
    context = found["context"]
    cited = {*ended.get("cited", ()), *(one["passage"] for one in ended.get("attached", ()))}
    sources = tuple(
        Source(**_only_source(one), cited=one["number"] in cited, text=texts.get(one["number"], ""))
        for one in context["passages"]
    )
    return AskResponse(
        question=request.question,
        answer=ended["answer"],
        cited_answer=ended.get("cited_answer", ended["answer"]),
        by=ended["by"],
        sources=sources,
        flags=tuple(ended.get("flags", ())),
        abstained=bool(ended.get("abstained")),
        reason=ended.get("reason"),
        error=ended.get("message"),
        corpora=tuple(found["search"]["corpora"]),
        query=found["search"]["query"],
        notes=tuple(found["search"]["notes"]),
    )


def ask_events(request: AskRequest, ctx: Context, *, texts: dict[int, str] | None = None) -> Iterator[Event]:
    """The answer as it comes about; ``texts`` receives what each passage says."""
    from ir.answer import Event, answer_events, follow_up

    query = follow_up(request.question, request.history)
    response = search_operation(_search_request(request, query), ctx)
    corpora, notes = list(response.corpora), list(response.notes)
    llm, missing = _writer_or_why(request, ctx)
    found = response.found[: request.k]
    summaries = _page_summaries(found, response.corpus, ctx)
    passages = [_passage(one, response.corpus, summaries.get(one.rank, "")) for one in found]
    if texts is not None:
        texts.update({passage.number: passage.text for passage in passages})
    refused = None
    if response.doubtful and not request.anyway:
        refused = next((note for note in notes if note.startswith("Probably nothing")), "Nothing here answers that.")
    if missing and passages and refused is None:  # where nobody writes an answer, nobody is missed
        notes.append(missing)
    yield Event("search", {"query": query, "corpora": corpora, "notes": notes})
    for event in answer_events(
        request.question,
        passages,
        llm,
        history=request.history,
        max_tokens=request.context_tokens,
        refused=refused,
    ):
        ctx.check()
        yield event


def _search_request(request: AskRequest, query: str) -> SearchRequest:
    return SearchRequest(
        query=query,
        target=request.target,
        k=request.k,
        mode=request.mode,
        filter=request.filter,
        embedder=request.embedder,
        rerank=request.rerank,
        per_file=request.k,
        fusion=request.fusion,
        graph=request.graph,
        chapters=request.chapters,
        graph_first=request.graph_first,
        aliases=request.aliases,
    )


def _writer_or_why(request: AskRequest, ctx: Context) -> tuple[LlmClient | None, str]:
    """The language model, or a word about why the best sentences answer."""
    if request.llm is False:
        return None, ""
    try:
        return _writer(request, ctx), ""
    except LlmError as error:
        if request.llm or "configured" not in error.message:
            raise
        return None, "No language model is configured, so the best sentences are the answer."


def _writer(request: AskRequest, ctx: Context) -> LlmClient:
    from ir.llm import LlmClient

    return LlmClient.from_settings(temperature=0.0, max_tokens=request.answer_tokens)


def _page_summaries(found: Sequence[Found], corpus: str, ctx: Context) -> dict[int, str]:
    """What the pages of passages say in short, by rank; only a book's passages have any."""
    wanted: dict[str, dict[int, str]] = {}
    for one in found:
        about = one.hit.metadata
        if isinstance(about.get("chunk"), str) and about.get("page") is not None:
            wanted.setdefault(one.hit.source or corpus, {})[one.rank] = about["chunk"]
    told: dict[int, str] = {}
    for name, chunks in wanted.items():
        with ctx.open(name).store.snapshot() as snapshot:
            nodes = snapshot.nodes(list(dict.fromkeys(chunks.values())))
        for rank, chunk in chunks.items():
            summary = nodes[chunk].properties.get("page_summary") if chunk in nodes else None
            if summary:
                told[rank] = str(for_show(summary))
    return told


def _passage(found: Found, corpus: str, summary: str = "") -> Any:
    from ir.answer import Passage

    hit, cited = found.hit, found.citation
    return Passage(
        number=found.rank,
        id=hit.artifact_id,
        text=str(for_show(hit.text)),
        label=_label(found),
        score=round(float(hit.score), 4),
        corpus=hit.source or corpus,
        path=cited.path,
        page=cited.page_label,
        section=cited.heading,
        line=cited.first_line,
        end_line=cited.last_line,
        summary=summary,
    )


def _label(found: Found) -> str:
    """Where a person finds a passage: its lines, else its page, and the section."""
    place = found.citation
    where = found.hit.artifact_id
    if place.first_line is not None:
        where += f":{place.first_line}"
        where += f"-{place.last_line}" if place.last_line not in (None, place.first_line) else ""
    elif place.page_label is not None:
        where += f", page {place.page_label}"
    heading = place.heading
    return f"{where} ({heading})" if heading and heading != found.hit.artifact_id else where


def _only_source(told: Mapping[str, Any]) -> dict[str, Any]:
    names = ("number", "id", "label", "score", "corpus", "path", "page", "section", "line", "end_line")
    return {name: told[name] for name in names}
