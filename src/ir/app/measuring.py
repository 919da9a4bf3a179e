"""How well the library ranks test collections: each built by itself, searched in every way, and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.operation import Value
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import BeirDataset

__all__ = ["MEASURES", "SYSTEMS", "CollectionScores", "Run", "measure_collections"]

#: The ways to search that a collection is measured with.
SYSTEMS: Mapping[str, Mapping[str, str]] = {
    "BM25": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "RRF": {"mode": "hybrid", "fusion": "rrf"},
    "default": {"mode": "hybrid"},
}
MEASURES = ("ndcg@10", "recall@100")
_DEPTH = 100

Run = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class CollectionScores(Value):
    """One collection: for each way to search its measures, and for each but RRF how likely its difference to RRF (in
    nDCG@10, by a paired randomization test) is by luck alone. ``records`` are more than the documents where some are
    longer than the embedder reads; ``language`` is the one that words were indexed by."""

    name: str
    documents: int
    queries: int
    scores: Mapping[str, Mapping[str, float]]
    p_against_rrf: Mapping[str, float] = field(default_factory=dict)
    records: int = 0
    language: str = "english"


def measure_collections(
    folders: Sequence[Path],
    embedder: str,
    ctx: Context,
    *,
    tuned: bool,
    keep: Callable[[BeirDataset, CollectionScores, Mapping[str, Run]], None],
) -> tuple[list[CollectionScores], dict[str, str]]:
    """The scores of each folder, and of those that are broken what is wrong with them; ``keep`` is told of each.

    A broken one does not stop the others; if there are no others, it is an error.
    """
    from ir.eval import load_beir

    scores: list[CollectionScores] = []
    broken: dict[str, InvalidInput] = {}
    for folder in folders:
        try:
            data = load_beir(folder)
            data.answered()
        except InvalidInput as error:
            broken[str(folder)] = error
            continue
        for warning in data.warnings():
            ctx.note(f"{data.name}: {warning}")
        runs, built = _runs(data, embedder, ctx, tuned=tuned)
        scores.append(_scores(data, runs, built))
        keep(data, scores[-1], runs)
    if not scores:
        raise next(iter(broken.values()))
    return scores, {folder: str(error) for folder, error in broken.items()}


def _runs(data: BeirDataset, embedder: str, ctx: Context, *, tuned: bool) -> tuple[dict[str, Run], dict[str, Any]]:
    """The collection built by itself, out of the way of the user's corpora, and searched in every way; and how it was
    built."""
    import tempfile

    from ir.eval import make_run
    from ir.index import Progress, build
    from ir.store import LocalStore

    queries, qrels = data.answered()
    with tempfile.TemporaryDirectory(prefix="ir-eval-") as folder, LocalStore(Path(folder) / "corpus") as store:
        language = str(ctx.settings["language"])
        corpus = build(data.source(), store=store, embedder=embedder, progress=ctx.progress, language=language)
        runs: dict[str, Run] = {}
        for done, (name, how) in enumerate(SYSTEMS.items()):
            ctx.progress(Progress("search", done, len(SYSTEMS)))
            runs[name] = make_run(corpus, queries, k=_DEPTH, **how)
        if tuned:
            from ir.tune import tuned_run

            runs["tuned"], _ = tuned_run(corpus, queries, qrels, k=_DEPTH)
        return runs, {"records": len(store), "language": str(store.get_config()["language"])}


def _scores(data: BeirDataset, runs: Mapping[str, Run], built: Mapping[str, Any]) -> CollectionScores:
    from ir.eval import compare_runs, per_query_values, ranking_of

    _, qrels = data.answered()
    scores: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        rankings = {qid: ranking_of(found) for qid, found in run.items()}
        values = per_query_values(rankings, qrels, list(MEASURES))
        scores[name] = {measure: sum(v[measure] for v in values.values()) / len(values) for measure in MEASURES}
    luck = {
        name: compare_runs(runs["RRF"], run, qrels, MEASURES[:1]).measures[MEASURES[0]].p_randomization
        for name, run in runs.items()
        if name != "RRF"
    }
    return CollectionScores(data.name, len(data.corpus), len(qrels), scores, luck, **built)
