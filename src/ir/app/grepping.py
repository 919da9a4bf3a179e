"""Looking for a text or a regular expression in what is indexed, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import LINES, MAX_TOKENS, TARGET
from ir.app.context import Context
from ir.app.documents import Document, document_of, tokens_of
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.patterns import Matcher, matcher
from ir.app.places import view
from ir.base import POINTER_KEYS, ledger_key
from ir.protocols import WithTexts
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["GrepRequest", "GrepResponse", "Line", "Match", "grep"]

DFLT_MAX_TOKENS = 8_000
#: A line is shown up to so many characters.
_SHOWN = 400
_BATCH = 500


@dataclass(frozen=True)
class GrepRequest(Value):
    """``pattern`` is plain text unless ``regex``. ``paths`` are patterns such as ``docs/*.md``, for ids or paths."""

    pattern: Annotated[str, Arg("what to look for in each line", blank=False, max_chars=1000, metavar="PATTERN")]
    target: Annotated[str, TARGET] = "."
    regex: Annotated[bool, Arg("the pattern is a regular expression", short="-E")] = False
    ignore_case: Annotated[bool, Arg("capitals make no difference", short="-i")] = False
    paths: Annotated[
        tuple[str, ...], Arg("only in artifacts whose id matches, such as docs/*.md", flag="--path", metavar="GLOB")
    ] = ()
    context: Annotated[int, LINES] = 0
    k: Annotated[int, Arg("how many lines that match", min=1, max=10_000, clamp=True, short="-k", metavar="N")] = 100
    skip: Annotated[int, Arg("leave out so many matches, to go on after them", min=0, metavar="N")] = 0
    max_tokens: Annotated[int | None, MAX_TOKENS] = None


@dataclass(frozen=True)
class Line(Value):
    """A line and its number."""

    line: int
    text: str


@dataclass(frozen=True)
class Match(Value):
    """A line that matches, with those around it; ``marks`` is where in ``text`` the pattern stands.

    ``cited``: the line is that of the file at ``path``; else it is counted in the text that is indexed.
    """

    id: str
    path: str | None
    line: int
    text: str
    marks: tuple[tuple[int, int], ...]
    cited: bool
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()


@dataclass(frozen=True)
class GrepResponse(Value):
    """``total`` lines match in all, ``counts`` says how many in each artifact. ``next_skip`` is the ``skip`` that shows
    what follows; ``None`` if this is all. ``stale`` as in a search."""

    corpus: str
    pattern: str
    matches: tuple[Match, ...]
    total: int
    counts: Mapping[str, int]
    next_skip: int | None = None
    tokens: int = 0
    stale: bool | None = None
    notes: tuple[str, ...] = ()


def check_pattern(request: GrepRequest, ctx: Context) -> None:
    matcher(request.pattern, regex=request.regex, ignore_case=request.ignore_case)


@operation(
    "grep",
    summary="Look for a text or a regular expression in what is indexed",
    effect="reads",
    doors=("cli", "mcp", "http"),
    precheck=check_pattern,
)
def grep(request: GrepRequest, ctx: Context) -> GrepResponse:
    match = matcher(request.pattern, regex=request.regex, ignore_case=request.ignore_case)
    part = view(request.target, ctx)
    target = part.target
    store = ctx.open(target).store
    found = _found(store, match, request, part.inside, ctx)
    counts = {artifact_id: len(lines) for artifact_id, lines in sorted(found.items())}
    places = [(artifact_id, line) for artifact_id in counts for line in sorted(found[artifact_id])]
    matches: list[Match] = []
    budget, spent = request.max_tokens or DFLT_MAX_TOKENS, 0
    documents: dict[str, Document] = {}
    for artifact_id, line in places[request.skip : request.skip + request.k]:
        ctx.check()
        if request.context and artifact_id not in documents:
            entry = store.get_ledger_entry(ledger_key(artifact_id))
            documents = {artifact_id: document_of(entry or {}, store)}
        one = _match(artifact_id, line, found[artifact_id][line], match, request, documents.get(artifact_id))
        cost = sum(tokens_of(part.text) + 4 for part in (*one.before, *one.after)) + tokens_of(one.text) + 8
        if matches and spent + cost > budget:
            break
        matches.append(one)
        spent += cost
    reached = request.skip + len(matches)
    following = reached if reached < len(places) else None
    left = len(places) - reached
    told = "1 more line matches" if left == 1 else f"{left:,} more lines match"
    notes = part.notes if following is None else (*part.notes, f"{told}; to go on: skip={following}.")
    return GrepResponse(
        target.name, request.pattern, tuple(matches), len(places), counts, following, spent, None, notes
    )


class _Place(tuple[str, "str | None", bool]):
    """The whole line, the path of its file, and whether its number is that of the line there."""


def _found(
    store: Store, match: Matcher, request: GrepRequest, inside: str, ctx: Context
) -> dict[str, dict[int, _Place]]:
    """The lines that match in each artifact. Chunks overlap, so a line may be seen twice, and once only in part."""
    found: dict[str, dict[int, _Place]] = {}
    plain = request.pattern if not request.regex and not request.ignore_case else None
    for artifact_id, text, metadata_of in _texts(store, ctx):
        if plain is not None and plain not in text:
            continue
        if inside and artifact_id != inside and not artifact_id.startswith(f"{inside}/"):
            continue
        if request.paths and not any(fnmatchcase(artifact_id, pattern) for pattern in request.paths):
            continue
        lines = [(number, line) for number, line in enumerate(text.split("\n")) if match(line) is not None]
        if not lines:
            continue
        metadata = metadata_of()
        first = metadata.get("line_start")
        cited = isinstance(first, int)
        path = next((str(metadata[key]) for key in POINTER_KEYS if metadata.get(key)), None)
        held = found.setdefault(artifact_id, {})
        for number, line in lines:
            at = number + (first if isinstance(first, int) else 1)
            if at not in held or len(held[at][0]) < len(line):
                held[at] = _Place((line, path, cited))
    return found


def _texts(store: Store, ctx: Context) -> Iterator[tuple[str, str, Callable[[], Mapping[str, Any]]]]:
    """Every text that is indexed, with the artifact that it is of, and what gives its metadata."""
    if isinstance(store, WithTexts):
        for page in store.iter_texts(_BATCH):
            ctx.check()
            yield from page
        return
    for records in store.iter_records(_BATCH):
        ctx.check()
        for record in records:
            yield record.artifact_id, record.text, partial(dict, record.metadata)


def _match(
    artifact_id: str, line: int, place: _Place, match: Matcher, request: GrepRequest, document: Document | None
) -> Match:
    text, path, cited = place
    around = request.context
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()
    if document is not None:
        whole = document.between(line, line)
        text = whole[0] if whole else text
        before = tuple(_lines(document, line - around, line - 1))
        after = tuple(_lines(document, line + 1, line + around))
    hidden = str(for_show(text))
    span = match(hidden)
    shown, marks = _cut(hidden, span)
    return Match(artifact_id, path, line, shown, marks, cited, before, after)


def _lines(document: Document, first: int, last: int) -> Iterator[Line]:
    first = max(first, document.first)
    for number, text in enumerate(document.between(first, last), start=first):
        yield Line(number, text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _cut(text: str, span: tuple[int, int] | None) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line that is not too long, around where the pattern stands."""
    start, end = span or (0, 0)
    begin = max(0, min(start - _SHOWN // 4, len(text) - _SHOWN)) if len(text) > _SHOWN else 0
    lead, tail = "…" if begin else "", "…" if begin + _SHOWN < len(text) else ""
    shown = f"{lead}{text[begin : begin + _SHOWN]}{tail}"
    moved = len(lead) - begin
    marks = ((start + moved, min(end + moved, len(shown))),) if span is not None else ()
    return shown, marks
