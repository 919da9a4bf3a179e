"""``ir similar`` and ``ir traverse``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Filter, Json, Refresh, Where, complete_corpus_or_path
from ir.cli.fields import derived

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(
        similar,
        "ir.app.similarity:SimilarRequest",
        arguments=("target", "item"),
        required=("target",),
        without=("filter",),
    )
    app.command("similar", cls=Command, rich_help_panel=SEARCHING)(made)
    made = derived(traverse, "ir.app.traversing:TraverseRequest", without=("query", "target"))
    app.command("traverse", cls=Command, rich_help_panel=SEARCHING)(made)


def similar(
    *, filter: Filter = None, where: Where = None, refresh: Refresh = None, as_json: Json = False, **given: Any
) -> int:
    """Find what is like an artifact, some lines of it, or a text.

    What it should be like is said by an id, a path or a citation such as docs/a.md:12-40, or by --text.
    """
    from ir.app.policy import Policy
    from ir.app.similarity import SimilarRequest
    from ir.app.similarity import similar as operation
    from ir.cli.conditions import read_filter
    from ir.cli.results import show_found
    from ir.cli.session import perform

    request = SimilarRequest(filter=read_filter(filter, where or ()), **given)
    response = perform(operation, request, show_found, as_json=as_json, policy=Policy(refresh))
    return 0 if response.found else 1


def traverse(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    refresh: Refresh = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Walk from a query to parts of what matches, to what depends on it, or from the names in it.

    tree goes from the best summaries to the texts below them; dependents goes from --seed, or from the best matches,
    against the links to what refers to them; names goes from what the query names, as far as a question of its kind
    may. ir build --links makes links, and so do books.
    """
    from ir.app.policy import Policy
    from ir.app.traversing import TraverseRequest
    from ir.app.traversing import traverse as operation
    from ir.cli.results import show_found
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, query = target_and_query(asked, "traverse")
    request = TraverseRequest(query=query, target=target, **given)
    response = perform(operation, request, show_found, as_json=as_json, policy=Policy(refresh))
    return 0 if response.found else 1
