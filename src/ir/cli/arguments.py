"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["EVALUATING", "KEEPING", "SEARCHING", "SYSTEM", "Command", "Corpus", "CorpusOrPath", "Embedder", "Json"]

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


Corpus = Annotated[str, typer.Argument(metavar="CORPUS", help="The name of a corpus.", autocompletion=complete_corpus)]
CorpusOrPath = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS|PATH", help="A corpus name, a folder or a file.", autocompletion=complete_corpus_or_path
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option("--embedder", metavar="NAME", help="The embedding model: light, default or a model's name."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
