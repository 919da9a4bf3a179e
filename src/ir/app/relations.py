"""Who calls a definition, what it calls, what implements it, tests it, or may have to change with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import SYMBOL, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.naming import Asked, some
from ir.app.operation import Value, operation
from ir.app.related import Candidate, RelatedPlace, candidate, place
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.code.changes import Changes
    from ir.code.definitions import Definition
    from ir.code.relations import Relations

__all__ = [
    "CalleesRequest",
    "CallersRequest",
    "ImpactRequest",
    "ImplementationsRequest",
    "RelationsResponse",
    "TestsOfRequest",
    "callees",
    "callers",
    "impact",
    "implementations",
    "tests_of",
]

#: So many definitions of the same name are named; the rest is counted.
_NAMED = 20
_SHOWN_CHANGES = 50

DEPTH = Arg("how many steps to go", min=1, max=10, clamp=True, metavar="N")
COUNT = Arg("how many to show", min=1, max=1000, clamp=True, short="-k", metavar="N")
SKIP = Arg("leave out so many, to go on after them", min=0, max=1_000_000, metavar="N")
RESOLUTION = Arg(
    "the least sure links to show: exact, inferred, unique-name or name-only",
    choices="ir.code.relations:RESOLUTIONS",
    metavar="HOW",
    help="The least sure tier to show: exact, inferred, unique-name or name-only (all).",
)


@dataclass(frozen=True)
class CallersRequest(Value):
    """``symbol`` is a bare name, ``Class.method``, ``path::qualified.name``, ``path:line`` or a ``symbolKey``."""

    symbol: Annotated[str, SYMBOL]
    target: Annotated[str, TARGET] = "."
    depth: Annotated[int, DEPTH] = 1
    k: Annotated[int, COUNT] = 20
    skip: Annotated[int, SKIP] = 0
    resolution: Annotated[str | None, RESOLUTION] = None


@dataclass(frozen=True)
class CalleesRequest(CallersRequest):
    """As for callers."""


@dataclass(frozen=True)
class TestsOfRequest(CallersRequest):
    """As for callers; with a ``depth`` above one, also tests that reach the symbol through other functions."""

    __test__ = False


@dataclass(frozen=True)
class ImplementationsRequest(CallersRequest):
    """As for callers. All that inherit are found, however far below, unless ``depth`` says less."""

    depth: Annotated[int, DEPTH] = 10


@dataclass(frozen=True)
class ImpactRequest(Value):
    """Of ``symbol``, or of what differs from the git revision ``diff`` in the folder of the corpus."""

    symbol: Annotated[str | None, SYMBOL] = None
    target: Annotated[str, TARGET] = "."
    diff: Annotated[
        str | None,
        Arg("all that changed since a git revision, instead of a symbol", blank=False, max_chars=400, metavar="[REV]"),
    ] = None
    depth: Annotated[int, DEPTH] = 2
    k: Annotated[int, COUNT] = 20
    skip: Annotated[int, SKIP] = 0
    resolution: Annotated[str | None, RESOLUTION] = None

    def __post_init__(self) -> None:
        if (self.symbol is None) == (self.diff is None):
            raise InvalidInput("Say what changes: a symbol, or a git revision as `diff`, and not both.")


@dataclass(frozen=True)
class RelationsResponse(Value):
    """``definitions`` are those that are answered for, ``others`` have the same name and are not.

    ``found`` comes in tiers, the surest first, and ``counts`` says how many there are in each. Of an impact, ``tests``
    are those that are affected. Where nothing is found ``reason`` and ``why`` say why, and ``near`` similar names.
    ``next_skip`` is the ``skip`` that shows what follows. ``root`` is the folder that paths are below.
    """

    corpus: str
    relation: str
    symbol: str
    definitions: tuple[Candidate, ...]
    found: tuple[RelatedPlace, ...] = ()
    tests: tuple[RelatedPlace, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    total_tests: int = 0
    next_skip: int | None = None
    others: tuple[Candidate, ...] = ()
    total_others: int = 0
    reason: str | None = None
    why: str = ""
    near: tuple[str, ...] = ()
    root: str | None = None
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation("callers", summary="Show what calls a definition", effect="reads", doors=("cli", "mcp", "http"))
def callers(request: CallersRequest, ctx: Context) -> RelationsResponse:
    return _answer("callers", request, ctx)


@operation("callees", summary="Show what a definition calls", effect="reads", doors=("cli", "mcp", "http"))
def callees(request: CalleesRequest, ctx: Context) -> RelationsResponse:
    return _answer("callees", request, ctx)


@operation(
    "implementations",
    summary="Show what implements, inherits from or overrides a definition",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def implementations(request: ImplementationsRequest, ctx: Context) -> RelationsResponse:
    return _answer("implementations", request, ctx)


@operation("tests-of", summary="Show which tests exercise a definition", effect="reads", doors=("cli", "mcp", "http"))
def tests_of(request: TestsOfRequest, ctx: Context) -> RelationsResponse:
    return _answer("tests", request, ctx)


@operation(
    "impact",
    summary="Show what may have to change with a definition, or with a git diff, and the tests affected",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def impact(request: ImpactRequest, ctx: Context) -> RelationsResponse:
    return _answer("impact", request, ctx)


# -- one of the relations --------------------------------------------------------------------------------------------


def _answer(relation: str, request: Any, ctx: Context) -> RelationsResponse:
    asked = Asked(request.symbol or "", request.target, ctx)
    with asked.store.snapshot() as snapshot:
        relations = asked.relations(snapshot)
        changed = getattr(request, "diff", None)
        if changed is not None:
            return _of_diff(asked, relations, request)
        meant = asked.meant(relations, types_first=relation == "implementations")
        if not meant.chosen:
            reason, why, near, stale = asked.unknown(meant, relations)
            return RelationsResponse(
                asked.name, relation, asked.word, (), reason=reason, why=why, near=near, root=asked.root, stale=stale
            )
        return _related(asked, relations, relation, request, meant.chosen, meant.others)


def _related(
    asked: Asked,
    relations: Relations,
    relation: str,
    request: Any,
    chosen: Sequence[Definition],
    others: Sequence[Definition],
    *,
    about: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> RelationsResponse:
    """The page of an answer that was asked for."""
    from ir.code.relations import NAME_ONLY, RESOLUTIONS

    least = RESOLUTIONS.index(request.resolution or NAME_ONLY)
    enough = request.skip + request.k + 1
    guesses = enough if RESOLUTIONS[least] == NAME_ONLY else 0
    walked = relations.of(relation, chosen, request.depth, guesses)
    asked.ctx.check()
    counts = walked.counts()
    links = [link for link in walked.links if RESOLUTIONS.index(link.resolution) <= least]
    tests = [link for link in links if relation == "impact" and relations.is_test(link)]
    aside = set(tests)
    links = [link for link in links if link not in aside]
    reached = request.skip + request.k
    page = relations.shown(links[request.skip : reached])
    affected = relations.shown(tests[: request.k])
    following = reached if len(links) > reached else None
    told = [*asked.notes, *notes, *_remarks(walked, request, following, others)]
    reason, why, stale = None, "", None
    if not links and not tests:
        if not counts and not guesses:
            counts = relations.of(relation, chosen, request.depth, request.k).counts()
        reason, why, stale = asked.nothing(relation, chosen, counts, request)
    return RelationsResponse(
        asked.name,
        relation,
        asked.word or f"diff {request.diff}",
        tuple(candidate(one, (about or {}).get(one.key)) for one in chosen[:_SHOWN_CHANGES]),
        tuple(map(place, page)),
        tuple(map(place, affected)),
        counts,
        len(links),
        len(tests),
        following,
        tuple(candidate(one) for one in others[:_NAMED]),
        len(others),
        reason,
        why,
        (),
        asked.root,
        stale,
        tuple(told),
    )


def _remarks(walked: Any, request: Any, following: int | None, others: Sequence[Definition]) -> Iterable[str]:
    """What is to be known of an answer beside what was found."""
    if following is not None:
        yield f"There are more; to go on: skip={following}."
    if others:
        count = len(others)
        told = "Another definition has" if count == 1 else f"{count:,} other definitions have"
        yield f"{told} this name; say which one is meant by path::name."
    if walked.unread and following is None:
        yield f"{_files(walked.unread)} more use the name and were not read."
    if walked.cut:
        yield f"The walk did not go on from {walked.cut:,} definitions: they are too many. Ask with depth=1."
    if walked.unresolved:
        shown = ", ".join(walked.unresolved[:12])
        yield f"Called, and not found here: {shown}{', …' if len(walked.unresolved) > 12 else ''}."


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


# -- what a diff changes ---------------------------------------------------------------------------------------------


def _of_diff(asked: Asked, relations: Relations, request: ImpactRequest) -> RelationsResponse:
    from ir.code.changes import changes_since

    root = asked.folder()
    if root is None:
        raise InvalidInput(
            f"The corpus {asked.name!r} was not made from a folder on this machine, so there is no diff.",
            remedy="Name a symbol instead.",
        )
    changes = changes_since(root, str(request.diff))
    held = {one.key: one for one in relations.definitions.by_keys([one.key for one in changes.kept])}
    gone = [one for one in changes.gone if one.kind != "module"]
    chosen = [*gone, *(held.get(one.key, one) for one in changes.kept)]
    about = {one.key: "changed" if one.key in held else "new" for one in changes.kept}
    about |= {one.key: "gone" for one in gone if one.key not in held}
    notes = list(_of_changes(changes))
    if not chosen:
        why = f"No definition differs from {request.diff}: {_files(changes.files)} changed."
        return RelationsResponse(
            asked.name,
            "impact",
            f"diff {request.diff}",
            (),
            reason="no_changes",
            why=why,
            root=asked.root,
            notes=(*asked.notes, *notes),
        )
    if len(chosen) > _SHOWN_CHANGES:
        notes.append(f"{len(chosen):,} definitions changed; the first {_SHOWN_CHANGES} are listed.")
    return _related(asked, relations, "impact", request, chosen, (), about=about, notes=notes)


def _of_changes(changes: Changes) -> Iterable[str]:
    if changes.loose:
        yield f"Changed outside of definitions, which is not followed: {some(changes.loose)}."
    if changes.unread:
        yield f"Changed, and not read as definitions: {some(changes.unread)}."
