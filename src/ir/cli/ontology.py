"""``ir ontology-query`` and ``ir calibrate-saturation``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import EVALUATING, SEARCHING, Command, Filter, Json, Refresh, Where, complete_corpus_or_path
from ir.cli.fields import derived
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.ontology import OntologyQueryResponse, SaturationResponse
    from ir.cli.output import Output
    from ir.query import ExpandedContext, QueryResult

__all__ = ["register"]

#: So many lines of a chunk are shown.
_LINES = 4


def register(app: typer.Typer) -> None:
    made = derived(query, "ir.app.ontology:OntologyQueryRequest", without=("semantic_query", "target", "filter"))
    app.command("ontology-query", cls=Command, rich_help_panel=SEARCHING)(made)
    made = derived(calibrate, "ir.app.ontology:SaturationRequest", arguments=("corpus", "cases"))
    app.command("calibrate-saturation", cls=Command, rich_help_panel=EVALUATING)(made)


def query(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="[CORPUS|PATH] QUERY", autocompletion=complete_corpus_or_path, hidden=True),
    ],
    *,
    filter: Filter = None,
    where: Where = None,
    refresh: Refresh = None,
    as_json: Json = False,
    **given: Any,
) -> int:
    """Ask a code base or typed records: ranked chunks, with what they are linked to.

    Meaning and words are looked up side by side and fused; --json shows in _meta what ran, and in _meta.degraded what
    had to be done without. --follow-links adds what the results call, inherit, test and so on, one step away.
    """
    from ir.app.ontology import OntologyQueryRequest, ontology_query
    from ir.app.policy import Policy
    from ir.cli.conditions import read_filter
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, words = target_and_query(asked, "ontology-query")
    conditions = read_filter(filter, where or ())
    request = OntologyQueryRequest(semantic_query=words, target=target, filter=conditions, **given)
    response = perform(ontology_query, request, show, as_json=as_json, policy=Policy(refresh))
    return 0 if response.answer.results else 1


def show(response: OntologyQueryResponse, output: Output) -> None:
    meta = response.answer.meta
    for result in response.answer.results:
        _show_result(result, output)
    for context in meta.expanded_context:
        output.line(_linked(context))
    told = [f"without {sink}" for sink in meta.degraded]
    told += ["a question about links: try --follow-links"] if meta.could_benefit_from_link_expansion else []
    told += [] if response.answer.results else [f"nothing in {response.corpus!r} matches"]
    for note in dict.fromkeys((*response.notes, *meta.notes, *told)):
        print(visible(f"ir: {note}"), file=sys.stderr)


def _show_result(result: QueryResult, output: Output) -> None:
    lines = "" if result.line_start is None else f":{result.line_start}-{result.line_end}"
    about = [part for part in (result.object_type, result.symbol_key) if part]
    output.line(f"{result.path}{lines}  {result.score:.4f}  {'  '.join(about)}".rstrip())
    for line in result.text.splitlines()[:_LINES]:
        output.line(f"    {line}")


def _linked(context: ExpandedContext) -> str:
    arrow = "->" if context.direction == "out" else "<-"
    place = "" if context.path is None else f"  {context.path}" + ("" if context.line is None else f":{context.line}")
    return f"{arrow} {context.link_name} {context.object_type} {context.name}{place}"


def calibrate(*, as_json: Json = False, **given: Any) -> int:
    """Measure from which keyword score on a short query needs no reranker, and keep it with the corpus.

    CASES are judged queries, names above all: of those with fewer than five words, the ones above the threshold must
    have a right first result before any reranking. Exit code 1 means that no score is safe, so nothing is kept.
    """
    from ir.app.ontology import SaturationRequest, calibrate_saturation
    from ir.cli.session import perform

    response = perform(calibrate_saturation, SaturationRequest(**given), show_saturation, as_json=as_json)
    made = response.saturation
    return 0 if response.forgotten or (made is not None and made.threshold is not None) else 1


def show_saturation(response: SaturationResponse, output: Output) -> None:
    made = response.saturation
    if made is None:
        told = "the threshold is forgotten" if response.forgotten else "there was no threshold"
        output.line(f"{response.corpus}: {told}")
        return
    shown: dict[str, Any] = {
        "corpus": response.corpus,
        "engine": response.backend,
        "threshold": "none is safe" if made.threshold is None else f"{made.threshold:.4f}",
        "short queries": f"{made.cases:,}",
        "above it": f"{made.above:,}, of which {made.right:,} are right",
        "kept": "yes" if response.saved else "no",
    }
    output.pairs(shown)
