"""``ir discover``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ir.cli.arguments import (
    SEARCHING,
    Command,
    Filter,
    Json,
    Refresh,
    Upgrade,
    Wait,
    Where,
    complete_corpus_or_path,
    one_of,
)
from ir.cli.fields import derived
from ir.errors import InvalidInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(discover, "ir.app.discovering:DiscoverRequest", without=("query", "targets", "min_score", "filter"))
    app.command("discover", cls=Command, rich_help_panel=SEARCHING)(made)


def discover(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH...] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    min_score: Annotated[
        list[str] | None,
        typer.Option(
            "--min-score",
            metavar="FLOOR",
            help="auto, none, a number, or CORPUS=NUMBER (repeatable). By default auto.",
            autocompletion=one_of("auto", "none"),
        ),
    ] = None,
    filter: Filter = None,
    where: Where = None,
    refresh: Refresh = None,
    wait: Wait = False,
    upgrade: Upgrade = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Commit to the few things that answer a query, or to none.

    Without CORPUS|PATH the current folder is used. Several corpora are searched each by itself, refused each by its
    own floor, and merged by rank. Exit code 1 means that nothing was committed to, and the reason is printed. A floor
    refuses what is off topic: the one that was calibrated, else the one that ir build makes. Whether an answer is
    missing from a corpus on the topic, scores cannot tell.
    """
    from ir.app.discovering import DiscoverRequest
    from ir.app.discovering import discover as operation
    from ir.app.policy import Policy
    from ir.cli.conditions import read_filter
    from ir.cli.disclosed import show
    from ir.cli.searching import check_is_query
    from ir.cli.session import perform

    *targets, query = words
    if not targets:
        check_is_query(query, "discover")
    request = DiscoverRequest(
        query=query,
        targets=tuple(targets) or (".",),
        min_score=read_floors(min_score or ()),
        filter=read_filter(filter, where or ()),
        **given,
    )
    response = perform(operation, request, show, as_json=as_json, policy=Policy(refresh, wait, upgrade))
    return 1 if response.result.abstained else 0


def read_floors(words: Sequence[str]) -> float | str | dict[str, float] | None:
    """What ``--min-score`` says.

    >>> read_floors([]), read_floors(["auto"]), read_floors(["0.4"]), read_floors(["docs=0.4", "skills=0.3"])
    (None, 'auto', 0.4, {'docs': 0.4, 'skills': 0.3})
    """
    if not words:
        return None
    if len(words) == 1 and words[0] in ("auto", "none"):
        return words[0]
    if len(words) == 1 and "=" not in words[0]:
        return _number(words[0], words[0])
    floors: dict[str, float] = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals or not name:
            raise InvalidInput(
                f"--min-score {word!r} does not say for which corpus.", remedy="Write --min-score CORPUS=NUMBER."
            )
        floors[name] = _number(value, word)
    return floors


def _number(text: str, word: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"--min-score must be auto, none, a number or CORPUS=NUMBER, not {word!r}.") from None
