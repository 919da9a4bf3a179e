"""``ir ask``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Filter, Json, Refresh, Where, complete_corpus_or_path
from ir.cli.fields import derived
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.asking import AskResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(ask, "ir.app.asking:AskRequest", without=("question", "target", "filter", "llm"))
    app.command("ask", cls=Command, rich_help_panel=SEARCHING)(made)


def ask(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUESTION", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    filter: Filter = None,
    where: Where = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also", metavar="CORPUS|PATH", help="Ask this too. Repeatable.", autocompletion=complete_corpus_or_path
        ),
    ] = None,
    llm: Annotated[
        bool | None,
        typer.Option("--llm/--no-llm", help="Ask the configured language model; by default if there is one."),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Print each event as a line of JSON, as it comes.")] = False,
    refresh: Refresh = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Answer a question from a corpus or a folder, with citations.

    The language model of the settings (llm.base_url, llm.model) writes the answer from what a search finds; without one
    the sentences that say most of what is asked are the answer. If nothing there answers it, nothing is made up.
    """
    from ir.app.asking import AskRequest
    from ir.app.asking import ask as operation
    from ir.app.policy import Policy
    from ir.cli.conditions import read_filter
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, question = target_and_query(asked, "ask")
    conditions = read_filter(filter, where or ())
    targets = (target, *also) if also else target
    request = AskRequest(question=question, target=targets, filter=conditions, llm=llm, **given)
    printer: _Events | _Words = _Events() if events else _Words(quiet=as_json)
    response = perform(
        operation, request, printer.show, as_json=as_json and not events, policy=Policy(refresh), emit=printer
    )
    if response.error:
        return 3
    return 1 if response.abstained else 0


class _Events:
    """Every event as a line of JSON."""

    def __call__(self, event: Any) -> None:
        from ir.cli.streams import json_line

        print(json_line({"event": event.kind, "data": event.data}), flush=True)

    def show(self, response: AskResponse, output: Output) -> None:
        """What there is to say was said."""


class _Words:
    """The words of the answer as they come, then what it was made from."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._written = False

    def __call__(self, event: Any) -> None:
        if event.kind == "token" and not self._quiet:
            self._written = True
            print(visible(event.data["text"]), end="", flush=True)

    def show(self, response: AskResponse, output: Output) -> None:
        if self._written:
            print()
        elif response.answer:
            output.line(response.answer)
        if response.error:
            print(visible(f"ir: {response.error}"), file=sys.stderr)
        if response.abstained:
            print(visible(f"ir: {response.reason}"), file=sys.stderr)
        self._sources(response, output)
        for note in response.notes:
            print(visible(f"ir: {note}"), file=sys.stderr)

    def _sources(self, response: AskResponse, output: Output) -> None:
        if not response.sources or response.abstained:
            return
        shown = [source for source in response.sources if source.cited] or list(response.sources[:3])
        output.line("")
        if "unknown_citation" in response.flags:
            print("ir: the answer cites a passage that does not exist", file=sys.stderr)
        if "no_citation" in response.flags:
            print("ir: the answer cites nothing; these passages are the nearest to it", file=sys.stderr)
        for source in shown:
            output.line(f"[{source.number}] {source.label}")
