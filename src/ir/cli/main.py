"""From arguments to an exit code: load the one command that is asked for, run it, say what went wrong."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from ir.cli.streams import is_writable, json_text, prepare, say, settled, unwritable
from ir.errors import IrError

__all__ = ["COMMANDS", "make_app", "run"]

EXIT_NOTHING = 1
EXIT_USAGE = 2
EXIT_ENVIRONMENT = 3
EXIT_INTERRUPTED = 130

#: The module of this package that registers each command; a new group is one file with ``register(app)``.
COMMANDS = {
    "search": "searching",
    "ask": "ask",
    "discover": "discover",
    "grep": "grep",
    "keyword-search": "keyword",
    "similar": "similar",
    "ontology-query": "ontology",
    "get": "reading",
    "expand": "reading",
    "traverse": "similar",
    "symbol": "relations",
    "callers": "relations",
    "callees": "relations",
    "implementations": "relations",
    "tests-of": "relations",
    "impact": "relations",
    "status": "status",
    "refresh": "status",
    "build": "building",
    "ingest": "ingest",
    "watch": "building",
    "upgrade": "building",
    "ls": "corpora",
    "info": "corpora",
    "census": "corpora",
    "register": "corpora",
    "rm": "corpora",
    "export": "transfer",
    "import": "transfer",
    "store": "store",
    "space": "space",
    "keyword": "keyword",
    "vocab": "vocab",
    "gc": "cleaning",
    "maintain": "maintain",
    "policy": "schedule",
    "schedule": "schedule",
    "coverage": "maintain",
    "graph": "graph",
    "eval": "evaluate",
    "eval-gen": "evaluate",
    "eval-select": "selecting",
    "sweep-select": "selecting",
    "calibrate-min-score": "calibrate",
    "calibrate-saturation": "ontology",
    "tune": "tune",
    "compare": "evaluate",
    "judge": "judging",
    "judged-sets": "judging",
    "runs": "judging",
    "forget-run": "judging",
    "gate": "gate",
    "serve": "serve",
    "mcp": "mcp",
    "daemon": "mcp",
    "doctor": "doctor",
    "token": "access",
    "workspace": "access",
    "config": "config",
    "install": "install",
    "models": "models",
}

_HELP = """Find the relevant things in a folder, a code base, or any corpus.

ir search PATH "query" works at once; ir build keeps a corpus up to date.

Exit codes: 0 found or done, 1 nothing found, 2 wrong usage, 3 something about the environment, 130 interrupted."""


class _Group(typer.core.TyperGroup):
    """Lists commands under their panels also where help is plain text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                title = panel if isinstance(panel, str) else "Commands"
                panels.setdefault(title, []).append((name, command.get_short_help_str(100)))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def make_app(commands: Sequence[str] = tuple(COMMANDS)) -> typer.Typer:
    """The Typer application with the modules of ``commands`` loaded."""
    app = typer.Typer(
        name="ir",
        cls=_Group,
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    # A callback makes this a group of commands, however few of them are loaded.
    @app.callback(invoke_without_command=True)
    def root(
        ctx: typer.Context,
        version: bool = typer.Option(False, "--version", help="Show the version and exit."),
        workspace: str = typer.Option(
            "", "--workspace", metavar="NAME", help="The workspace whose corpora are meant; also IR_WORKSPACE."
        ),
    ) -> None:
        if workspace:
            from ir.config.workspace import in_workspace

            ctx.with_resource(in_workspace(workspace))
        if version:
            import ir

            print(f"ir {ir.__version__}")
            raise typer.Exit

    for module in dict.fromkeys(COMMANDS[command] for command in commands):
        import_module(f"ir.cli.{module}").register(app)
    return app


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Never a traceback, unless ``IR_DEBUG`` is set."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not prepare():
        return EXIT_ENVIRONMENT
    try:
        code = _dispatch(args)
    except BrokenPipeError:
        code = 0
    except (KeyboardInterrupt, typer.Abort) as interruption:
        say(str(interruption) or "interrupted, nothing was changed", begin="\n")
        code = EXIT_INTERRUPTED
    except Exception as error:
        if os.environ.get("IR_DEBUG"):
            raise
        # What failed may be printing the result; an error printed in the same way would fail again.
        code = _report(error, args, as_json="--json" in args and is_writable())
    return settled(code)


def _dispatch(args: list[str]) -> int:
    completing = any(name.startswith("_IR_COMPLETE") for name in os.environ)
    known = bool(args) and args[0] in COMMANDS and not completing
    if args in ([], ["-h"], ["--help"]) and not completing:
        from ir.cli.fields import names_only

        with names_only():  # a list of commands needs no options
            app = make_app()
    else:
        app = make_app([args[0]] if known else list(COMMANDS))
    result = _call_quickly(app, args) if known else None
    if result is None:
        command = typer.main.get_command(app)
        result = command.main(args or ["--help"], prog_name="ir", standalone_mode=False)
        if result == EXIT_INTERRUPTED:  # Typer may turn an interruption into an exit code
            raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def _call_quickly(app: typer.Typer, args: list[str]) -> int | None:
    """Call the command if its arguments are plain; ``None`` if Typer has to read them."""
    from ir.cli.quick import read_arguments

    function = next(info.callback for info in app.registered_commands if info.name == args[0])
    keywords = read_arguments(function, args[1:]) if function else None
    if function is None or keywords is None:
        return None
    try:
        return function(**keywords) or 0
    except typer.Exit as leave:
        return int(leave.exit_code)


def _report(error: Exception, args: Sequence[str], *, as_json: bool) -> int:
    problem, code = _describe(error, args)
    if as_json:
        with suppress(OSError):
            print(json_text({"error": problem}))
            return code
    if is_writable():  # otherwise that is what will be said
        say(problem["message"], problem["remedy"])
    return code


def _describe(error: Exception, args: Sequence[str]) -> tuple[dict[str, str], int]:
    see = f"See: {' '.join(['ir', *(word for word in args[:1] if word in COMMANDS)])} --help"
    if isinstance(error, IrError):
        wrong_word = type(error).__name__ == "WrongWord"  # not imported for those who do not err
        return {**error.to_dict(), **({"type": "InvalidInput", "remedy": see} if wrong_word else {})}, error.exit_code
    if hasattr(error, "format_message"):  # what Typer raises for arguments that do not parse
        return {"type": "Usage", "code": "usage", "message": error.format_message(), "remedy": see}, EXIT_USAGE
    if isinstance(error, FileNotFoundError) and error.filename is None and _nowhere():
        return {
            "type": "NoFolder",
            "code": "no_folder",
            "message": "The current folder does not exist any more.",
            "remedy": "Go to one that does: cd ~",
        }, EXIT_ENVIRONMENT
    if isinstance(error, OSError):
        return _describe_system(error), EXIT_ENVIRONMENT
    message = f"Unexpected {type(error).__name__}: {error}"
    return {
        "type": "Unexpected",
        "code": "unexpected",
        "message": message,
        "remedy": "IR_DEBUG=1 shows where.",
    }, EXIT_ENVIRONMENT


def _describe_system(error: OSError) -> dict[str, str]:
    reason = error.strerror or str(error)
    if error.filename is None and error.errno == errno.ENOSPC:  # printed without a buffer, as PYTHONUNBUFFERED asks
        message, remedy = unwritable(error)
    else:
        message = f"{reason}: {error.filename}." if error.filename else f"{reason}."
        remedy = "ir doctor checks the folders that ir uses."
    return {"type": type(error).__name__, "code": "system", "message": message, "remedy": remedy}


def _nowhere() -> bool:
    """Whether the current folder was removed since this shell, or whatever started us, went there."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
