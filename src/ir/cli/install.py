"""``ir install``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SYSTEM, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.installing import ClientReport, InstallResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(install, "ir.app.installing:InstallRequest", arguments=("clients",), without=("project",))
    app.command("install", cls=Command, rich_help_panel=SYSTEM)(made)


def install(
    *,
    project: Annotated[
        bool, typer.Option("--project/--user", help="The settings of the project in this folder, not your own.")
    ] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Tell Claude Code, Codex, Cursor and other clients to use ir as an MCP server.

    Adds one entry to each client's own settings and a skill where it looks for skills. Comments and other entries stay;
    the file as it was is kept beside it, with .ir-backup behind its name.
    """
    from ir.app.installing import InstallRequest
    from ir.app.installing import install as operation
    from ir.cli.main import EXIT_ENVIRONMENT, EXIT_NOTHING
    from ir.cli.session import perform

    request = InstallRequest(**given, project="." if project else None)
    response = perform(operation, request, show_installed, as_json=as_json)
    if any(not report.ok for report in response.clients):
        raise typer.Exit(EXIT_ENVIRONMENT)
    if not response.clients and not response.plugin and not request.remove:
        raise typer.Exit(EXIT_NOTHING)


def show_installed(response: InstallResponse, output: Output) -> None:
    if response.plugin:
        output.line(response.plugin)
        print("ir: to load it, run:", file=sys.stderr)
        for step in response.steps:
            print(f"  {step}", file=sys.stderr)
        return
    if not response.clients:
        none = "no client has an entry for ir here; ir install makes one"
        if response.action == "install":
            none = f"no client was found here; name one: {', '.join(response.known)}"
        print(f"ir: {none}", file=sys.stderr)
    for report in response.clients:
        _show_client(report, response, output)
    if response.clients and response.action == "install":
        output.line(f"command: {shlex.join(response.command)}")


def _show_client(report: ClientReport, response: InstallResponse, output: Output) -> None:
    if report.error:
        output.line(f"{report.title}: {report.error} {report.remedy or ''}".rstrip())
    elif report.answer:
        tools = ", ".join(report.answer["tools"]) or "none"
        who = f"{report.answer['server']} {report.answer['version']}".strip()
        output.line(f"{report.title}: {who} answers in {report.answer['seconds']:.1f} s; tools: {tools}")
    for file in report.files:
        would = "would be " if response.dry_run and file["did"] in ("added", "updated", "removed") else ""
        kept = f" (as it was: {file['backup']})" if file["backup"] else ""
        output.line(f"{report.title}: {file['what']} {would}{_DID[str(file['did'])]} {file['path']}{kept}")


_DID = {
    "added": "added to",
    "updated": "updated in",
    "removed": "removed from",
    "unchanged": "already in",
    "absent": "not in",
    "kept": "left, because other clients use it, in",
}
