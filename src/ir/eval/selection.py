"""How well a selector commits, apart from how well retrieval found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ir.eval.cases import DiscoveryCase
from ir.eval.measures import mean
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.eval.signals import gate_for
from ir.eval.tables import number
from ir.index.opening import as_corpus
from ir.index.progress import Listener
from ir.protocols import CorpusOrName
from ir.select.gate import Gate
from ir.select.selectors import DFLT_GAP_RATIO, DFLT_MAX_K, DFLT_REL_THRESHOLD

__all__ = ["SELECTION_METRICS", "SelectionReport", "evaluate_selection", "score_selection"]

#: The measures that a sweep can optimise.
SELECTION_METRICS = (
    "selection_f1",
    "selection_precision",
    "selection_recall",
    "conditional_commit_rate",
    "abstention_accuracy",
    "mean_selected_size",
)


@dataclass(frozen=True)
class SelectionReport:
    """The outcome of :func:`evaluate_selection`.

    All but ``abstention_accuracy`` are means over the ``n_gold_retrieved`` cases of which some gold was among the k
    candidates, so that a miss of retrieval is not blamed on the selector:

    - ``selection_precision``: the share of gold in what was kept, over the cases where something was kept;
    - ``selection_recall``: the share of the retrieved gold that was kept;
    - ``selection_f1``: of the two, per case; keeping nothing scores 0;
    - ``conditional_commit_rate``: the share of cases where some gold was kept;
    - ``mean_selected_size``: how many were kept.

    ``abstention_accuracy`` is the share of abstention cases where nothing was kept. ``None``: no case to measure on.
    """

    selection_precision: float | None
    selection_recall: float | None
    selection_f1: float | None
    conditional_commit_rate: float | None
    n_gold_retrieved: int
    abstention_accuracy: float | None
    mean_selected_size: float | None
    n_cases: int
    n_gold: int
    n_abstention: int
    strategy: str = "conservative"
    mode: str = DFLT_MODE
    k: int = 10

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        lines = [
            f"{self.n_cases} cases ({self.n_gold} with gold, {self.n_gold_retrieved} of them retrieved; "
            f"{self.n_abstention} abstention), strategy {self.strategy}, mode {self.mode}, k {self.k}"
        ]
        lines += [f"{name.replace('_', ' '):<24}{number(getattr(self, name)):>8}" for name in SELECTION_METRICS]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True)
class _Commit:
    """What a selector kept of one case whose gold was among the candidates."""

    kept: int
    kept_gold: int
    retrieved_gold: int

    @property
    def precision(self) -> float | None:
        return self.kept_gold / self.kept if self.kept else None

    @property
    def recall(self) -> float:
        return self.kept_gold / self.retrieved_gold

    @property
    def f1(self) -> float:
        return 2 * self.kept_gold / (self.kept + self.retrieved_gold)


def score_selection(
    retrieved: Sequence[Retrieved],
    *,
    strategy: str | Callable[..., Any],
    mode: str,
    k: int,
    gate: Gate | None = None,
    **select_kw: Any,
) -> SelectionReport:
    """The report of one selector on searches already made; a ``gate`` refuses queries before it selects."""
    from ir.select.selection import select

    commits: list[_Commit] = []
    refused = 0
    for item in retrieved:
        kept: set[str] = set()
        if gate is None or not gate.refuses(item.hits):
            kept = set(select(item.hits, strategy=strategy, **select_kw).selected_ids)
        shown = set(item.case.gold) & set(item.ranking)
        if item.case.gold_is_none:
            refused += not kept
        elif shown:
            commits.append(_Commit(len(kept), len(kept & shown), len(shown)))
    n_abstention = sum(item.case.gold_is_none for item in retrieved)
    return SelectionReport(
        selection_precision=mean(c.precision for c in commits if c.precision is not None),
        selection_recall=mean(c.recall for c in commits),
        selection_f1=mean(c.f1 for c in commits),
        conditional_commit_rate=mean(float(c.kept_gold > 0) for c in commits),
        n_gold_retrieved=len(commits),
        abstention_accuracy=refused / n_abstention if n_abstention else None,
        mean_selected_size=mean(float(c.kept) for c in commits),
        n_cases=len(retrieved),
        n_gold=len(retrieved) - n_abstention,
        n_abstention=n_abstention,
        strategy=strategy if isinstance(strategy, str) else getattr(strategy, "__name__", "custom"),
        mode=mode,
        k=k,
    )


def evaluate_selection(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    strategy: str | Callable[..., Any] = "conservative",
    mode: str = DFLT_MODE,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    max_k: int = DFLT_MAX_K,
    rel: float = DFLT_REL_THRESHOLD,
    gap_ratio: float = DFLT_GAP_RATIO,
    min_score: float | str | None = None,
    progress: Listener | None = None,
    **search_kw: Any,
) -> SelectionReport:
    """Retrieve k candidates for each case, let the selector commit, and score what it kept.

    ``min_score`` is a number on the scale that :func:`ir.select` reads, or ``"auto"``: the floor that was calibrated
    for this way of searching and is kept with the corpus.
    """
    opened = as_corpus(corpus)
    gate = gate_for(opened, mode, min_score, search_kw) if isinstance(min_score, str) else None
    retrieved = retrieve_cases(opened, cases, mode=mode, k=k, surfaces=surfaces, progress=progress, **search_kw)
    setting: dict[str, Any] = {"max_k": max_k, "rel": rel, "gap_ratio": gap_ratio}
    setting["min_score"] = None if gate else min_score
    return score_selection(retrieved, strategy=strategy, mode=mode, k=k, gate=gate, **setting)
