"""``ir ls``, ``ir info``, ``ir register`` and ``ir rm``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json, complete_corpus
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.census import CensusResponse
    from ir.app.corpora import InfoResponse, ListResponse
    from ir.app.pruning import PruneResponse
    from ir.app.registering import RegisterResponse, RemoveResponse
    from ir.cli.output import Output

from ir.errors import InvalidInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("ls", cls=Command, rich_help_panel=KEEPING)(ls)
    made = derived(info, "ir.app.corpora:InfoRequest", arguments=("target",))
    app.command("info", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(census, "ir.app.census:CensusRequest", arguments=("target",))
    app.command("census", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(
        register_corpus, "ir.app.registering:RegisterRequest", arguments=("name", "path"), without=("params",)
    )
    app.command("register", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(rm, "ir.app.registering:RemoveRequest", without=("corpus",))
    app.command("rm", cls=Command, rich_help_panel=KEEPING)(made)


def ls(as_json: Json = False) -> None:
    """List the corpora."""
    from ir.app.corpora import ListRequest, list_corpora
    from ir.cli.session import perform

    perform(list_corpora, ListRequest(), show_list, as_json=as_json)


def info(*, as_json: Json = False, **given: Any) -> None:
    """Show what a corpus holds, what it was made from and with what."""
    from ir.app.corpora import InfoRequest
    from ir.app.corpora import info as operation
    from ir.cli.session import perform

    perform(operation, InfoRequest(**given), show_info, as_json=as_json)


def census(*, as_json: Json = False, **given: Any) -> None:
    """Count the types of things in a corpus, and of the links between them."""
    from ir.app.census import CensusRequest
    from ir.app.census import census as operation
    from ir.cli.session import perform

    perform(operation, CensusRequest(**given), show_census, as_json=as_json)


def register_corpus(
    *,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter of the kind. Repeatable."),
    ] = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Give a corpus a name, so that ir build NAME makes it."""
    from ir.app.registering import RegisterRequest
    from ir.app.registering import register as operation
    from ir.cli.session import perform

    request = RegisterRequest(params=_parameters(param or []), **given)
    perform(operation, request, show_registered, as_json=as_json)


def rm(
    *,
    corpus: Annotated[
        str | None,
        typer.Argument(
            metavar="[CORPUS]", help="The name of a corpus.", autocompletion=complete_corpus, show_default=False
        ),
    ] = None,
    gone: Annotated[bool, typer.Option("--gone", help="All corpora whose folder is gone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Remove a corpus: its index and its registration. The files it was made from stay."""
    from ir.app.registering import RemoveRequest, remove
    from ir.cli.session import perform

    dry_run, everywhere = bool(given.get("dry_run")), bool(given.get("everywhere"))
    if gone:
        if everywhere:
            raise InvalidInput(
                "--gone is about this machine alone.", remedy="Leave out --everywhere, or name a corpus."
            )
        if corpus is not None:
            raise InvalidInput("--gone is about all corpora whose folder is gone.", remedy="Leave out the name, or it.")
        _prune(yes=yes, dry_run=dry_run, as_json=as_json)
        return
    if corpus is None:
        raise InvalidInput("Say which corpus to remove.", remedy="Write ir rm CORPUS or ir rm --gone.")
    if not dry_run and not yes:
        _ask(remove(RemoveRequest(corpus, dry_run=True, everywhere=everywhere)))
    perform(remove, RemoveRequest(corpus, dry_run, everywhere), show_removed, as_json=as_json)


def _prune(*, yes: bool, dry_run: bool, as_json: bool) -> None:
    from ir.app.pruning import PruneRequest, prune
    from ir.cli.session import perform

    if not dry_run and not yes:
        due = prune(PruneRequest(dry_run=True)).removed
        if due:
            _confirm(f"the corpora {', '.join(one.corpus for one in due)}", sum(one.bytes for one in due))
    perform(prune, PruneRequest(dry_run), show_pruned, as_json=as_json)


def show_pruned(response: PruneResponse, output: Output) -> None:
    if not response.removed:
        output.line("there are none whose folder is gone")
    for one in response.removed:
        show_removed(one, output)


def _ask(preview: RemoveResponse) -> None:
    _confirm(f"the corpus {preview.corpus!r}", preview.bytes, short=repr(preview.corpus))


def _confirm(what: str, freed: int, short: str | None = None) -> None:
    """Ask a person; a script has to say --yes."""
    from ir.cli.output import size

    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(f"Removing {short or what} needs --yes where nobody can be asked.")
    if not typer.confirm(f"Remove {what} ({size(freed)})?", err=True):
        print("ir: nothing was changed", file=sys.stderr)
        raise typer.Exit(1)


def _parameters(pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, word = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"--param {pair!r} must be KEY=VALUE.")
        try:
            found[key] = json.loads(word)
        except (ValueError, RecursionError):
            found[key] = word
    return found


def show_list(response: ListResponse, output: Output) -> None:
    from ir.cli.output import size

    if not response.corpora:
        print("ir: no corpora yet; make one with: ir build PATH", file=sys.stderr)
    rows = [
        (
            item.name,
            "-" if item.artifacts is None else f"{item.artifacts}",
            "-" if item.records is None else f"{item.records}",
            size(item.bytes) if item.built else "-",
            item.embedder or "-",
            item.upgrade["told"] if item.upgrade else item.state,
            item.origin or "-",
        )
        for item in response.corpora
    ]
    columns = ("name", "items", "records", "size", "embedder", "state", "source")
    if rows:
        output.table(columns, rows, right=("items", "records", "size"))
    if response.presets:
        names = ", ".join(response.presets)
        print(f"ir: known and not built: {names}; ir build NAME makes one, ir rm NAME hides it here", file=sys.stderr)


def show_info(response: InfoResponse, output: Output) -> None:
    from ir.cli.output import size

    shown = {name: value for name, value in response.to_dict().items() if value not in (None, [], {}, "")}
    shown["bytes"] = size(response.bytes)
    if response.upgrade:
        shown["upgrade"] = response.upgrade["told"]
    if response.git:
        at = response.git["branch"] or "detached"
        changed = {True: ", with changes", False: "", None: ", maybe with changes"}[response.git["dirty"]]
        shown["git"] = f"{(response.git['commit'] or 'no commit')[:10]} ({at}{changed})"
    if response.branches:
        shown["branches"] = [f"{name} ({size(taken)})" for name, taken in response.branches.items()]
    for name, value in shown.items():
        if isinstance(value, list):
            shown[name] = ", ".join(map(str, value))
        elif isinstance(value, dict):
            shown[name] = ", ".join(f"{key}={item}" for key, item in value.items())
    output.pairs({("size" if name == "bytes" else name): value for name, value in shown.items()})


def show_census(response: CensusResponse, output: Output) -> None:
    rows = [("type", name, count, "") for name, count in response.types.items()]
    for name, known in response.links.items():
        told = ", ".join(f"{count:,} {how}" for how, count in known.items())
        rows.append(("link", name, sum(known.values()), told))
    output.table(("what", "name", "count", "known"), rows, right=("count",))


def show_registered(response: RegisterResponse, output: Output) -> None:
    output.line(f"registered {response.name}; build it with: ir build {response.name}")


def show_removed(response: RemoveResponse, output: Output) -> None:
    from ir.cli.output import size

    verb = "would remove" if response.dry_run else "removed"
    if response.path:
        output.line(f"{verb} {response.path} ({size(response.bytes)})")
    if response.registered:
        output.line(f"{verb} the registration of {response.corpus}")
