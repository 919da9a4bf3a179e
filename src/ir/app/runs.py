"""The evaluation runs that were kept: which there are, what one measured, and forgetting one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import DRY_RUN
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judging import may_see
from ir.app.operation import Value, operation
from ir.errors import NotFound

if TYPE_CHECKING:
    from ir.eval.kept import KeptQuery, KeptRun

__all__ = ["ForgetRunRequest", "ForgetRunResponse", "RunsRequest", "RunsResponse", "forget_run", "runs", "visible_run"]

RUN = Arg("the id of a run that was kept", blank=False, max_chars=100, metavar="RUN")


@dataclass(frozen=True)
class RunsRequest(Value):
    """Without ``id`` the runs are listed, the newest first, of one ``corpus`` or of one set of ``cases`` if that is
    said; with it one is shown, with its queries and, of each, the first ``depth`` that were found."""

    id: Annotated[str | None, Arg("show this run", blank=False, max_chars=100, metavar="[RUN]")] = None
    corpus: Annotated[str | None, Arg("only runs on this corpus", blank=False, metavar="CORPUS")] = None
    cases: Annotated[str | None, Arg("only runs on this set of cases", blank=False, metavar="SET")] = None
    limit: Annotated[
        int, Arg("at most so many runs, or queries of one", min=1, max=10_000, clamp=True, short="-k", metavar="N")
    ] = 1000
    offset: Annotated[int, Arg("leave out so many of them first", min=0, max=10**9, metavar="N")] = 0
    depth: Annotated[int, Arg("show so many results of each query", min=0, max=1000, clamp=True, metavar="N")] = 10


@dataclass(frozen=True)
class RunsResponse(Value):
    """``queries`` are those of the one run that was asked for."""

    runs: tuple[KeptRun, ...]
    queries: tuple[KeptQuery, ...] = ()


@operation(
    "runs",
    summary="List the evaluation runs that were kept, or show one query by query",
    effect="reads",
    doors=("cli", "http"),
    scope="workspace",
)
def runs(request: RunsRequest, ctx: Context) -> RunsResponse:
    from dataclasses import replace

    from ir.eval.kept import kept_queries, kept_runs

    part = slice(request.offset, request.offset + request.limit)
    if request.id is not None:
        run = visible_run(request.id, ctx)
        queries = [replace(one, ranking=one.ranking[: request.depth]) for one in kept_queries(run.id)[part]]
        return RunsResponse((run,), tuple(queries))
    wanted = {"corpus": request.corpus, "cases": request.cases}
    found = [
        run
        for run in kept_runs()
        if may_see((run.corpus,), ctx) and all(word in (None, getattr(run, name)) for name, word in wanted.items())
    ]
    return RunsResponse(tuple(found[part]))


def visible_run(run_id: str, ctx: Context) -> KeptRun:
    """The run of that id, if whoever asks may see the corpus that it was made on."""
    from ir.eval.kept import kept_run

    run = kept_run(run_id)
    if not may_see((run.corpus,), ctx):
        raise NotFound(f"There is no run {run_id!r} that you can see.", remedy="Choose one that is listed.")
    return run


@dataclass(frozen=True)
class ForgetRunRequest(Value):
    id: Annotated[str, RUN]
    dry_run: Annotated[bool, DRY_RUN] = False


@dataclass(frozen=True)
class ForgetRunResponse(Value):
    """``bytes`` were freed, or would be."""

    id: str
    bytes: int
    dry_run: bool


@operation(
    "forget-run",
    summary="Remove an evaluation run that was kept",
    effect="writes",
    doors=("cli", "http"),
    scope="workspace",
)
def forget_run(request: ForgetRunRequest, ctx: Context) -> ForgetRunResponse:
    from ir.eval import kept

    run = visible_run(request.id, ctx)
    freed = kept.run_bytes(run.id) if request.dry_run else kept.forget_run(run.id)
    return ForgetRunResponse(run.id, freed, request.dry_run)
