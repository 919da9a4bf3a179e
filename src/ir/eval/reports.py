"""How well a corpus ranks: the retrieval measures of a set of cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir.base import json_clean
from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase, case_id, to_qrels
from ir.eval.measures import DFLT_K_VALUES, DFLT_METRICS, mean, measure_names, per_query_values
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.eval.tables import plain_table
from ir.protocols import CorpusOrName

__all__ = ["RetrievalReport", "report_of", "retrieval_report"]


@dataclass(frozen=True)
class RetrievalReport:
    """Means over the judged queries, and the value of each query.

    ``metrics`` is keyed ``"ndcg@10"``; ``per_query`` by query id (``q00000`` is the first case), then the same way.
    """

    metrics: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    n_queries: int
    k_values: tuple[int, ...]
    mode: str = DFLT_MODE
    settings: Mapping[str, Any] = field(default_factory=dict)

    def primary_at(self, k: int) -> float | None:
        """Mean nDCG at ``k``; ``None`` if it was not computed."""
        return self.metrics.get(f"ndcg@{k}")

    @property
    def primary(self) -> float | None:
        """Mean nDCG@10."""
        return self.primary_at(10)

    def to_dict(self) -> dict[str, Any]:
        return {
            "metrics": dict(self.metrics),
            "per_query": {qid: dict(values) for qid, values in self.per_query.items()},
            "n_queries": self.n_queries,
            "k_values": list(self.k_values),
            "mode": self.mode,
            "settings": json_clean(self.settings),
        }

    def table(self) -> str:
        """One line for each measure, one column for each k."""
        names = list(dict.fromkeys(name.partition("@")[0] for name in self.metrics))
        header = [f"{self.n_queries} queries, {self.mode}", *(f"@{k}" for k in self.k_values)]
        return plain_table(
            header, [[name, *(self.metrics.get(f"{name}@{k}") for k in self.k_values)] for name in names]
        )

    def __str__(self) -> str:
        return self.table()


def report_of(
    retrieved: Sequence[Retrieved],
    k_values: Iterable[int],
    metrics: Iterable[str],
    mode: str,
    settings: Mapping[str, Any],
) -> RetrievalReport:
    """The report on searches already made; with no judged query its ``metrics`` are empty."""
    cutoffs = tuple(sorted(set(k_values)))
    names = measure_names(metrics, cutoffs)
    rankings = {case_id(at): item.ranking for at, item in enumerate(retrieved)}
    _, qrels = to_qrels([item.case for item in retrieved])
    per_query = per_query_values(rankings, qrels, names)
    means = {name: mean(values[name] for values in per_query.values()) for name in names}
    return RetrievalReport(
        metrics={name: value for name, value in means.items() if value is not None},
        per_query=per_query,
        n_queries=len(per_query),
        k_values=cutoffs,
        mode=mode,
        settings=settings,
    )


def retrieval_report(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    k_values: Sequence[int] = DFLT_K_VALUES,
    metrics: Sequence[str] = DFLT_METRICS,
    mode: str = DFLT_MODE,
    surfaces: Iterable[str] | None = None,
    limit: int | None = None,
    **search_kw: Any,
) -> RetrievalReport:
    """Standard measures of ``corpus`` on the cases that have gold; abstention cases are left out.

    ``limit`` is how deep to rank (default: the largest k). Without any gold there is nothing to measure: an error.
    """
    judged = [case for case in cases if not case.gold_is_none]
    if not judged:
        raise InvalidInput(
            "No case has gold, so retrieval cannot be measured.",
            remedy="Add cases with gold, or use evaluate_discovery, which also scores abstention.",
        )
    measure_names(metrics, k_values)
    depth = max([*k_values, limit or 1])
    # Positions in the caller's list are the query ids, so abstention cases keep their place but are not searched.
    found = iter(retrieve_cases(corpus, judged, mode=mode, k=depth, surfaces=surfaces, **search_kw))
    from ir.base import Hits

    retrieved = [Retrieved(case, Hits()) if case.gold_is_none else next(found) for case in cases]
    return report_of(retrieved, k_values, metrics, mode, {"surfaces": surfaces, **search_kw})
