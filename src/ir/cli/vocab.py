"""``ir vocab``."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json, one_of
from ir.cli.fields import derived
from ir.cli.visible import visible
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.vocabularies import (
        GroundResponse,
        VocabBuildResponse,
        VocabEvalResponse,
        VocabInfoResponse,
        VocabLintResponse,
    )
    from ir.cli.output import Output

__all__ = ["register"]

ACTIONS = ("build", "info", "lint", "ground", "eval")
_HOME = "ir.app.vocabularies"
_REQUESTS = tuple(f"{_HOME}:{name}Request" for name in ("VocabBuild", "VocabInfo", "VocabLint", "Ground", "VocabEval"))


def register(app: typer.Typer) -> None:
    made = derived(vocab, _REQUESTS, without=("name", "files", "phrases", "cases"))
    app.command("vocab", cls=Command, rich_help_panel=KEEPING)(made)


def vocab(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="build, info, lint, ground or eval.",
            show_default=False,
            autocompletion=one_of(*ACTIONS),
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME] [FILE|PHRASE...]", help="The vocabulary, and what it is given.", show_default=False
        ),
    ] = None,
    *,
    batch: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="ground: one phrase on each line of this file.")
    ] = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Make a vocabulary of terms, and find the terms that phrases mean.

    ir vocab build NAME FILE... reads terms from CSV, JSONL or SKOS; ir vocab ground NAME PHRASE... finds them.
    ir vocab info [NAME] shows what there is, ir vocab lint NAME what looks wrong, ir vocab eval NAME [CASES] measures.
    """
    from ir.app.operation import find_operation
    from ir.app.vocabularies import (
        GroundRequest,
        VocabBuildRequest,
        VocabEvalRequest,
        VocabInfoRequest,
        VocabLintRequest,
    )
    from ir.cli.session import perform

    name, *rest = words or [None]  # type: ignore[list-item]
    if action not in ACTIONS or (name is None and action != "info"):
        raise InvalidInput(
            f"`ir vocab` builds, shows, checks, asks or measures a vocabulary; {action!r} is not how.",
            remedy="Write: ir vocab build|info|lint|ground|eval NAME …",
        )
    shapes: dict[str, tuple[Any, dict[str, Any], Any]] = {
        "build": (VocabBuildRequest, {"name": name, "files": tuple(rest)}, show_built),
        "info": (VocabInfoRequest, {"name": name}, show_info),
        "lint": (VocabLintRequest, {"name": name}, show_found),
        "ground": (GroundRequest, {"name": name, "phrases": (*rest, *_lines(batch))}, show_grounded),
        "eval": (VocabEvalRequest, {"name": name, "cases": rest[0] if rest else None}, show_measured),
    }
    shape, told, show = shapes[action]
    known = {field.name for field in fields(shape)}
    strange = sorted(set(given) - known)
    if strange or (batch is not None and action != "ground"):
        option = strange[0].replace("_", "-") if strange else "file"
        raise InvalidInput(f"`ir vocab {action}` takes no --{option}.", remedy="See: ir vocab --help")
    if len(rest) > {"info": 0, "lint": 0, "eval": 1}.get(action, len(rest)):
        raise InvalidInput(f"`ir vocab {action}` takes no more than that: {rest[-1]!r} is too much.")
    if action == "ground" and not told["phrases"]:
        raise InvalidInput(
            "There is no phrase to look up.", remedy="Write: ir vocab ground NAME PHRASE…, or --file FILE"
        )
    operation = find_operation("ground" if action == "ground" else f"vocab-{action}")
    response = perform(operation, shape(**told, **given), show, as_json=as_json)
    if action == "ground" and not any(phrase.terms for phrase in response.phrases):
        raise typer.Exit(1)


def _lines(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as text in UTF-8.", remedy="One phrase on each line.") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def show_built(response: VocabBuildResponse, output: Output) -> None:
    output.line(f"{response.name}: {response.terms:,} terms, {response.aliases:,} aliases", style="bold")
    told = response.weights
    output.line(f"weights: {told['source']}" + (f" ({told['figures']['note']})" if "note" in told["figures"] else ""))
    if response.corpus is not None:
        output.line(f"corpus: {response.corpus}")
    for problem in response.problems:
        print(visible(f"ir: {problem.file}:{problem.line}: {problem.message}"), file=sys.stderr)
    if response.left_out:
        told_out = "1 row was" if response.left_out == 1 else f"{response.left_out:,} rows were"
        print(f"ir: {told_out} left out", file=sys.stderr)
    _notes(response.notes)


def show_info(response: VocabInfoResponse, output: Output) -> None:
    if not response.vocabularies:
        print("ir: there is no vocabulary; make one: ir vocab build NAME FILE", file=sys.stderr)
    for one in response.vocabularies:
        values: dict[str, Any] = {
            "vocabulary": one.name,
            "terms": f"{one.terms:,}",
            "aliases": f"{one.aliases:,}",
            "blocked": one.blocked,
            "embedders": ", ".join(one.embedders) or "-",
            "weights": one.weights["source"],
            "floor": "-" if one.floor is None else one.floor,
            "usage": f"{one.usage_documents:,} documents",
            "subwords": one.subwords["source"] if one.subwords else "-",
            "context": f"{one.context_terms:,} terms",
            "size": f"{one.size / 1e6:.1f} MB",
            "folder": one.folder,
        }
        if one.damaged is not None:
            values["damaged"] = ", ".join(one.damaged) or "nothing"
        output.pairs(values)


def show_found(response: VocabLintResponse, output: Output) -> None:
    for finding in response.findings:
        output.line(f"{finding.kind}: {finding.message}")
    told = ", ".join(f"{kind} {count:,}" for kind, count in response.counts.items() if count)
    output.line(told or "nothing looks wrong", style="bold")


def show_grounded(response: GroundResponse, output: Output) -> None:
    rows = []
    for phrase in response.phrases:
        for term in phrase.terms:
            why = "; ".join(f"{one.channel} {one.score:.2f}×{one.weight:g} {one.by}".rstrip() for one in term.why)
            rows.append((phrase.phrase, term.term, f"{term.score:.3f}", *((why,) if why else ())))
        if not phrase.terms:
            rows.append((phrase.phrase, "-", "-"))
    explained = any(len(row) > 3 for row in rows)
    output.table(("phrase", "term", "score", *(("why",) if explained else ())), rows, right=("score",))
    _notes(response.notes)


def show_measured(response: VocabEvalResponse, output: Output) -> None:
    ks = list(response.measured[0].recall)
    rows = [
        (
            one.channels,
            *(f"{one.recall[k]:.3f}" for k in ks),
            *(f"{value:.3f}" for value in (one.mrr, one.ndcg, one.precision, one.recall_at_threshold, one.f1)),
        )
        for one in response.measured
    ]
    columns = ("channels", *(f"R@{k}" for k in ks), "MRR", "nDCG@10", "P", "R", "F1")
    output.table(columns, rows, right=columns[1:])
    first = response.measured[0]
    output.line(f"{first.cases:,} cases; P, R and F1 at {first.threshold:.3f}, chosen on others")
    if first.categories:
        output.table(
            ("category", "R@10", "terms"),
            [(name or "-", f"{recall:.3f}", count) for name, (recall, count) in first.categories.items()],
            right=("R@10", "terms"),
        )
    _notes(response.notes)


def _notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(visible(f"ir: {note}"), file=sys.stderr)
