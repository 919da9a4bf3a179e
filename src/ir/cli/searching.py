"""``ir search``."""

from __future__ import annotations

from typing import Annotated

import typer

from ir.cli.arguments import SEARCHING, Command, Embedder, Json, complete_corpus_or_path
from ir.errors import InvalidInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("search", cls=Command, rich_help_panel=SEARCHING)(search)


def search(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    k: Annotated[int | None, typer.Option("--k", "-k", metavar="N", help="How many results to show (10).")] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", "-m", metavar="MODE", help="hybrid, dense or lexical (hybrid).")
    ] = None,
    fusion: Annotated[
        str | None, typer.Option("--fusion", metavar="METHOD", help="blend, rrf, minmax or dbsf (blend).")
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
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Say why each result stands where it does.")] = False,
    rerank: Annotated[
        str | None,
        typer.Option("--rerank", metavar="NAME", help="Read the best again: maxsim, cross-encoder:MODEL, http:MODEL."),
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
    """Rank a corpus or a folder against a query.

    Without CORPUS|PATH the current folder is searched. A folder that was never built is indexed first: every text file
    that no ignore file excludes.
    """
    from ir.app.searching import SearchRequest
    from ir.app.searching import search as operation
    from ir.cli.conditions import read_filter
    from ir.cli.results import show
    from ir.cli.session import perform

    target, query = _target_and_query(words)
    request = SearchRequest(
        query=query,
        target=target,
        k=k,
        mode=mode,
        fusion=fusion,
        filter=read_filter(filter, where or ()),
        surfaces=tuple(surface or ()),
        explain=explain,
        embedder=embedder,
        refresh=refresh,
        rerank=rerank,
    )
    response = perform(operation, request, show, as_json=as_json)
    return 0 if response.found else 1


def _target_and_query(words: list[str]) -> tuple[str, str]:
    if len(words) == 2:
        return words[0], words[1]
    if len(words) > 2:
        raise InvalidInput(f"Too many words; put the query in quotes: ir search {words[0]} {' '.join(words[1:])!r}")
    check_is_query(words[0], "search")
    return ".", words[0]


def check_is_query(word: str, command: str) -> None:
    """A single word that names a corpus or a folder is no query: its author forgot to say what for."""
    from ir.app.targets import existing_path, is_listed

    place = existing_path(word) if word.strip() else None
    if is_listed(word) or (place is not None and place.is_dir()):
        raise InvalidInput(f"{word!r} is where to search; say also what for: ir {command} {word} QUERY")
