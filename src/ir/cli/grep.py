"""``ir grep``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Json, Refresh, complete_corpus_or_path
from ir.cli.fields import derived
from ir.cli.location import link_to, place_of
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.grepping import GrepResponse, Match
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(grep, "ir.app.grepping:GrepRequest", without=("pattern", "target"))
    app.command("grep", cls=Command, rich_help_panel=SEARCHING)(made)


def grep(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] PATTERN", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    refresh: Refresh = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Look for a text or a regular expression in what is indexed, line by line.

    Lines are those of the files as they were indexed. Without CORPUS|PATH the current folder is looked through.
    """
    from ir.app.grepping import GrepRequest
    from ir.app.grepping import grep as operation
    from ir.app.policy import Policy
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, pattern = target_and_query(asked, "grep")
    request = GrepRequest(pattern=pattern, target=target, **given)
    response = perform(operation, request, show, as_json=as_json, policy=Policy(refresh))
    return 0 if response.total else 1


def show(response: GrepResponse, output: Output) -> None:
    """Print lines as grep does; what there is more is said on stderr."""
    around = any(match.before or match.after for match in response.matches)
    for number, match in enumerate(response.matches):
        if around and number:
            output.line("--")
        for line in match.before:
            output.line(f"{_place(match, line.line)}- {line.text}")
        _show_match(match, output)
        for line in match.after:
            output.line(f"{_place(match, line.line)}- {line.text}")
    for note in response.notes:
        print(visible(f"ir: {note.replace('skip=', '--skip ')}"), file=sys.stderr)
    if not response.total:
        print(f"ir: no line in {response.corpus!r} matches", file=sys.stderr)


def _place(match: Match, line: int) -> str:
    return place_of(match.id, match.path, line if match.cited else None)


def _show_match(match: Match, output: Output) -> None:
    if not output.pretty:
        output.line(f"{_place(match, match.line)}: {match.text}")
        return
    from rich.text import Text

    text = Text(visible(match.text))
    for start, end in match.marks:
        text.stylize("bold yellow", start, end)
    place = (f"{_place(match, match.line)}: ", f"cyan{link_to(match.path)}")
    output.console.print(Text.assemble(place, text), soft_wrap=True)
