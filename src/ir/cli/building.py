"""``ir build``, ``ir watch`` and ``ir upgrade``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.building import BuildResponse
    from ir.app.upgrading import UpgradeResponse
    from ir.app.watching import WatchResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED_PROBLEMS = 10


def register(app: typer.Typer) -> None:
    made = derived(build, "ir.app.building:BuildRequest", arguments=("target",))
    app.command("build", cls=Command, rich_help_panel=KEEPING)(made)
    kept = derived(watch, "ir.app.watching:WatchRequest", arguments=("target",))
    app.command("watch", cls=Command, rich_help_panel=KEEPING)(kept)
    better = derived(upgrade, "ir.app.upgrading:UpgradeRequest", arguments=("target",))
    app.command("upgrade", cls=Command, rich_help_panel=KEEPING)(better)


def build(*, as_json: Json = False, **given: Any) -> None:
    """Index a corpus or a folder, or bring it up to date.

    Only what changed since the last time is read and embedded again. A build that is interrupted changes nothing.
    Where no embedder was chosen, words and a fast model are ready first, then the best model that is installed: what
    is interrupted between them can be searched, and ir upgrade goes on with it.
    """
    from ir.app.building import BuildRequest
    from ir.app.building import build as operation
    from ir.cli.session import perform

    perform(operation, BuildRequest(**given), show_build, as_json=as_json)


def watch(*, as_json: Json = False, **given: Any) -> None:
    """Keep a corpus up to date while its folder changes, until Ctrl-C."""
    from ir.app.watching import WatchRequest
    from ir.app.watching import watch as operation
    from ir.cli.session import perform

    perform(operation, WatchRequest(**given), show_watch, as_json=as_json)


def upgrade(*, as_json: Json = False, **given: Any) -> None:
    """Let the better model read all of a corpus that answers by the fast one; it then takes over.

    A search at a terminal starts this by itself, in the background. What was read stays if it is interrupted. One
    process at a time does it; another one waits for it.
    """
    from ir.app.upgrading import UpgradeRequest
    from ir.app.upgrading import upgrade as operation
    from ir.cli.session import perform

    perform(operation, UpgradeRequest(**given), show_upgrade, as_json=as_json)


def show_upgrade(response: UpgradeResponse, output: Output) -> None:
    from ir.cli.output import count

    if response.state == "running":
        output.line(f"{response.corpus}: another process is at it")
    elif response.state == "current":
        output.line(f"{response.corpus}: {response.embedder} answers already")
    else:
        output.line(f"{response.corpus}: {count(response.embedded, 'text')} embedded; {response.embedder} answers now")


def show_build(response: BuildResponse, output: Output) -> None:
    from ir.cli.output import count

    for word in ("added", "changed", "removed") if response.ids else ():
        for artifact_id in (response.ids or {})[word]:
            output.row(word, artifact_id)
    parts = [(response.added, "added"), (response.changed, "changed"), (response.removed, "removed")]
    told = [f"{number:,} {word}" for number, word in parts if number] or ["nothing changed"]
    told.append(f"{response.unchanged:,} unchanged")
    line = f"{response.corpus}: {', '.join(told)}"
    if response.dry_run:
        line = f"{line} (dry run)"
    else:
        line += f"; {count(response.records or 0, 'record')} by {response.embedder} in {response.seconds or 0:.1f} s"
    output.line(line, style="bold")
    if response.empty:
        output.line(f"without text\t{response.empty:,}\tthese cannot be found")
    if response.cut:
        reads = f"the {response.reads:,} tokens that" if response.reads else "what"
        output.line(
            f"too long\t{response.cut:,}\tabout this many texts are longer than {reads} {response.embedder} reads; the "
            'rest of each is found by words only. Cut them: ir.register(…, strategy="Chunked") in Python'
        )
    _show_problems(response, output)
    for note in response.notes:
        print(visible(f"ir: {note}"), file=sys.stderr)


def _show_problems(response: BuildResponse, output: Output) -> None:
    kinds = (("skipped", response.skipped), ("failed", response.failed), ("remark", response.remarks))
    problems = [(word, item) for word, items in kinds for item in items]
    listed = problems if response.dry_run else problems[:LISTED_PROBLEMS]
    for word, item in listed:
        output.row(word, item["id"], item["reason"])
    if len(listed) < len(problems):
        output.line(f"… and {len(problems) - len(listed)} more; --dry-run lists them all")


def show_watch(response: WatchResponse, output: Output) -> None:
    from ir.cli.output import count

    output.line(f"{response.corpus}: {count(response.updates, 'update')}, {count(response.changes, 'change')}")
