"""``ir policy`` and ``ir schedule``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.scheduling import PolicyResponse, ScheduleResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(policy, "ir.app.scheduling:PolicyRequest", arguments=("corpus",))
    app.command("policy", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(schedule, "ir.app.scheduling:ScheduleRequest", arguments=("corpora",))
    app.command("schedule", cls=Command, rich_help_panel=KEEPING)(made)


def policy(*, as_json: Json = False, **given: Any) -> None:
    """Show or change how often ir maintain looks after a corpus.

    A span is written 30m, 6h, 7d or 2w, or as hourly, daily, weekly or monthly. Whatever it says, only what changed is
    indexed again, and floors are calibrated again only if the corpus changed since.
    """
    from ir.app.scheduling import PolicyRequest, look_after
    from ir.cli.session import perform

    perform(look_after, PolicyRequest(**given), show_policy, as_json=as_json)


def schedule(*, as_json: Json = False, **given: Any) -> None:
    """Print what a scheduler needs to run ir maintain every so often, and where to put it.

    Nothing is installed or written. How often each corpus is looked after then is for ir policy to say.
    """
    from ir.app.scheduling import ScheduleRequest
    from ir.app.scheduling import show_schedule as operation
    from ir.cli.session import perform

    perform(operation, ScheduleRequest(**given), print_schedule, as_json=as_json)


def show_policy(response: PolicyResponse, output: Output) -> None:
    rows = [
        ("refresh", response.refresh, response.done.get("refreshed", "-")),
        ("calibrate", response.calibrate, response.done.get("calibrated", "-")),
        ("hours", response.hours or "any", "-"),
    ]
    output.table(("what", "when", "last done"), rows)


def print_schedule(response: ScheduleResponse, output: Output) -> None:
    plan = response.schedule
    for number, file in enumerate(plan.files):
        if number:
            output.line()
        # Before a file of XML nothing may stand, and a line for a crontab has no file.
        if file.path and len(plan.files) > 1:
            output.line(f"# {file.path}")
        output.line(file.text.rstrip("\n"))
    print("ir: nothing was installed; to have it run:", file=sys.stderr)
    for step in plan.steps:
        print(f"  - {step}", file=sys.stderr)
