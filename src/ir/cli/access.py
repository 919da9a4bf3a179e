"""``ir token`` and ``ir workspace``."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json, one_of
from ir.cli.fields import derived
from ir.cli.visible import visible
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.tokens import TokenCreateResponse, TokenLine, TokenListResponse, TokenRevokeResponse
    from ir.app.workspaces import WorkspaceLine, WorkspaceListResponse, WorkspaceRemoveResponse
    from ir.cli.output import Output

__all__ = ["register"]

_TOKENS = tuple(f"ir.app.tokens:Token{name}Request" for name in ("Create", "List", "Revoke"))
_WORKSPACES = tuple(f"ir.app.workspaces:Workspace{name}Request" for name in ("Create", "Quota", "List", "Remove"))


def register(app: typer.Typer) -> None:
    app.command("token", cls=Command, rich_help_panel=KEEPING)(derived(token, _TOKENS, without=("token",)))
    app.command("workspace", cls=Command, rich_help_panel=KEEPING)(derived(workspace, _WORKSPACES, without=("name",)))


def token(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="create, ls or revoke.",
            show_default=False,
            autocompletion=one_of("create", "ls", "revoke"),
        ),
    ],
    word: Annotated[
        str | None,
        typer.Argument(metavar="[ID|NAME]", help="create: what to call it; revoke: the token.", show_default=False),
    ] = None,
    *,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Make, list and revoke the tokens by which clients of ir serve are known.

    ir token create NAME shows a secret once; only a hash of it is kept. A token sees the corpora of its
    workspace, or those of --corpus alone. ir token revoke ID takes effect within a second, in every process.
    """
    from ir.app import tokens
    from ir.cli.session import perform

    if action == "create" and word is not None:
        given.setdefault("name", word)
    if action == "create" and "name" not in given:
        raise InvalidInput("A token needs a name.", remedy="Write: ir token create NAME")
    if action == "revoke" and word is None:
        raise InvalidInput("Say which token to revoke.", remedy="Write: ir token revoke ID")
    if action == "create":
        request: Any = _request("token create", tokens.TokenCreateRequest, given)
        perform(tokens.create_token, request, show_created, as_json=as_json)
    elif action == "ls" and word is None:
        perform(tokens.list_tokens, _request("token ls", tokens.TokenListRequest, given), show_tokens, as_json=as_json)
    elif action == "revoke":
        request = _request("token revoke", tokens.TokenRevokeRequest, {**given, "token": word})
        perform(tokens.revoke_token, request, show_revoked, as_json=as_json)
    else:
        raise InvalidInput(
            "A token is created, listed or revoked.",
            remedy="Write: ir token create NAME, ir token ls, or ir token revoke ID",
        )


def workspace(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="create, ls, quota or rm.",
            show_default=False,
            autocompletion=one_of("create", "ls", "quota", "rm"),
        ),
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The name of the workspace.", show_default=False)
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="rm: do not ask.")] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Make, list, limit and remove workspaces, each with corpora that no other sees.

    ir workspace create NAME --records N --disk SIZE --requests N says what it may hold and ask; quota changes that.
    ir workspace rm NAME --dry-run shows what would go: its corpora, wherever they are kept, and its tokens.
    """
    from ir.app import workspaces
    from ir.cli.session import perform

    if action == "ls" and name is None:
        request: Any = _request("workspace ls", workspaces.WorkspaceListRequest, given)
        perform(workspaces.list_workspaces, request, show_workspaces, as_json=as_json)
        return
    if action not in ("create", "quota", "rm") or name is None:
        raise InvalidInput(
            "A workspace is created, listed, limited or removed.",
            remedy="Write: ir workspace create|quota|rm NAME, or ir workspace ls",
        )
    if action == "create":
        request = _request("workspace create", workspaces.WorkspaceCreateRequest, {**given, "name": name})
        perform(workspaces.create_workspace, request, show_workspace, as_json=as_json)
    elif action == "quota":
        request = _request("workspace quota", workspaces.WorkspaceQuotaRequest, {**given, "name": name})
        perform(workspaces.set_quota, request, show_workspace, as_json=as_json)
    else:
        request = _request("workspace rm", workspaces.WorkspaceRemoveRequest, {**given, "name": name})
        if not request.dry_run and not yes:
            _confirm(workspaces.remove_workspace(workspaces.WorkspaceRemoveRequest(name, dry_run=True)))
        perform(workspaces.remove_workspace, request, show_removed, as_json=as_json)


def _request(command: str, shape: Any, given: dict[str, Any]) -> Any:
    """The request of one action; an option that belongs to another is an error."""
    known = {field.name for field in fields(shape)}
    for strange in sorted(set(given) - known):
        flag = {"corpora": "corpus", "scopes": "scope", "dry_run": "dry-run"}.get(strange, strange)
        raise InvalidInput(f"`ir {command}` takes no --{flag}.", remedy=f"See: ir {command.split()[0]} --help")
    return shape(**given)


def _confirm(due: WorkspaceRemoveResponse) -> None:
    """Ask a person; a script has to say --yes."""
    from ir.cli.output import count, size

    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(f"Removing the workspace {due.name!r} needs --yes where nobody can be asked.")
    what = f"{count(len(due.corpora), 'corpus', 'corpora')} and {count(len(due.tokens), 'token')}"
    if not typer.confirm(f"Remove the workspace {due.name!r} with {what} ({size(due.bytes)})?", err=True):
        print("ir: nothing was changed", file=sys.stderr)
        raise typer.Exit(1)


def show_created(response: TokenCreateResponse, output: Output) -> None:
    output.line(response.secret, style="bold")
    output.line(f"{_told(response.token)}; the line above is shown this once")


def show_tokens(response: TokenListResponse, output: Output) -> None:
    if not response.tokens:
        output.line("there are no tokens")
        return
    rows = [
        (
            one.id,
            visible(one.name),
            one.workspace,
            "all" if one.corpora is None else visible(", ".join(one.corpora)),
            ", ".join(one.scopes),
            one.expires or "never",
            one.state,
        )
        for one in response.tokens
    ]
    output.table(("id", "name", "workspace", "corpora", "scopes", "expires", "state"), rows)


def show_revoked(response: TokenRevokeResponse, output: Output) -> None:
    how = "revoked" if response.was_active else "was revoked before"
    output.line(f"token {response.token.id} ({visible(response.token.name)}) {how}")


def _told(one: TokenLine) -> str:
    corpora = "all corpora" if one.corpora is None else visible(", ".join(one.corpora))
    until = "" if one.expires is None else f", until {one.expires}"
    return f"token {one.id} ({visible(one.name)}): {', '.join(one.scopes)} {corpora} of {one.workspace}{until}"


def show_workspaces(response: WorkspaceListResponse, output: Output) -> None:
    from ir.cli.output import size

    rows = [
        (
            one.name,
            f"{one.corpora:,}",
            f"{one.records:,}" + ("" if one.most_records is None else f" of {one.most_records:,}"),
            size(one.bytes) + ("" if one.most_bytes is None else f" of {size(one.most_bytes)}"),
            "-" if one.requests_per_minute is None else f"{one.requests_per_minute:,} a minute",
            f"{one.tokens:,}",
        )
        for one in response.workspaces
    ]
    output.table(("workspace", "corpora", "records", "disk", "requests", "tokens"), rows)
    for one in response.workspaces:
        for problem in one.problems:
            output.line(f"{one.name}: {visible(problem)}")


def show_workspace(response: WorkspaceLine, output: Output) -> None:
    from ir.cli.output import size

    limits = [
        f"{response.most_records:,} records" if response.most_records is not None else "",
        size(response.most_bytes) if response.most_bytes is not None else "",
        f"{response.requests_per_minute:,} requests a minute" if response.requests_per_minute is not None else "",
    ]
    most = ", ".join(limit for limit in limits if limit)
    output.line(f"workspace {response.name}: " + (f"at most {most}" if most else "without limits"), style="bold")


def show_removed(response: WorkspaceRemoveResponse, output: Output) -> None:
    from ir.cli.output import count, size

    for one in response.corpora:
        told = one.problem or f"{count(one.records, 'record')}, {size(one.bytes)}"
        output.line(f"corpus {visible(one.name)} at {visible(one.kept_at)}: {visible(told)}")
    for part in response.parts:
        output.line(f"{visible(part)}, of a corpus whose name was removed")
    for folder in response.folders:
        output.line(f"folder {visible(folder)}")
    for name in response.tokens:
        output.line(f"token {name}")
    how = "would remove" if response.dry_run else "removed"
    output.line(f"{how} the workspace {response.name}: {size(response.bytes)}", style="bold")
