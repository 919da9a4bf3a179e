"""The options that only a terminal has and several commands share; the others come from the fields of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "EVALUATING",
    "KEEPING",
    "SEARCHING",
    "SYSTEM",
    "Command",
    "Filter",
    "Json",
    "Refresh",
    "Upgrade",
    "Wait",
    "Where",
    "complete_corpus",
    "complete_corpus_or_path",
    "one_of",
]

#: The panels under which help lists commands.
SEARCHING = "Search"
KEEPING = "Corpora"
EVALUATING = "Evaluation"
SYSTEM = "System"


class Command(typer.core.TyperCommand):
    """A command whose usage line shows its arguments as they were named, without the braces Typer puts around."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = str(param.metavar or param.name)
                pieces.append(name if param.required or name.startswith("[") else f"[{name}]")
        return pieces


def complete_corpus(incomplete: str) -> list[str]:
    """Corpus names for shell completion; completion must never fail."""
    try:
        from ir.app.targets import known_names

        return sorted(name for name in known_names() if name.startswith(incomplete))
    except Exception:
        return []


def complete_corpus_or_path(incomplete: str) -> list[str]:
    """Corpus names, then files and folders."""
    folder, _, start = incomplete.rpartition("/")
    base = Path(folder or ("/" if incomplete.startswith("/") else ".")).expanduser()
    try:
        inside = sorted(path for path in base.iterdir() if path.name.startswith(start))
    except OSError:
        inside = []
    prefix = incomplete[: len(incomplete) - len(start)]
    paths = [f"{prefix}{path.name}{'/' if path.is_dir() else ''}" for path in inside]
    return [*complete_corpus(incomplete), *paths]


def one_of(*words: str, among: str = "") -> Callable[[str], list[str]]:
    """Shell completion for what takes one of a few words: these, and those that ``"module:NAME"`` holds or returns.

    The module is loaded on Tab, so that help and searches do not wait for it.
    """

    def complete(incomplete: str) -> list[str]:
        try:
            return [word for word in (*words, *_held(among)) if word.startswith(incomplete)]
        except Exception:  # completion must never fail
            return []

    return complete


def _held(among: str) -> Iterable[str]:
    if not among:
        return ()
    module, _, name = among.partition(":")
    found: Any = getattr(import_module(module), name)
    return tuple(found() if callable(found) else found)


Filter = Annotated[
    str | None, typer.Option("--filter", metavar="JSON", help="Only records whose metadata matches this filter.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", "-w", metavar="FIELD=VALUE", help="A short filter; also !=, >=, <=, >, <, ~. Repeatable."),
]
Refresh = Annotated[
    bool | None,
    typer.Option("--refresh/--no-refresh", help="First take in changed files, when that is cheap.", show_default=False),
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Answer when the better model has read everything, not by the fast one before.")
]
Upgrade = Annotated[
    bool | None,
    typer.Option(
        "--upgrade/--no-upgrade",
        help="Let the better model read in the background; by default at a terminal.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
