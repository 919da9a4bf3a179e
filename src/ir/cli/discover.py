"""``ir discover``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ir.cli.arguments import SEARCHING, Command, Embedder, Json, complete_corpus_or_path
from ir.errors import InvalidInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("discover", cls=Command, rich_help_panel=SEARCHING)(discover)


def discover(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH...] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    k: Annotated[
        int | None, typer.Option("--k", "-k", metavar="N", help="How many candidates of each corpus (10).")
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", "-m", metavar="MODE", help="hybrid, dense or lexical (hybrid).")
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            "-s",
            metavar="NAME",
            help="conservative, top_k, abs_threshold, rel_threshold or score_gap.",
        ),
    ] = "conservative",
    max_k: Annotated[int | None, typer.Option("--max-k", metavar="N", help="Commit to at most so many (3).")] = None,
    rel: Annotated[
        float | None,
        typer.Option("--rel", metavar="SHARE", help="Keep what is at least so strong as a share of the best (0.9)."),
    ] = None,
    min_score: Annotated[
        list[str] | None,
        typer.Option(
            "--min-score",
            metavar="FLOOR",
            help="auto, none, a number, or CORPUS=NUMBER (repeatable). By default the floors that are calibrated.",
        ),
    ] = None,
    disclose: Annotated[
        str, typer.Option("--disclose", "-d", metavar="LEVEL", help="metadata, body or bundled: how much to reveal.")
    ] = "metadata",
    expand: Annotated[
        str | None,
        typer.Option("--expand", metavar="HOW", help="window or parent: show what stands around each match."),
    ] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="Only records whose metadata matches this filter.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", "-w", metavar="FIELD=VALUE", help="A short filter; also !=, >=, <=, >, <, ~. Repeatable."
        ),
    ] = None,
    surface: Annotated[
        list[str] | None, typer.Option("--surface", metavar="KIND", help="Rank this kind of surface only. Repeatable.")
    ] = None,
    embedder: Embedder = None,
    refresh: Annotated[
        bool | None,
        typer.Option(
            "--refresh/--no-refresh", help="First take in changed files, when that is cheap.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Commit to the few things that answer a query, or to none.

    Without CORPUS|PATH the current folder is used. Several corpora are searched each by itself, refused each by its
    own floor, and merged by rank. Exit code 1 means that nothing was committed to, and the reason is printed. A floor
    refuses what is off topic; whether an answer is missing from a corpus on the topic, scores cannot tell.
    """
    from ir.app.discovering import DiscoverRequest
    from ir.app.discovering import discover as operation
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
        k=k,
        mode=mode,
        strategy=strategy,
        max_k=max_k,
        rel=rel,
        min_score=read_floors(min_score or ()),
        disclose=disclose,
        expand=expand,
        filter=read_filter(filter, where or ()),
        surfaces=tuple(surface or ()),
        embedder=embedder,
        refresh=refresh,
    )
    response = perform(operation, request, show, as_json=as_json)
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
