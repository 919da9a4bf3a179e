"""``ir get`` and ``ir expand``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Json, Refresh
from ir.cli.fields import derived
from ir.cli.location import place_of
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.expanding import ExpandResponse
    from ir.app.getting import GetResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(get, "ir.app.getting:GetRequest", arguments=("target", "items"), required=("target",))
    app.command("get", cls=Command, rich_help_panel=SEARCHING)(made)
    made = derived(expand, "ir.app.expanding:ExpandRequest", arguments=("target", "item"), required=("target",))
    app.command("expand", cls=Command, rich_help_panel=SEARCHING)(made)


def get(*, refresh: Refresh = None, as_json: Json = False, **given: Any) -> None:
    """Read artifacts, or some of their lines, by id, path or citation.

    Lines are written as ir search cites them: docs/a.md:12, docs/a.md:12-40 or docs/a.md:12- for the rest. What is
    printed is the text that is indexed, as far as --max-tokens goes (8000).
    """
    from ir.app.getting import GetRequest
    from ir.app.getting import get as operation
    from ir.app.policy import Policy
    from ir.cli.session import perform

    perform(operation, GetRequest(**given), show_got, as_json=as_json, policy=Policy(refresh))


def expand(*, refresh: Refresh = None, as_json: Json = False, **given: Any) -> None:
    """Read on around a place that a search found.

    The place is an id, or a citation such as docs/a.md:12. What stands around it is the records next to it (window)
    or all of its artifact (parent).
    """
    from ir.app.expanding import ExpandRequest
    from ir.app.expanding import expand as operation
    from ir.app.policy import Policy
    from ir.cli.session import perform

    perform(operation, ExpandRequest(**given), show_expanded, as_json=as_json, policy=Policy(refresh))


def show_got(response: GetResponse, output: Output) -> None:
    several = len(response.got) > 1
    for number, one in enumerate(response.got):
        if several:
            if number:
                output.line()
            output.line(f"--- {place_of(one.id, one.path, one.line if one.cited else None)}", style="bold")
        output.line(one.text)
    _tell(response.notes)


def show_expanded(response: ExpandResponse, output: Output) -> None:
    output.line(f"--- {place_of(response.id, response.path, response.line)}", style="bold")
    output.line(response.text)
    _tell(response.notes)


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(visible(f"ir: {note}"), file=sys.stderr)
