"""``ir eval``, ``ir eval-gen`` and ``ir compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json, complete_corpus_or_path, one_of
from ir.cli.fields import derived
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.casewriting import EvalGenResponse
    from ir.app.comparing import CompareResponse
    from ir.app.evaluating import CollectionScores, EvalResponse
    from ir.cli.output import Output
    from ir.eval import DiscoveryReport

__all__ = ["register"]

#: The words that stand for a corpus where test collections follow, or corpora of books.
BEIR = "beir"
BOOK = "book"
_EVALS = ("ir.app.evaluating:EvalRequest", "ir.app.book_evaluating:EvalBookRequest")
LISTED_CHANGES = 10
LISTED_SKIPS = 5
MEANINGS = {
    "hit_rank_1": "an answer came first",
    "surfaced_low_rank": "an answer is among the first {k}",
    "retrieval_miss": "no answer is among the first {k}",
    "wrongly_refused": "an answer is among the first {k}, but the floor refuses the query",
    "abstention_ok": "refused, as nothing answers it",
    "false_action": "let in, though nothing answers it",
    "abstention_unscored": "nothing answers it; give --min-score to see whether it is refused",
}


def register(app: typer.Typer) -> None:
    made = derived(evaluate, _EVALS, without=("corpus", "corpora", "cases", "collections", "min_score"))
    app.command("eval", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(eval_gen, "ir.app.casewriting:EvalGenRequest", arguments=("target", "file"))
    app.command("eval-gen", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(compare, "ir.app.comparing:CompareRequest", arguments=("run_a", "run_b"))
    app.command("compare", cls=Command, rich_help_panel=EVALUATING)(made)


def evaluate(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS CASES | beir FOLDER... | book CORPUS...",
            autocompletion=complete_corpus_or_path,
            hidden=True,
        ),
    ],
    *,
    cases: Annotated[
        str | None,
        typer.Option("--cases", metavar="SET", help="A set of cases by name, or a file of them, in place of CASES."),
    ] = None,
    min_score: Annotated[
        str | None,
        typer.Option(
            "--min-score",
            metavar="FLOOR",
            help="A number or auto: the floor for cases without an answer.",
            autocompletion=one_of("auto"),
        ),
    ] = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Measure how well a corpus answers cases, or the library on test collections.

    CASES is a file of JSON lines like {"query": "…", "gold": ["ID"]}, where [] says that nothing answers, a set by the
    name that ir judge gave it, or a folder in BEIR's layout. With the word beir in place of a corpus, every collection
    at or below a FOLDER is built by itself and measured with BM25, dense, RRF and the default; p says how likely the
    difference to RRF is by luck alone. Exit code 3 means that some could not be read.

    With the word book, questions about the books in some corpora are asked, and what comes back is held against the
    passages that answer them.
    """
    from ir.app.evaluating import EvalRequest
    from ir.app.evaluating import evaluate as operation
    from ir.cli.session import perform

    corpus, *rest = words
    if corpus == BOOK and rest:
        if min_score:
            raise InvalidInput("ir eval book takes no --min-score.", remedy="See: ir eval --help")
        return _evaluate_book(rest, cases, given, as_json=as_json)
    _check_known(given, 0, "ir eval CORPUS CASES")
    rest = [*rest, cases] if cases is not None else rest
    if corpus == BEIR and rest:
        if min_score or given.keys() & {"mode", "fusion", "graph", "chapters"}:
            raise InvalidInput("How to search and --min-score belong to a corpus; collections get every mode.")
        given.pop("k", None)
        request = EvalRequest(collections=tuple(rest), **given)
    elif len(rest) == 1:
        request = EvalRequest(corpus, rest[0], min_score=read_floor(min_score), **given)
    else:
        raise InvalidInput("Write: ir eval CORPUS CASES, or: ir eval beir FOLDER..., or: ir eval book CORPUS...")
    response = perform(operation, request, show_eval, as_json=as_json)
    return 3 if response.broken else 0


def _evaluate_book(corpora: Sequence[str], cases: str | None, given: dict[str, Any], *, as_json: bool) -> int:
    from ir.app.book_evaluating import EvalBookRequest, evaluate_book
    from ir.cli.book_evaluation import show_book
    from ir.cli.session import perform

    _check_known(given, 1, "ir eval book")
    request = EvalBookRequest(tuple(corpora), cases=cases, **given)
    perform(evaluate_book, request, show_book, as_json=as_json)
    return 0


def _check_known(given: dict[str, Any], which: int, command: str) -> None:
    """An error for an option of another kind of evaluation."""
    from importlib import import_module

    from ir.app.fields import fields_of

    module, _, name = _EVALS[which].partition(":")
    known = fields_of(getattr(import_module(module), name))
    strange = [one for one in given if one not in known]
    if strange:
        other = fields_of(
            getattr(import_module(_EVALS[1 - which].partition(":")[0]), _EVALS[1 - which].partition(":")[2])
        )
        flag = other[strange[0]].arg.flag or f"--{strange[0].replace('_', '-')}"
        raise InvalidInput(f"{command} takes no {flag}.", remedy="See: ir eval --help")


def eval_gen(*, as_json: Json = False, **given: Any) -> int:
    """Write cases for a corpus, by a language model or from its texts.

    Queries never name the artifact they ask for. Sentences of the texts are easier to find than a person's words are:
    read figures on them with that in mind.
    """
    from ir.app.casewriting import EvalGenRequest, write_cases
    from ir.cli.session import perform

    perform(write_cases, EvalGenRequest(**given), show_written, as_json=as_json)
    return 0


def compare(*, as_json: Json = False, **given: Any) -> int:
    """Compare two runs query by query, with paired tests.

    ir eval --save keeps runs, and ir runs lists their ids; ir eval --run FILE writes them as files.
    """
    from ir.app.comparing import CompareRequest
    from ir.app.comparing import compare as operation
    from ir.cli.session import perform

    perform(operation, CompareRequest(**given), show_comparison, as_json=as_json)
    return 0


def read_floor(word: str | None, *, none: str | None = None) -> float | str | None:
    """What ``--min-score`` says where there is one corpus; the word none stands for ``none``."""
    from ir.cli.discover import read_floors

    floor = read_floors([word] if word else [])
    if isinstance(floor, dict):
        raise InvalidInput(f"--min-score {word!r} must be a number or auto here.")
    return none if floor == "none" else floor


def show_eval(response: EvalResponse, output: Output) -> None:
    if response.report is not None:
        _show_cases(response, response.report, output)
    else:
        output.line(f"embedder\t{response.embedder}")
        _show_collections(response.collections, output)
        for folder, reason in response.broken.items():
            output.line(f"not measured\t{folder}\t{reason}")
    _show_files(output, response.run, response.html)
    if response.saved:
        output.line(f"kept: {response.saved}")


def _show_collections(collections: Sequence[CollectionScores], output: Output) -> None:
    header = ("collection", "language", "documents", "queries", "system", "nDCG@10", "Recall@100", "p to RRF")
    rows: list[tuple[object, ...]] = [
        (
            item.name,
            item.language,
            item.documents,
            item.queries,
            system,
            *map(_figure, values.values()),
            _luck(item, system),
        )
        for item in collections
        for system, values in item.scores.items()
    ]
    if len(collections) > 1:
        for system, values in collections[0].scores.items():
            means = [sum(item.scores[system][name] for item in collections) / len(collections) for name in values]
            rows.append(("mean", "", "", "", system, *map(_figure, means), ""))
    output.table(header, rows, right=("documents", "queries", "nDCG@10", "Recall@100", "p to RRF"))


def _figure(value: float) -> str:
    return f"{value:.3f}"


def _luck(item: CollectionScores, system: str) -> str:
    p = item.p_against_rrf.get(system)
    return "-" if p is None else f"{p:.4f}"


def _show_cases(response: EvalResponse, report: DiscoveryReport, output: Output) -> None:
    output.line(
        f"{response.corpus}: {report.n_cases:,} cases, {report.n_abstention:,} of them without an answer; "
        f"{report.mode}, {response.embedder}"
    )
    if report.n_gold:
        ks = report.retrieval.k_values
        names = dict.fromkeys(name.partition("@")[0] for name in report.retrieval.metrics)
        figures = [(name, *(f"{report.retrieval.metrics[f'{name}@{k}']:.3f}" for k in ks)) for name in names]
        output.table(("measure", *(f"@{k}" for k in ks)), figures, right=[f"@{k}" for k in ks])
    outcomes = [
        (name, count, f"{count / report.n_cases:.0%}", MEANINGS[name].format(k=report.primary_k))
        for name, count in report.failure_classes.items()
    ]
    output.table(("outcome", "cases", "share", "meaning"), outcomes, right=("cases", "share"))
    if report.abstention_accuracy is not None:
        output.line(f"refused {report.abstention_accuracy:.0%} of the cases without an answer")


def show_written(response: EvalGenResponse, output: Output) -> None:
    by = ", ".join(f"{count:,} {name}" for name, count in response.generators.items())
    output.line(
        f"{response.file}: {response.cases:,} cases for {response.corpus}, "
        f"{response.abstention_cases:,} of them without an answer ({by})"
    )
    for number, (artifact_id, reason) in enumerate(response.skipped.items()):
        if number == LISTED_SKIPS:
            output.line(f"… and {len(response.skipped) - number} more; --json lists them all")
            break
        output.row("no case for", artifact_id, reason)


def show_comparison(response: CompareResponse, output: Output) -> None:
    comparison = response.comparison
    one, two = comparison.names
    apart = f", {response.unpaired:,} are in one of them only" if response.unpaired else ""
    output.line(f"{comparison.n_queries:,} queries{apart}; the difference is {two} less {one}")
    header = ("measure", one, two, "difference", "95 % interval", "p (random.)", "p (t)", "better", "worse", "same")
    rows = [
        (
            name,
            f"{item.a:.4f}",
            f"{item.b:.4f}",
            f"{item.difference:+.4f}",
            f"{item.interval[0]:+.4f} to {item.interval[1]:+.4f}",
            f"{item.p_randomization:.4f}",
            "-" if item.p_t_test is None else f"{item.p_t_test:.4f}",
            *(item.wins, item.losses, item.ties),
        )
        for name, item in comparison.measures.items()
    ]
    output.table(header, rows, right=header[1:])
    name, first = next(iter(comparison.measures.items()))
    changed = first.biggest(LISTED_CHANGES)
    if changed:
        output.line(f"changed most, by {name}:")
        lines = [
            (c.query_id, f"{c.a:.4f}", f"{c.b:.4f}", f"{c.change:+.4f}", response.queries.get(c.query_id, ""))
            for c in changed
        ]
        output.table(("id", one, two, "change", "query"), lines, right=(one, two, "change"))
    _show_files(output, response.html)


def _show_files(output: Output, *paths: str | None) -> None:
    for path in paths:
        if path:
            output.line(f"written: {path}")
