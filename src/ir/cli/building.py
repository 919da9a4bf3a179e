"""``ir build`` and ``ir watch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import KEEPING, Command, CorpusOrPath, Embedder, Json

if TYPE_CHECKING:
    from ir.app.building import BuildResponse
    from ir.app.watching import WatchResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED_PROBLEMS = 10


def register(app: typer.Typer) -> None:
    app.command("build", cls=Command, rich_help_panel=KEEPING)(build)
    app.command("watch", cls=Command, rich_help_panel=KEEPING)(watch)


def build(
    target: CorpusOrPath,
    embedder: Embedder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only list what would change.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what is no longer in the source.")] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Also make links of the fields deps and parent; ir graph shows them.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="ADDRESS", help="Keep it at postgresql://host/db or milvus://host from now on; or local."
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option("--ray", metavar="ADDRESS", help="Work on the Ray cluster at host:port; local starts one here."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="NAME", help="Index words by this language from now on; none: as they are."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Index a corpus or a folder, or bring it up to date.

    Only what changed since the last time is read and embedded again. A build that is interrupted changes nothing.
    """
    from ir.app.building import BuildRequest
    from ir.app.building import build as operation
    from ir.cli.session import perform

    request = BuildRequest(target, embedder, not keep, dry_run, links, ray, store, language)
    perform(operation, request, show_build, as_json=as_json)


def watch(
    target: CorpusOrPath,
    embedder: Embedder = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", min=1, help="End after N updates instead of on Ctrl-C.")
    ] = None,
    poll: Annotated[bool, typer.Option("--poll", help="Look every two seconds; for network folders.")] = False,
    as_json: Json = False,
) -> None:
    """Keep a corpus up to date while its folder changes, until Ctrl-C."""
    from ir.app.watching import WatchRequest
    from ir.app.watching import watch as operation
    from ir.cli.session import perform

    perform(operation, WatchRequest(target, embedder, rounds, poll), show_watch, as_json=as_json)


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
            f"too long\t{response.cut:,}\tabout so many texts are longer than {reads} {response.embedder} reads; the "
            'rest of each is found by words only. Cut them: ir.register(…, strategy="Chunked") in Python'
        )
    _show_problems(response, output)


def _show_problems(response: BuildResponse, output: Output) -> None:
    problems = [("skipped", item) for item in response.skipped] + [("failed", item) for item in response.failed]
    listed = problems if response.dry_run else problems[:LISTED_PROBLEMS]
    for word, item in listed:
        output.row(word, item["id"], item["reason"])
    if len(listed) < len(problems):
        output.line(f"… and {len(problems) - len(listed)} more; --dry-run lists them all")


def show_watch(response: WatchResponse, output: Output) -> None:
    from ir.cli.output import count

    output.line(f"{response.corpus}: {count(response.updates, 'update')}, {count(response.changes, 'change')}")
