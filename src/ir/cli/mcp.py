"""``ir mcp`` and ``ir daemon``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SYSTEM, Command, Json, one_of
from ir.cli.streams import json_text, say
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.serve.link import Link

__all__ = ["register"]

ACTIONS = ("status", "stop", "metrics")
DFLT_PORT = 8417


def register(app: typer.Typer) -> None:
    app.command("mcp", cls=Command, rich_help_panel=SYSTEM)(mcp)
    app.command("daemon", cls=Command, rich_help_panel=SYSTEM)(daemon)


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP on 127.0.0.1 instead of stdio.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help=f"The port for --http ({DFLT_PORT}); 0 for any free one.")
    ] = None,
) -> int:
    """Serve agents: search, discover, get, grep, similar, symbol, status and refresh as MCP tools.

    A client starts this by itself, on stdio. One daemon in the background works for all clients; it starts with the
    first and leaves when idle. Agents reach corpora that you have built, by name, and nothing else.
    """
    if http:
        return _serve_http(DFLT_PORT if port is None else port)
    if port is not None:
        raise InvalidInput("--port goes with --http.")
    from ir.serve.front import main

    return main()


def _serve_http(port: int) -> int:
    from ir.config import Settings
    from ir.serve.front import Front
    from ir.serve.http import LOOPBACK, PATH, listening, make_app, make_server, run
    from ir.serve.offer import page
    from ir.serve.token import VARIABLE, the_token, token_file

    settings = Settings.load()
    front = Front(settings)
    server = make_server(page(settings["mcp.tools"]), front.backend)
    token = the_token()
    listener = listening(port)
    front.warm()
    import os

    where = VARIABLE if os.environ.get(VARIABLE) else token_file()
    say(f"listening on http://{LOOPBACK}:{listener.getsockname()[1]}{PATH}; the token is in {where}")
    run(make_app(server, token), listener)
    front.close()
    return 0


def daemon(
    action: Annotated[
        str, typer.Argument(metavar="[status|stop|metrics]", help="What to do.", autocompletion=one_of(*ACTIONS))
    ] = "status",
    as_json: Json = False,
) -> int:
    """Show the process that works for agents in the background, or stop it; exit code 1 if there is none.

    metrics prints what it has measured, for Prometheus, if telemetry.enabled is set.
    """
    from ir.options import choice
    from ir.serve.link import Link

    choice("action", action, ACTIONS)
    link = Link(start=False)
    if action == "metrics":
        return _show_metrics(link, as_json=as_json)
    answer = link.ask("status", {})
    told: dict[str, Any] = {"running": "result" in answer}
    if "result" in answer:
        told |= {"process": link.daemon["pid"], "version": link.daemon["version"], **answer["result"]}
        if action == "stop":
            link.retire()
            told["running"] = False
    link.close()
    if as_json:
        print(json_text(told))
    elif "process" not in told:
        print("no daemon runs")
    elif action == "stop":
        print(f"stopped the daemon, process {told['process']}")
    else:
        corpora = ", ".join(told["open"]) or "none"
        print(f"process {told['process']}, version {told['version']}, for {told['seconds']:.0f} s; open: {corpora}")
    return 0 if "process" in told else 1


def _show_metrics(link: Link, *, as_json: bool) -> int:
    answer = link.ask("metrics", {})
    link.close()
    text = answer["result"]["text"] if "result" in answer else None
    if as_json:
        print(json_text({"running": "result" in answer, "metrics": text}))
    elif text is not None:
        print(text, end="")
    elif "result" in answer:
        say(
            "the daemon measures nothing",
            "Set telemetry.enabled, then ir daemon stop: the next one will.",
        )
    else:
        print("no daemon runs")
    return 0 if text is not None else 1
