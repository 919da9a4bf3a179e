"""Keeping corpora as they should be: what is due, and what an index lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import resolve

if TYPE_CHECKING:
    from ir.eval import CoverageReport
    from ir.maintain import MaintenanceResult

__all__ = [
    "CoverageRequest",
    "CoverageResponse",
    "MaintainRequest",
    "MaintainResponse",
    "maintain_corpora",
    "report_coverage",
]


@dataclass(frozen=True)
class MaintainRequest(Value):
    """The registered corpora, or only the named ones; ``dry_run`` only says what is due. ``at_once`` does not ask their
    policies whether it is time."""

    corpora: Annotated[tuple[str, ...], Arg("only these corpora", blank=False, metavar="[CORPUS...]")] = ()
    dry_run: Annotated[bool, Arg("only say what is due", short="-n")] = False
    at_once: Annotated[bool, Arg("do not wait for the time that a corpus's policy says", flag="--now")] = False


@dataclass(frozen=True)
class MaintainResponse(Value):
    dry_run: bool
    results: tuple[MaintenanceResult, ...]

    @property
    def failed(self) -> int:
        return sum(result.status == "failed" for result in self.results)


@operation(
    "maintain",
    summary="Do what is due: update, reindex and calibrate registered corpora",
    effect="writes",
    runs_long=True,
    scope="workspace",
)
def maintain_corpora(request: MaintainRequest, ctx: Context) -> MaintainResponse:
    from ir.maintain import maintain

    names = [resolve(word).name for word in request.corpora] or None
    results = maintain(names, dry_run=request.dry_run, progress=ctx.progress, at_once=request.at_once)
    return MaintainResponse(request.dry_run, tuple(results))


@dataclass(frozen=True)
class CoverageRequest(Value):
    """``target`` is a corpus name, or the path that one was made from."""

    target: Annotated[str, TARGET]


@dataclass(frozen=True)
class CoverageResponse(Value):
    """What the source holds against what the index holds."""

    corpus: str
    report: CoverageReport

    def to_dict(self) -> dict[str, Any]:
        return {"corpus": self.corpus, **self.report.to_dict()}

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import OPEN, schema_of

        return {**OPEN, "properties": {"corpus": schema_of(str)}, "required": ["corpus"]}


@operation(
    "coverage", summary="Compare what the source holds with what the index holds", effect="reads", runs_long=True
)
def report_coverage(request: CoverageRequest, ctx: Context) -> CoverageResponse:
    from ir.eval import coverage
    from ir.index import open_store

    target = resolve(request.target)
    target.require_built()
    with open_store(target.name) as store:
        return CoverageResponse(target.name, coverage(target.source(ctx.settings), store, progress=ctx.progress))
