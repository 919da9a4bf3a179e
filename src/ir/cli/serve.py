"""``ir serve``."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import SYSTEM, Command
from ir.cli.streams import say
from ir.errors import AccessUnavailable, InvalidInput, IrError, MissingExtra

if TYPE_CHECKING:
    from ir.access import Access

__all__ = ["register"]

LOOPBACK = "127.0.0.1"


def register(app: typer.Typer) -> None:
    app.command("serve", cls=Command, rich_help_panel=SYSTEM)(serve)


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="What to listen on; others than this machine need tokens.")
    ] = LOOPBACK,
    port: Annotated[
        int | None, typer.Option("--port", "-p", metavar="N", help="The port (8418); 0 for any free one.")
    ] = None,
    access: Annotated[
        str | None,
        typer.Option("--access", metavar="ADDRESS", help="Where tokens are kept: a file or postgresql://host/db."),
    ] = None,
    log_queries: Annotated[bool, typer.Option("--log-queries", help="Also log what was asked for.")] = False,
) -> int:
    """Serve people in a browser, services over HTTP, and agents at /mcp, on one address.

    Who can be asked is what you have built, by name. On this machine no token is asked for until you make one with ir
    token create; elsewhere nothing listens without. Requests are logged on stderr, one line of JSON each.
    """
    try:
        from ir.web import Application, Limits, Server, listening
        from ir.web.logs import write_to_stderr
        from ir.web.origins import Origins, is_loopback, words_in
    except ImportError as error:
        raise MissingExtra(str(error.name or "fastapi"), "serve", "Serving over HTTP") from error
    from ir import telemetry
    from ir.access import open_access
    from ir.config import Settings
    from ir.config.keys import key_named

    settings = Settings.load()
    if access is not None:
        os.environ[key_named("serve.access", "Settings").variable] = access  # builds ask there for their quotas
    kept = open_access(access)
    alone = is_loopback(host)
    if not alone and not kept.has_tokens():
        raise InvalidInput(
            f"{host} can be reached by others, and there is no token that they would have to know.",
            remedy="Make one first: ir token create NAME",
        )
    application = Application(
        kept,
        Limits.of(settings),
        Origins.of(host, words_in(settings["serve.hosts"]), words_in(settings["serve.cors"])),
        always=not alone,
        log_queries=log_queries,
        open_corpora=int(settings["serve.open_corpora"]),
    )
    telemetry.setup()
    listener = listening(host, int(settings["serve.port"]) if port is None else port)
    name = f"[{host}]" if ":" in host else host
    say(f"listening on http://{name}:{listener.getsockname()[1]}/")
    # Beside the server: a database that is away must not keep it from answering that it is.
    threading.Thread(target=_tell, args=(kept,), daemon=True).start()
    write_to_stderr()
    try:
        Server(application).run(sockets=[listener])
    finally:
        telemetry.shutdown()
    return 0


def _tell(access: Access) -> None:
    """Say what keeps a server that has just begun to listen from being of use, and what to do about it."""
    from ir.app.targets import built_corpora
    from ir.registry import entered

    try:
        if not access.has_tokens() and not {*entered(), *built_corpora()}:
            say("there is no corpus yet; `ir build PATH` makes one, also while this runs")
    except AccessUnavailable as error:
        say(f"{error} Until that works, whoever asks is told to come again (503).")
    except IrError as error:  # a database of corpora that is away now: calls say so, and answer once it is back
        say(str(error))
