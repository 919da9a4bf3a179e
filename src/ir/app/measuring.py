"""How well the library ranks test collections: each built by itself, searched in every way, and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.operation import Value
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import BeirDataset
    from ir.index.progress import Estimate, Listener, Progress

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
    course = _Course(ctx.progress, folders)
    for folder in folders:
        course.begin(folder)
        try:
            data = load_beir(folder)
            data.answered()
        except InvalidInput as error:
            broken[str(folder)] = error
            continue
        for warning in data.warnings():
            ctx.note(f"{data.name}: {warning}")
        runs, built = _runs(data, embedder, ctx, course, tuned=tuned)
        scores.append(_scores(data, runs, built))
        keep(data, scores[-1], runs)
    if not scores:
        raise next(iter(broken.values()))
    return scores, {folder: str(error) for folder, error in broken.items()}


class _Course:
    """Tells of the steps of each collection, with the time that is left of all of them."""

    def __init__(self, listener: Listener, folders: Sequence[Path]) -> None:
        self._listener = listener
        self._sizes = {folder: _size(folder) for folder in folders}
        self._reached: list[Path] = []
        self._began = time.monotonic()
        self._told = False

    def begin(self, folder: Path) -> None:
        self._reached.append(folder)

    def __call__(self, step: Progress) -> None:
        here = self._reached[-1]
        part = here.name if len(self._sizes) == 1 else f"{here.name}, {len(self._reached)} of {len(self._sizes)}"
        reached = sum(self._sizes[folder] for folder in self._reached)
        rest = (sum(self._sizes.values()) - reached) / max(1, reached)
        left = step.left_s
        if left is not None:
            left += (time.monotonic() - self._began + left) * rest
        estimate = None if self._told else step.estimate
        if estimate is not None:
            self._told = True
            rest = (sum(self._sizes.values()) - reached) / max(1, self._sizes[here])
            estimate = _scaled(estimate, 1 + rest)
        self._listener(step.but(part=part, left_s=left, estimate=estimate))


def _size(folder: Path) -> int:
    file = folder / "corpus.jsonl"
    return file.stat().st_size if file.is_file() else 0


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    faster_s = None if estimate.faster_s is None else estimate.faster_s * factor
    return replace(estimate, texts=round(estimate.texts * factor), seconds=estimate.seconds * factor, faster_s=faster_s)


def _runs(
    data: BeirDataset, embedder: str, ctx: Context, listener: Listener, *, tuned: bool
) -> tuple[dict[str, Run], dict[str, Any]]:
    """The collection built by itself, out of the way of the user's corpora, and searched in every way; and how it was
    built."""
    import tempfile

    from ir.eval import make_run
    from ir.index import build
    from ir.index.progress import Ticker
    from ir.store import LocalStore

    queries, qrels = data.answered()
    with tempfile.TemporaryDirectory(prefix="ir-eval-") as folder, LocalStore(Path(folder) / "corpus") as store:
        language = str(ctx.settings["language"])
        corpus = build(data.source(), store=store, embedder=embedder, progress=listener, language=language)
        runs: dict[str, Run] = {}
        ticker = Ticker(listener, "search", len(SYSTEMS) * len(queries), unit="queries")
        for name, how in SYSTEMS.items():
            options: dict[str, Any] = dict(how)
            runs[name] = make_run(corpus, queries, k=_DEPTH, progress=ticker.follow(), **options)
        ticker.end()
        if tuned:
            from ir.tune import tuned_run

            ticker = Ticker(listener, "tune", unit="ways")
            runs["tuned"], _ = tuned_run(corpus, queries, qrels, k=_DEPTH, progress=ticker.reach)
            ticker.end()
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
