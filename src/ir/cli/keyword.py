"""``ir keyword`` and ``ir keyword-search``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, SEARCHING, Command, Json, complete_corpus_or_path
from ir.cli.fields import derived
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.keywords import KeywordResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(keyword_search, "ir.app.keywords:KeywordSearchRequest", without=("query", "target", "filter"))
    app.command("keyword-search", cls=Command, rich_help_panel=SEARCHING)(made)
    made = derived(keyword, "ir.app.keywords:KeywordRequest", arguments=("action", "target"))
    app.command("keyword", cls=Command, rich_help_panel=KEEPING)(made)


def keyword_search(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", "-w", metavar="FIELD=VALUE", help="Only where a field has this value. Repeatable."),
    ] = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Look for words alone, by the engine that retrieval.keyword_backend names.

    It shows what that engine adds to a hybrid query, on a scale of its own. Without CORPUS|PATH the current folder's
    corpus is asked; it must have been built, and other engines than the embedded one filled by ir keyword sync.
    """
    from ir.app.keywords import KeywordSearchRequest
    from ir.app.keywords import keyword_search as operation
    from ir.cli.results import show
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, query = target_and_query(asked, "keyword-search")
    conditions = dict(_condition(one) for one in where or ())
    request = KeywordSearchRequest(query=query, target=target, filter=conditions or None, **given)
    response = perform(operation, request, show, as_json=as_json)
    return 0 if response.found else 1


def keyword(*, as_json: Json = False, **given: Any) -> int:
    """Bring the words of a corpus up to date on another engine, or say how far behind it is.

    ir keyword sync sends the engine that retrieval.keyword_backend names, or --backend, what was added, changed and
    removed since the last time, and nothing else. ir keyword status counts it and sends nothing; exit code 1 means
    that the engine is behind.
    """
    from ir.app.keywords import KeywordRequest
    from ir.app.keywords import keyword as operation
    from ir.cli.session import perform

    response = perform(operation, KeywordRequest(**given), show_keyword, as_json=as_json)
    return 1 if response.action == "status" and response.content_version != response.mirrored_version else 0


def show_keyword(response: KeywordResponse, output: Output) -> None:
    counts = f"{response.added:,} added, {response.changed:,} changed, {response.removed:,} removed"
    if response.action == "sync":
        told = f"sent {counts}" if response.total else "was up to date"
    elif response.content_version == response.mirrored_version:
        told = "is up to date"
    else:
        told = f"is behind: {counts}"
    output.line(f"{response.corpus}: {response.backend} {told}")


def _condition(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"--where {word!r} is not a condition.", remedy="Write it as FIELD=VALUE.")
    return name.strip(), value
