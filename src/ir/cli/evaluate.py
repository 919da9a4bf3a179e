"""``ir eval``, ``ir eval-gen`` and ``ir compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import EVALUATING, Command, CorpusOrPath, Embedder, Json, complete_corpus_or_path
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.casewriting import EvalGenResponse
    from ir.app.comparing import CompareResponse
    from ir.app.evaluating import CollectionScores, EvalResponse
    from ir.cli.output import Output
    from ir.eval import DiscoveryReport

__all__ = ["Html", "Mode", "register"]

#: The word that stands for a corpus where test collections follow.
BEIR = "beir"
LISTED_CHANGES = 10
LISTED_SKIPS = 5
MEANINGS = {
    "hit_rank_1": "an answer came first",
    "surfaced_low_rank": "an answer is among the first {k}",
    "retrieval_miss": "no answer is among the first {k}",
    "abstention_ok": "refused, as nothing answers it",
    "false_action": "let in, though nothing answers it",
    "abstention_unscored": "nothing answers it; give --min-score to see whether it is refused",
}

Mode = Annotated[str | None, typer.Option("--mode", "-m", metavar="MODE", help="hybrid, dense or lexical (hybrid).")]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Also write a page with tables and plots.")]


def register(app: typer.Typer) -> None:
    app.command("eval", cls=Command, rich_help_panel=EVALUATING)(evaluate)
    app.command("eval-gen", cls=Command, rich_help_panel=EVALUATING)(eval_gen)
    app.command("compare", cls=Command, rich_help_panel=EVALUATING)(compare)


def evaluate(
    words: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS CASES | beir FOLDER...", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    mode: Mode = None,
    fusion: Annotated[
        str | None, typer.Option("--fusion", metavar="METHOD", help="blend, rrf, minmax or dbsf (blend).")
    ] = None,
    k: Annotated[
        int, typer.Option("--k", "-k", metavar="N", min=1, help="An answer counts as surfaced among the first N.")
    ] = 10,
    min_score: Annotated[
        str | None,
        typer.Option("--min-score", metavar="FLOOR", help="A number or auto: the floor for cases without an answer."),
    ] = None,
    embedder: Embedder = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="FILE", help="Also write the rankings as a TREC run; with beir a folder."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="With beir: search also as tuned, each half of the queries by the other.")
    ] = False,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Measure how well a corpus answers cases, or the library on test collections.

    CASES is a file of JSON lines like {"query": "…", "gold": ["ID"]}, where [] says that nothing answers, or a
    folder in BEIR's layout. With the word beir in place of a corpus, every collection at or below a FOLDER is built by
    itself and measured with BM25, dense, RRF and the default; p says how likely the difference to RRF is by luck
    alone. Exit code 3 means that some could not be read.
    """
    from ir.app.evaluating import EvalRequest
    from ir.app.evaluating import evaluate as operation
    from ir.cli.session import perform

    corpus, *rest = words
    if corpus == BEIR and rest:
        request = EvalRequest(collections=tuple(rest), embedder=embedder, run=run, html=html, tune=tune)
        if mode or fusion or min_score:
            raise InvalidInput("--mode, --fusion and --min-score belong to a corpus; collections get every mode.")
    elif len(rest) == 1:
        floor = read_floor(min_score)
        request = EvalRequest(corpus, rest[0], (), mode, fusion, k, floor, embedder, run, html, tune)
    else:
        raise InvalidInput("Say: ir eval CORPUS CASES, or: ir eval beir FOLDER...")
    response = perform(operation, request, show_eval, as_json=as_json)
    return 3 if response.broken else 0


def eval_gen(
    target: CorpusOrPath,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write the cases.")],
    per_artifact: Annotated[
        int, typer.Option("--per-artifact", "-k", metavar="N", min=1, help="Queries for each artifact.")
    ] = 5,
    abstention: Annotated[
        float, typer.Option("--abstention", metavar="SHARE", help="The share of cases that nothing should answer.")
    ] = 0.15,
    max_artifacts: Annotated[
        int | None, typer.Option("--max-artifacts", metavar="N", min=1, help="Only the first N artifacts.")
    ] = None,
    theme: Annotated[
        str | None, typer.Option("--theme", metavar="TEXT", help="What the corpus is about, in a few words.")
    ] = None,
    llm: Annotated[
        bool,
        typer.Option("--llm/--no-llm", help="Ask the configured language model, or take sentences of the texts."),
    ] = True,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> int:
    """Write cases for a corpus, by a language model or from its texts.

    Queries never name the artifact they ask for. Sentences of the texts are easier to find than a person's words are:
    read figures on them with that in mind.
    """
    from ir.app.casewriting import EvalGenRequest, write_cases
    from ir.cli.session import perform

    request = EvalGenRequest(target, file, per_artifact, abstention, max_artifacts, theme, llm, force)
    perform(write_cases, request, show_written, as_json=as_json)
    return 0


def compare(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help="A TREC run.")],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help="Another, on the same queries.")],
    qrels: Annotated[
        str | None,
        typer.Option("--qrels", "-q", metavar="FILE", help="Judgements (TREC or BEIR), cases, or a BEIR folder."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Such as ndcg@10, recall@100, mrr@10. Repeatable."),
    ] = None,
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Compare two runs query by query, with paired tests.

    ir eval --run FILE writes runs.
    """
    from ir.app.comparing import CompareRequest
    from ir.app.comparing import compare as operation
    from ir.cli.session import perform

    if qrels is None:
        raise InvalidInput("compare needs judgements.", remedy="Give them with --qrels FILE.")
    request = CompareRequest(run_a, run_b, qrels, tuple(measure or ()), html)
    perform(operation, request, show_comparison, as_json=as_json)
    return 0


def read_floor(word: str | None) -> float | str | None:
    from ir.cli.discover import read_floors

    floor = read_floors([word] if word else [])
    if isinstance(floor, dict):
        raise InvalidInput(f"--min-score {word!r} must be a number or auto here.")
    return None if floor == "none" else floor


def show_eval(response: EvalResponse, output: Output) -> None:
    if response.report is not None:
        _show_cases(response, response.report, output)
    else:
        output.line(f"embedder\t{response.embedder}")
        _show_collections(response.collections, output)
        for folder, reason in response.broken.items():
            output.line(f"not measured\t{folder}\t{reason}")
    _show_files(output, response.run, response.html)


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
    output.line(f"{comparison.n_queries:,} queries; the difference is {two} less {one}")
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
