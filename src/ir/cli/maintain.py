"""``ir maintain`` and ``ir coverage``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.maintaining import CoverageResponse, MaintainResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED = 20


def register(app: typer.Typer) -> None:
    made = derived(maintain, "ir.app.maintaining:MaintainRequest", arguments=("corpora",))
    app.command("maintain", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(coverage, "ir.app.maintaining:CoverageRequest", arguments=("target",))
    app.command("coverage", cls=Command, rich_help_panel=KEEPING)(made)


def maintain(*, as_json: Json = False, **given: Any) -> int:
    """Do what is due: update, reindex and calibrate registered corpora, or only those that are named.

    What changed in a source is taken in, an index that was made by another strategy, synthesizer or embedder than is
    registered is made again, and floors for another embedder are calibrated again: as often as ir policy says, and
    without anybody there if ir schedule is followed. Exit code 3 means that something failed; the others are done all
    the same.
    """
    from ir.app.maintaining import MaintainRequest, maintain_corpora
    from ir.cli.session import perform

    response = perform(maintain_corpora, MaintainRequest(**given), show_maintenance, as_json=as_json)
    return 3 if response.failed else 0


def coverage(*, as_json: Json = False, **given: Any) -> int:
    """Compare what the source holds with what the index holds.

    Exit code 1 means that a build would change something. Nothing is embedded or written.
    """
    from ir.app.maintaining import CoverageRequest, report_coverage
    from ir.cli.session import perform

    response = perform(report_coverage, CoverageRequest(**given), show_coverage, as_json=as_json)
    return 0 if response.report.complete else 1


def show_maintenance(response: MaintainResponse, output: Output) -> None:
    if not response.results:
        print("ir: no corpora are registered; `ir build PATH` or `ir register` registers one", file=sys.stderr)
        return
    rows = [(item.corpus, item.task, item.status, item.detail) for item in response.results]
    output.table(("corpus", "task", "status", "detail"), rows)


def show_coverage(response: CoverageResponse, output: Output) -> None:
    report = response.report
    counts = [(name, len(getattr(report, name))) for name in ("indexed", "missing", "stale", "orphaned", "skipped")]
    meanings = {
        "indexed": "in both, and current",
        "missing": "in the source, not in the index",
        "stale": "changed in the source since",
        "orphaned": "in the index, gone from the source",
        "skipped": "not taken in",
    }
    output.line(f"{response.corpus}: {report.share:.0%} of the source is indexed and current")
    output.table(("artifacts", "count", "meaning"), [(n, f"{c:,}", meanings[n]) for n, c in counts], right=("count",))
    listed = [(name, item, "") for name in ("missing", "stale", "orphaned") for item in getattr(report, name)]
    listed += [("skipped", item, reason) for item, reason in report.skipped.items()]
    for name, item, reason in listed[:LISTED]:
        output.row(*(part for part in (name, item, reason) if part))
    if len(listed) > LISTED:
        output.line(f"… and {len(listed) - LISTED:,} more; --json lists them all")
