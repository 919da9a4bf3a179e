"""Judging answers while looking at them, into sets of cases that evaluation reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.references import find_artifact
from ir.errors import InvalidInput, NotFound
from ir.surrogates import storable

if TYPE_CHECKING:
    from ir.eval.judging import Change, JudgedQuery, JudgedSet

__all__ = [
    "JudgeRequest",
    "JudgeResponse",
    "JudgedQueryShown",
    "JudgedSetInfo",
    "JudgedSetsRequest",
    "JudgedSetsResponse",
    "JudgementShown",
    "judge",
    "judged_sets",
    "may_see",
    "refuse_hidden",
]

SET = Arg("the set of cases, by name; a new name begins a new set", blank=False, max_chars=64, metavar="SET")
#: The best grade there is; most judge with 0 and 1 alone.
_BEST = 10


@dataclass(frozen=True)
class JudgeRequest(Value):
    """What ``items`` are worth as answers to ``query``: ``grade``, 1 if nothing is said, 0 for a wrong answer.

    With ``remove`` nothing is said of them any more, without items of the whole query. ``nothing`` says that nothing
    answers it. ``undo`` takes back the change of that number, or with 0 the latest. With ``corpus`` items that are not
    in it are refused.
    """

    set: Annotated[str, SET]
    query: Annotated[str | None, Arg("what was asked", blank=False, max_chars=100_000, metavar="[QUERY]")] = None
    items: Annotated[
        tuple[str, ...],
        Arg("the ids of the items that are judged", blank=False, max_items=1000, max_chars=10_000, metavar="[ID...]"),
    ] = ()
    grade: Annotated[
        int | None,
        Arg(
            "how well they answer it: 1 if nothing is said, 0 for a wrong answer",
            min=0,
            max=_BEST,
            short="-g",
            metavar="N",
        ),
    ] = None
    note: Annotated[str | None, Arg("why", max_chars=2000, metavar="TEXT")] = None
    remove: Annotated[bool, Arg("take judgements away; without an ID all of the query")] = False
    nothing: Annotated[bool, Arg("nothing answers the query")] = False
    undo: Annotated[
        int | None, Arg("take back the change of this number; 0 for the latest", min=0, max=10**9, metavar="N")
    ] = None
    corpus: Annotated[str | None, Arg("the corpus that was asked", blank=False, metavar="CORPUS")] = None

    def __post_init__(self) -> None:
        said = bool(self.items) + self.nothing
        if self.undo is not None:
            if self.query is not None or said or self.remove or self.grade is not None or self.note is not None:
                raise InvalidInput("What is taken back needs no query and no judgement.")
        elif self.query is None:
            raise InvalidInput("There is no query to judge answers of.", remedy="Give one.")
        elif said > 1 or (not said and not self.remove):
            raise InvalidInput("Say which items are judged, or that nothing answers the query.")
        elif (self.remove or self.nothing) and self.grade is not None:
            raise InvalidInput("A grade is for items that are judged.", remedy="Leave it out.")


@dataclass(frozen=True)
class JudgementShown(Value):
    item: str
    grade: int
    note: str | None = None


@dataclass(frozen=True)
class JudgedQueryShown(Value):
    """``id`` is the one that evaluation calls the case by; ``None`` while only wrong answers are known, which makes no
    case."""

    id: str | None
    query: str
    nothing: bool
    judgements: tuple[JudgementShown, ...]
    corpus: str | None = None


@dataclass(frozen=True)
class JudgedSetInfo(Value):
    """``cases`` are what evaluation reads: those that are ``answered``, and those that nothing answers. ``undecided``
    queries have only wrong answers yet. ``file`` is told to the user alone."""

    name: str
    cases: int
    answered: int
    unanswerable: int
    undecided: int
    judgements: int
    corpora: tuple[str, ...]
    changed: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class JudgeResponse(Value):
    """``change`` is the number by which it can be taken back; ``None`` if all was so already. ``queries`` are those
    that it was about, as they are now."""

    set: str
    change: int | None
    changed: int
    queries: tuple[JudgedQueryShown, ...]
    info: JudgedSetInfo


@operation(
    "judge",
    summary="Say which items answer a query, in a set of cases that evaluation reads",
    effect="writes",
    doors=("cli", "http"),
    scope="workspace",
)
def judge(request: JudgeRequest, ctx: Context) -> JudgeResponse:
    from ir.eval.judging import changing

    corpus = None if request.corpus is None else ctx.target(request.corpus).name
    if request.undo is None:
        _refuse_unsaid(corpus, ctx)
    items = _items(request, corpus, ctx)
    by = "" if ctx.caller is None else storable(ctx.caller.name)
    with changing(request.set) as held:
        judged = held.judged
        if judged.queries:
            refuse_hidden(judged, ctx)
        if request.undo is not None:
            done = held.undo(request.undo or None, by=by)
        else:
            done = _judge(request, items, judged, corpus)
            held.record(done, by=by)
        if judged.queries:  # what was taken back may be about other corpora
            refuse_hidden(judged, ctx)
    touched = dict.fromkeys([*(change.query for change in done), *([_query(request)] if request.query else [])])
    shown = [one for one in _shown(judged) if one.query in touched]
    return JudgeResponse(judged.name, held.number, len(done), tuple(shown), _info(judged, ctx))


def _judge(request: JudgeRequest, items: Sequence[str], judged: JudgedSet, corpus: str | None) -> list[Change]:
    from ir.eval.judging import NOTHING, Judgement

    query = _query(request)
    known = judged.queries.get(query)
    held = {} if known is None else dict(known.judgements)
    if request.remove:
        return [change for item in items or held for change in judged.judge(query, item, None)]
    done: list[Change] = []
    for item in (NOTHING,) if request.nothing else items:
        before = held.get(item)
        kept = before.note if before is not None else None
        note = kept if request.note is None else storable(request.note).strip() or None
        grade = 0 if request.nothing else 1 if request.grade is None else request.grade
        done += judged.judge(query, item, Judgement(grade, note), corpus=corpus)
    return done


def _query(request: JudgeRequest) -> str:
    return storable(str(request.query)).strip()


def _items(request: JudgeRequest, corpus: str | None, ctx: Context) -> list[str]:
    """The ids that are meant. Where the corpus is known, a new judgement is only of what is in it."""
    given = [storable(item).strip() for item in request.items]
    if corpus is None or request.remove or not given:
        return list(dict.fromkeys(given))
    store = ctx.open(corpus).store
    return list(dict.fromkeys(find_artifact(item, corpus, store, ctx)[0].name for item in given))


@dataclass(frozen=True)
class JudgedSetsRequest(Value):
    """Without ``name`` the sets are listed; with it one is shown, its queries in the order of their ids."""

    name: Annotated[str | None, Arg("show this set", blank=False, max_chars=64, metavar="[SET]")] = None
    offset: Annotated[int, Arg("leave out so many of its queries", min=0, max=10**9, metavar="N")] = 0
    limit: Annotated[
        int, Arg("at most so many of its queries", min=1, max=10_000, clamp=True, short="-k", metavar="N")
    ] = 1000


@dataclass(frozen=True)
class JudgedSetsResponse(Value):
    """``queries`` are those of the one set that was asked for; ``broken`` says of files that are none why not."""

    sets: tuple[JudgedSetInfo, ...]
    queries: tuple[JudgedQueryShown, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)


@operation(
    "judged-sets",
    summary="List the sets of cases that were judged, or show one",
    effect="reads",
    doors=("cli", "http"),
    scope="workspace",
)
def judged_sets(request: JudgedSetsRequest, ctx: Context) -> JudgedSetsResponse:
    from ir.eval.judging import open_set, set_names

    if request.name is not None:
        judged = open_set(request.name)
        refuse_hidden(judged, ctx)
        shown = _shown(judged)[request.offset : request.offset + request.limit]
        return JudgedSetsResponse((_info(judged, ctx),), tuple(shown))
    found: list[JudgedSetInfo] = []
    broken: dict[str, str] = {}
    for name in set_names():
        ctx.check()
        try:
            judged = open_set(name)
        except NotFound:  # gone since they were listed
            continue
        except InvalidInput as error:
            broken[name] = "It cannot be read." if ctx.for_agent else error.message
            continue
        if may_see(judged.corpora, ctx):
            found.append(_info(judged, ctx))
    return JudgedSetsResponse(tuple(found), broken=broken)


def may_see(corpora: Sequence[str], ctx: Context) -> bool:
    """Whether the caller may see what was said about these corpora; who sees only some, sees nothing about others."""
    seen = None if ctx.caller is None else ctx.caller.corpora
    return seen is None or (bool(corpora) and set(corpora) <= seen)


def _refuse_unsaid(corpus: str | None, ctx: Context) -> None:
    if corpus is None and not may_see((), ctx):
        raise InvalidInput("Say which corpus was asked.", remedy="You see only some of them.")


def refuse_hidden(judged: JudgedSet, ctx: Context) -> None:
    """An error if the set is about corpora that the caller does not see."""
    if not may_see(judged.corpora, ctx):
        raise NotFound(
            f"There is no set of cases called {judged.name!r} that you can see.", remedy="Choose another name."
        )


def _shown(judged: JudgedSet) -> list[JudgedQueryShown]:
    """The cases as they are numbered in an evaluation, then the queries that are none yet."""
    from ir.eval.cases import case_id

    cases = [_query_shown(one, case_id(position)) for position, one in enumerate(judged.cases)]
    return cases + [_query_shown(one, None) for one in judged.queries.values() if not one.decided]


def _query_shown(one: JudgedQuery, number: str | None) -> JudgedQueryShown:
    from ir.eval.judging import NOTHING

    said = [JudgementShown(item, held.grade, held.note) for item, held in one.judgements.items() if item != NOTHING]
    return JudgedQueryShown(number, one.query, one.nothing_answers, tuple(said), one.case.corpus)


def _info(judged: JudgedSet, ctx: Context) -> JudgedSetInfo:
    from ir.eval.judging import set_file

    file = set_file(judged.name)
    changed = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds") if file.exists() else None
    answered = sum(bool(one.gold) for one in judged.cases)
    return JudgedSetInfo(
        name=judged.name,
        cases=len(judged.cases),
        answered=answered,
        unanswerable=len(judged.cases) - answered,
        undecided=len(judged.queries) - len(judged.cases),
        judgements=sum(len(one.judgements) for one in judged.queries.values()),
        corpora=judged.corpora,
        changed=changed,
        file=None if ctx.for_agent else str(file),
    )
