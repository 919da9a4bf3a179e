"""``ir search``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Filter, Json, Refresh, Upgrade, Wait, Where, complete_corpus_or_path
from ir.cli.fields import derived
from ir.errors import CorpusNotBuilt, InvalidInput, IrError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(search, "ir.app.searching:SearchRequest", without=("query", "target", "filter"))
    app.command("search", cls=Command, rich_help_panel=SEARCHING)(made)


def search(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    filter: Filter = None,
    where: Where = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also", metavar="CORPUS|PATH", help="Search this too. Repeatable.", autocompletion=complete_corpus_or_path
        ),
    ] = None,
    refresh: Refresh = None,
    wait: Wait = False,
    upgrade: Upgrade = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Rank a corpus or a folder against a query.

    Without CORPUS|PATH the current folder is searched. A folder that was never built is indexed first: every text file
    that no ignore file excludes. It is answered by words and a fast model at once; at a terminal a better one, if one
    is installed, reads everything in the background and then takes over.
    """
    from ir.app.policy import Policy
    from ir.app.searching import SearchRequest
    from ir.app.searching import search as operation
    from ir.cli.conditions import read_filter
    from ir.cli.results import show
    from ir.cli.session import perform

    target, query = target_and_query(asked, "search")
    conditions = read_filter(filter, where or ())
    request = SearchRequest(query=query, target=(target, *also) if also else target, filter=conditions, **given)
    response = perform(operation, request, show, as_json=as_json, policy=Policy(refresh, wait, upgrade))
    return 0 if response.found else 1


def target_and_query(words: list[str], command: str) -> tuple[str, str]:
    """Where to look, which is here if nobody says, and what for; who gives them in the other order is told."""
    if len(words) == 1:
        check_is_query(words[0], command)
        return ".", words[0]
    if len(words) == 2 and _is_place(words[0]):
        return words[0], words[1]
    if len(words) == 2 and _is_place(words[1]):
        print(f"ir: {words[0]!r} is taken for the query and {words[1]!r} for where to search", file=sys.stderr)
        return words[1], words[0]
    raise _explained(words, command)


def _explained(words: list[str], command: str) -> IrError:
    """What was probably meant by words of which none, or too many, are where to search."""
    import shlex

    from ir.app.targets import resolve

    first, last = _is_place(words[0]), _is_place(words[-1])
    asked = words[1:] if first else words[:-1] if last else words
    where = f"{shlex.quote(words[0] if first else words[-1])} " if first or last else ""
    told = f"ut the query in quotes: ir {command} {where}{shlex.quote(' '.join(asked))}"
    if len(words) > 2:
        return InvalidInput(f"Too many words; p{told}")
    try:
        resolve(words[0])
    except CorpusNotBuilt as error:
        return CorpusNotBuilt(error.message, remedy=f"{error.remedy} If it is part of the query, p{told}")
    except IrError as error:
        return error
    return InvalidInput(f"P{told}")


def _is_place(word: str) -> bool:
    """Whether a word names a corpus, a preset, a server or something on the disk, or looks like a path."""
    from ir.app.targets import is_listed
    from ir.registry import PRESETS, existing_path, looks_like_path
    from ir.store.opening import names_server

    if not word.strip() or names_server(word) or word in PRESETS:
        return True  # what is wrong with it is said by whoever opens it
    if existing_path(word) is not None or is_listed(word):
        return True
    return looks_like_path(word) and not any(sign.isspace() for sign in word)


def check_is_query(word: str, command: str) -> None:
    """A single word that names a corpus or a folder is no query: its author forgot to say what for."""
    from ir.app.targets import is_listed
    from ir.registry import existing_path

    place = existing_path(word) if word.strip() else None
    if is_listed(word) or (place is not None and place.is_dir()):
        raise InvalidInput(f"{word!r} is where to search; add what to search for: ir {command} {word} QUERY")
