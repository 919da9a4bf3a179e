"""Keeping corpora as they should be: what is due, and what an index lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
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
    """The registered corpora, or only the named ones; ``dry_run`` only says what is due."""

    corpora: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True)
class MaintainResponse(Value):
    dry_run: bool
    results: tuple[MaintenanceResult, ...]

    @property
    def failed(self) -> int:
        return sum(result.status == "failed" for result in self.results)


@operation("maintain", summary="Do what is due: update, reindex and calibrate registered corpora")
def maintain_corpora(request: MaintainRequest, ctx: Context) -> MaintainResponse:
    from ir.maintain import maintain

    names = [resolve(word).name for word in request.corpora] or None
    return MaintainResponse(request.dry_run, tuple(maintain(names, dry_run=request.dry_run, progress=ctx.progress)))


@dataclass(frozen=True)
class CoverageRequest(Value):
    target: str


@dataclass(frozen=True)
class CoverageResponse(Value):
    """What the source holds against what the index holds."""

    corpus: str
    report: CoverageReport

    def to_dict(self) -> dict[str, Any]:
        return {"corpus": self.corpus, **self.report.to_dict()}


@operation("coverage", summary="Compare what the source holds with what the index holds", read_only=True)
def report_coverage(request: CoverageRequest, ctx: Context) -> CoverageResponse:
    from ir.eval import coverage
    from ir.index import open_store

    target = resolve(request.target)
    target.require_built()
    with open_store(target.name) as store:
        return CoverageResponse(target.name, coverage(target.source(ctx.settings), store))
