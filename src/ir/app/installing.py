"""Telling the clients of agents about this server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import DRY_RUN
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.errors import ClientError, InvalidInput

if TYPE_CHECKING:
    from ir.clients import Change, Client, Setup

__all__ = ["ClientReport", "InstallRequest", "InstallResponse", "install"]


@dataclass(frozen=True)
class InstallRequest(Value):
    """Without ``clients``, those that are found here. ``project`` is the folder whose own settings are meant, not the
    user's. ``check`` changes nothing and starts what is entered; ``plugin`` writes the plugin of Claude Code instead.
    """

    clients: Annotated[
        tuple[str, ...],
        Arg(
            "the clients to tell; all that are found",
            choices="ir.clients:CLIENTS",
            metavar="[CLIENT...]",
            help="claude, codex, cursor, vscode, copilot, opencode, gemini, windsurf, zed; all that are found here.",
        ),
    ] = ()
    project: Annotated[str | None, Arg("the folder of a project, to use its settings and not the user's")] = None
    remove: Annotated[bool, Arg("take out what was put in")] = False
    check: Annotated[bool, Arg("start what is entered, and ask it for its tools")] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    skill: Annotated[bool, Arg("also add the skill that says how to search", flag="--skill/--no-skill")] = True
    plugin: Annotated[bool, Arg("write a plugin for Claude Code, and say how to load it")] = False


@dataclass(frozen=True)
class ClientReport(Value):
    """What was done to the files of one client, or what its server answered; ``error`` says why nothing was.

    Each of ``files`` has ``what`` (server or skill), ``path``, ``did`` and ``backup``.
    """

    client: str
    title: str
    files: tuple[Mapping[str, str | None], ...] = ()
    answer: Mapping[str, Any] | None = None
    error: str | None = None
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True)
class InstallResponse(Value):
    """What happened to each client. ``command`` is what clients start; ``steps`` are left for the user to do."""

    action: str
    dry_run: bool
    project: str | None
    command: tuple[str, ...]
    clients: tuple[ClientReport, ...] = ()
    plugin: str | None = None
    steps: tuple[str, ...] = ()
    known: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "clients": [report.to_dict() for report in self.clients]}


@operation("install", summary="Tell the clients of agents about this server", effect="writes", scope="machine")
def install(request: InstallRequest, ctx: Context) -> InstallResponse:
    from ir.clients import CLIENTS, Setup, launch
    from ir.config import config_dir
    from ir.config.files import file_lock

    action = _action(request)
    project = None if request.project is None else _folder(request.project)
    started = launch()
    response = InstallResponse(
        action, request.dry_run, str(project) if project else None, started.words, known=tuple(CLIENTS)
    )
    if action == "plugin":
        return _plugin(response, started)
    clients = _chosen(request, project, ctx)
    if action == "check":
        return _with(response, [_checked(client, project) for client in clients])
    if started.warning and action == "install":
        ctx.note(started.warning)
    setup = Setup(started, project=project, skill=request.skill, dry=request.dry_run)
    if request.dry_run:
        return _with(response, [_report(setup, client, action) for client in clients])
    # One at a time; not beside the client's file, where some have locks of their own.
    with file_lock(config_dir() / "clients"):
        try:
            reports = [_report(setup, client, action) for client in clients]
        except BaseException:  # interrupted: nothing is half done
            setup.undo()
            raise
    if project and action == "install":
        for client in clients:
            if client.remark:
                ctx.note(client.remark)
        if reports:
            ctx.note("the project's files name a path of this machine; keep them out of version control")
    return _with(response, reports)


def _action(request: InstallRequest) -> str:
    asked = [name for name in ("remove", "check", "plugin") if getattr(request, name)]
    if len(asked) > 1:
        raise InvalidInput(f"--{asked[0]} and --{asked[1]} are two different things.", remedy="Ask for one of them.")
    if asked == ["plugin"] and (request.clients not in ((), ("claude",)) or request.project or request.dry_run):
        raise InvalidInput("A plugin is for Claude Code alone.", remedy="Write: ir install claude --plugin")
    return asked[0] if asked else "install"


def _folder(word: str) -> Path:
    folder = Path(word).absolute()
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {word!r}.", remedy="Go to the project's folder.")
    return folder


def _chosen(request: InstallRequest, project: Path | None, ctx: Context) -> list[Client]:
    """The clients that are meant, in the order of the catalogue."""
    from ir.clients import CLIENTS, clients_with_entries

    named = [client for name, client in CLIENTS.items() if name in request.clients]
    if named:
        without = [client.title for client in named if client.file(project) is None]
        if without:
            raise InvalidInput(f"{without[0]} has no settings for a project.", remedy="Leave out --project.")
        return named
    able = [client for client in CLIENTS.values() if client.file(project) is not None]
    if request.remove or request.check:
        return clients_with_entries(project, able)
    found = [client for client in able if client.is_present()]
    skipped = [client.title for client in CLIENTS.values() if client not in able and client.is_present()]
    if skipped:
        ctx.note(f"{' and '.join(skipped)} cannot be set up for a project, only for you: leave out --project")
    return found


def _report(setup: Setup, client: Client, action: str) -> ClientReport:
    try:
        changes = setup.remove(client) if action == "remove" else setup.install(client)
    except ClientError as error:
        done = tuple(map(_told, setup.changes))
        return ClientReport(client.name, client.title, done, error=error.message, remedy=error.remedy)
    return ClientReport(client.name, client.title, tuple(map(_told, changes)))


def _told(change: Change) -> Mapping[str, str | None]:
    backup = str(change.backup) if change.backup else None
    return {"what": change.what, "path": str(change.path), "did": change.did, "backup": backup}


def _checked(client: Client, project: Path | None) -> ClientReport:
    from dataclasses import asdict

    from ir.clients import HandshakeFailed, check

    try:
        answer = check(client, project)
    except HandshakeFailed as error:
        remedy = f"Write its entry again: ir install {client.name}{' --project' if project else ''}"
        return ClientReport(client.name, client.title, error=f"{error}.", remedy=remedy)
    except ClientError as error:
        return ClientReport(client.name, client.title, error=error.message, remedy=error.remedy)
    return ClientReport(client.name, client.title, answer=asdict(answer))


def _plugin(response: InstallResponse, started: Any) -> InstallResponse:
    from dataclasses import replace

    from ir.clients import write_plugin
    from ir.config import data_dir

    folder = data_dir().absolute() / "claude-plugin"
    write_plugin(folder, started)
    steps = (f"claude plugin marketplace add {folder}", "claude plugin install ir@ir")
    return replace(response, plugin=str(folder), steps=steps)


def _with(response: InstallResponse, reports: list[ClientReport]) -> InstallResponse:
    from dataclasses import replace

    return replace(response, clients=tuple(reports))
