"""Is one run better than another, or is it luck? Paired tests and a per-query diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ir.errors import InvalidInput, MissingExtra
from ir.eval.measures import per_query_values
from ir.eval.runs import Qrels, Run, rankings
from ir.eval.tables import plain_table

__all__ = [
    "MeasureComparison",
    "QueryChange",
    "RunComparison",
    "bootstrap_interval",
    "compare_runs",
    "paired_comparison",
    "randomization_test",
]

DFLT_COMPARED = ("ndcg@10", "recall@10", "mrr@10")
_EXACT_UP_TO = 14
_BLOCK = 1000


@dataclass(frozen=True)
class QueryChange:
    """One query's value in both runs."""

    query_id: str
    a: float
    b: float

    @property
    def change(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class MeasureComparison:
    """One measure of both runs, over the same queries.

    ``difference`` is the mean of b less that of a, ``interval`` its 95 % bootstrap interval, ``effect`` the
    difference in standard deviations of the per-query differences (Cohen's d for pairs). The p-values are two-sided:
    ``p_randomization`` by flipping the signs of the differences, ``p_t_test`` by the paired t-test, ``None`` where
    there are fewer than two queries. Neither is corrected for the number of measures looked at.
    """

    measure: str
    a: float
    b: float
    difference: float
    interval: tuple[float, float]
    effect: float | None
    p_randomization: float
    p_t_test: float | None
    wins: int
    losses: int
    ties: int
    changes: tuple[QueryChange, ...]

    def biggest(self, n: int = 5) -> list[QueryChange]:
        """The queries that changed most, whichever way."""
        moved = [change for change in self.changes if change.change]
        return sorted(moved, key=lambda change: -abs(change.change))[:n]

    def to_dict(self) -> dict[str, Any]:
        changes = [{**asdict(change), "change": change.change} for change in self.changes]
        return {**asdict(self), "interval": list(self.interval), "changes": changes}


@dataclass(frozen=True)
class RunComparison:
    """Two runs on the same judged queries."""

    names: tuple[str, str]
    n_queries: int
    measures: Mapping[str, MeasureComparison]

    def to_dict(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "n_queries": self.n_queries,
            "measures": {name: measure.to_dict() for name, measure in self.measures.items()},
        }

    def table(self) -> str:
        header = ["measure", *self.names, "difference", "95 % interval", "p (randomization)", "p (t-test)", "+/−/="]
        rows = [
            [
                name,
                item.a,
                item.b,
                f"{item.difference:+.4f}",
                f"{item.interval[0]:+.4f} … {item.interval[1]:+.4f}",
                item.p_randomization,
                item.p_t_test,
                f"{item.wins}/{item.losses}/{item.ties}",
            ]
            for name, item in self.measures.items()
        ]
        return f"{self.n_queries} queries\n{plain_table(header, rows)}"

    def changes_table(self, measure: str | None = None, n: int = 10) -> str:
        """The queries that changed most."""
        name = measure if measure is not None else next(iter(self.measures))
        if name not in self.measures:
            raise InvalidInput(f"{name!r} was not compared; these were: {', '.join(map(repr, self.measures))}.")
        rows = [[c.query_id, c.a, c.b, f"{c.change:+.4f}"] for c in self.measures[name].biggest(n)]
        return plain_table([f"query, by {name}", *self.names, "change"], rows)

    def __str__(self) -> str:
        return self.table()


def compare_runs(
    a: Run,
    b: Run,
    qrels: Qrels,
    measures: Sequence[str] = DFLT_COMPARED,
    *,
    names: tuple[str, str] = ("a", "b"),
    rounds: int = 10_000,
    seed: int = 0,
) -> RunComparison:
    """Compare two runs on every judged query; a query that a run does not answer scores 0 there.

    >>> qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
    >>> before, after = {"q1": {"x": 1.0}}, {"q1": {"x": 1.0}, "q2": {"y": 1.0}}
    >>> report = compare_runs(before, after, qrels, ["recall@1"])
    >>> report.measures["recall@1"].difference, report.measures["recall@1"].wins
    (0.5, 1)
    """
    judged = {qid: grades for qid, grades in qrels.items() if any(grade > 0 for grade in grades.values())}
    if not judged:
        raise InvalidInput("No query has a relevant document in the judgements, so runs cannot be compared.")
    if not measures:
        raise InvalidInput("Name at least one measure to compare by, as in 'ndcg@10'.")
    if not (set(a) | set(b)) & set(judged):
        raise InvalidInput(
            "Neither run has a query that was judged.", remedy="Check that runs and judgements use the same query ids."
        )
    one = per_query_values(rankings(a), judged, list(measures))
    two = per_query_values(rankings(b), judged, list(measures))
    compared = {
        name: paired_comparison(
            name,
            [QueryChange(qid, one[qid][name], two[qid][name]) for qid in judged],
            rounds=rounds,
            seed=seed,
        )
        for name in measures
    }
    return RunComparison(names, len(judged), compared)


def paired_comparison(
    measure: str, changes: Sequence[QueryChange], *, rounds: int = 10_000, seed: int = 0
) -> MeasureComparison:
    """The statistics of pairs of values."""
    a = np.asarray([change.a for change in changes], dtype=float)
    b = np.asarray([change.b for change in changes], dtype=float)
    differences = b - a
    moved = np.where(np.abs(differences) > 1e-12, differences, 0.0)
    spread = float(moved.std(ddof=1)) if len(moved) > 1 else 0.0
    return MeasureComparison(
        measure=measure,
        a=float(a.mean()),
        b=float(b.mean()),
        difference=float(moved.mean()),
        interval=bootstrap_interval(moved, rounds, seed),
        effect=float(moved.mean()) / spread if spread else None,
        p_randomization=randomization_test(moved, rounds=rounds, seed=seed),
        p_t_test=_t_test(moved),
        wins=int((moved > 0).sum()),
        losses=int((moved < 0).sum()),
        ties=int((moved == 0).sum()),
        changes=tuple(changes),
    )


def randomization_test(differences: np.ndarray[Any, Any], *, rounds: int = 10_000, seed: int = 0) -> float:
    """How often random signs give a mean at least as far from 0; all sign patterns where they are few."""
    moved = differences[np.abs(differences) > 1e-12]
    if not len(moved):
        return 1.0
    seen = abs(float(moved.sum())) - 1e-12
    if len(moved) <= _EXACT_UP_TO:
        patterns = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((1 - 2 * patterns) @ moved) >= seen).mean())
    rng = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, rounds, _BLOCK):
        signs = 1 - 2 * rng.integers(0, 2, (min(_BLOCK, rounds - start), len(moved)))
        extreme += int((np.abs(signs @ moved) >= seen).sum())
    # The observed signs are one of the patterns: counting them keeps p above 0.
    return (extreme + 1) / (rounds + 1)


def _t_test(differences: np.ndarray[Any, Any]) -> float | None:
    if len(differences) < 2:
        return None
    if np.ptp(differences) < 1e-9:  # all equal but for rounding, so there is no variance to test with
        return 1.0 if abs(differences.mean()) < 1e-9 else 0.0
    try:
        from scipy.stats import ttest_1samp
    except ImportError:
        raise MissingExtra("scipy", "eval", "The paired t-test") from None
    return float(ttest_1samp(differences, 0.0).pvalue)


def bootstrap_interval(differences: np.ndarray[Any, Any], rounds: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """The interval in which the mean lies with a probability of 95 %, by drawing from the values again and again."""
    rng = np.random.default_rng(seed)
    means = []
    for start in range(0, rounds, _BLOCK):
        rows = rng.integers(0, len(differences), (min(_BLOCK, rounds - start), len(differences)))
        means.append(differences[rows].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)
