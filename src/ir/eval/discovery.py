"""How well a corpus answers: ranking, the kind of each failure, and abstention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.eval.cases import DiscoveryCase
from ir.eval.measures import DFLT_K_VALUES, DFLT_METRICS
from ir.eval.reports import RetrievalReport, report_of
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.eval.signals import gate_for
from ir.eval.tables import number, plain_table
from ir.index.opening import as_corpus
from ir.index.progress import Listener
from ir.options import count
from ir.protocols import Corpus, CorpusOrName
from ir.select.gate import Gate
from ir.select.signals import default_signal

__all__ = ["FAILURE_CLASSES", "DiscoveryReport", "evaluate_discovery", "gold_rank"]

FAILURE_CLASSES = (
    "hit_rank_1",
    "surfaced_low_rank",
    "retrieval_miss",
    "wrongly_refused",
    "abstention_ok",
    "false_action",
    "abstention_unscored",
)


@dataclass(frozen=True)
class DiscoveryReport:
    """The outcome of :func:`evaluate_discovery`.

    ``failure_classes`` counts cases. With gold: ``hit_rank_1`` (an answer came first), ``surfaced_low_rank`` (within
    ``primary_k``), ``retrieval_miss`` (not within it), ``wrongly_refused`` (within it, but the threshold refuses the
    query). Without: ``abstention_ok``, ``false_action`` (the top hit was accepted), or ``abstention_unscored`` when no
    threshold was given. ``per_case`` names the class of each case. Ranking is measured on all cases, refused or not.
    """

    retrieval: RetrievalReport
    failure_classes: Mapping[str, int]
    n_cases: int
    n_gold: int
    n_abstention: int
    primary_k: int = 10
    abstention_accuracy: float | None = None
    mode: str = DFLT_MODE
    per_case: tuple[str, ...] = ()
    degraded: bool = False

    @property
    def primary(self) -> float | None:
        """Mean nDCG at ``primary_k``; ``None`` when no case has gold."""
        return self.retrieval.primary_at(self.primary_k)

    def to_dict(self) -> dict[str, Any]:
        return {
            "retrieval": self.retrieval.to_dict(),
            "failure_classes": dict(self.failure_classes),
            "n_cases": self.n_cases,
            "n_gold": self.n_gold,
            "n_abstention": self.n_abstention,
            "primary_k": self.primary_k,
            "primary": self.primary,
            "abstention_accuracy": self.abstention_accuracy,
            "mode": self.mode,
            "per_case": list(self.per_case),
            "degraded": self.degraded,
        }

    def table(self) -> str:
        head = f"{self.n_cases} cases ({self.n_gold} with gold, {self.n_abstention} abstention), mode {self.mode}"
        if self.degraded:
            head += ", degraded: some searches could not use a channel of this mode"
        parts = [head, self.retrieval.table()] if self.n_gold else [head]
        counted = [[name, self.failure_classes[name]] for name in FAILURE_CLASSES if name in self.failure_classes]
        parts.append(plain_table(["outcome", "cases"], counted))
        if self.abstention_accuracy is not None:
            parts.append(f"abstention accuracy  {number(self.abstention_accuracy)}")
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.table()


def gold_rank(ranking: Sequence[str], gold: Iterable[str]) -> int:
    """The rank of the best answer, from 1; 0 if none is there.

    >>> gold_rank(["a", "b"], {"b"}), gold_rank(["a"], {"b"})
    (2, 0)
    """
    wanted = set(gold)
    return next((rank for rank, artifact in enumerate(ranking, start=1) if artifact in wanted), 0)


def _outcome(item: Retrieved, primary_k: int, gate: Gate | None) -> str:
    if not item.case.gold_is_none:
        rank = gold_rank(item.ranking[:primary_k], item.case.gold)
        if rank == 0:
            return "retrieval_miss"
        if gate is not None and gate.refuses(item.hits):
            return "wrongly_refused"
        return "hit_rank_1" if rank == 1 else "surfaced_low_rank"
    if gate is None or gate.floor is None:
        return "abstention_unscored"
    return "abstention_ok" if gate.score(item.hits) is None or gate.refuses(item.hits) else "false_action"


def _gate(corpus: Corpus, threshold: float | str | None, mode: str, search_kw: Mapping[str, Any]) -> Gate | None:
    if threshold is None:
        return None
    if isinstance(threshold, str):
        return gate_for(corpus, mode, threshold, search_kw)
    return Gate(float(threshold), default_signal(mode))


def evaluate_discovery(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    k_values: Sequence[int] = DFLT_K_VALUES,
    primary_k: int = 10,
    metrics: Sequence[str] = DFLT_METRICS,
    mode: str = DFLT_MODE,
    surfaces: Iterable[str] | None = None,
    abstain_threshold: float | str | None = None,
    progress: Listener | None = None,
    **search_kw: Any,
) -> DiscoveryReport:
    """Search once for each case; measure the ranking, name each outcome, score abstention.

    ``abstain_threshold`` is ``"auto"``, the floor that is kept with the corpus, read on its own signal; or a number,
    compared with the best raw score of the mode's channel (the cosine in dense and hybrid mode, BM25 in lexical mode).
    """
    primary_k = count("primary_k", primary_k)
    opened = as_corpus(corpus)
    gate = _gate(opened, abstain_threshold, mode, search_kw)
    cutoffs = sorted({*k_values, primary_k})
    retrieved = retrieve_cases(
        opened, cases, mode=mode, k=cutoffs[-1], surfaces=surfaces, progress=progress, **search_kw
    )
    per_case = tuple(_outcome(item, primary_k, gate) for item in retrieved)
    counts = Counter(per_case)
    n_abstention = sum(case.gold_is_none for case in cases)
    scored = gate is not None and n_abstention > 0
    return DiscoveryReport(
        retrieval=report_of(retrieved, cutoffs, metrics, mode, {"surfaces": surfaces, **search_kw}),
        failure_classes=dict(counts),
        n_cases=len(cases),
        n_gold=len(cases) - n_abstention,
        n_abstention=n_abstention,
        primary_k=primary_k,
        abstention_accuracy=counts["abstention_ok"] / n_abstention if scored else None,
        mode=mode,
        per_case=per_case,
        degraded=any(item.hits.meta.get("degraded") for item in retrieved),
    )
