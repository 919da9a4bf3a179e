"""Is a configuration good enough to ship? What was measured of each, held against what it must reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ir.eval.compare import MeasureComparison, QueryChange, paired_comparison
from ir.eval.gate_plan import SHAPES, Configuration, GatePlan, Question
from ir.eval.measures import mean, per_query_values

__all__ = [
    "EXIT_CODES",
    "Answered",
    "ConfigurationScores",
    "Criterion",
    "GateReport",
    "ShapeScores",
    "Verdict",
    "judge",
]

Verdict = Literal["ship", "fallback", "block"]
#: What a command ends with.
EXIT_CODES: dict[Verdict, int] = {"ship": 0, "fallback": 4, "block": 5}
_CONCEPTS = "concept nDCG"
_KAPPA = "κ of the judges"
#: The measure by which each shape is compared.
_MAIN = {"concept": "ndcg", "relationship": "recall", "identifier": "ndcg"}


@dataclass(frozen=True)
class Answered:
    """What became of one question: the documents, best first, how long it took and what it cost."""

    question: Question
    ranking: tuple[str, ...]
    ms: float
    usd: float = 0.0
    degraded: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class ShapeScores:
    """The questions of one shape: means of nDCG and recall, times, cost, and how many were answered in part or not."""

    shape: str
    questions: int
    ndcg: float
    recall: float
    p50_ms: float
    p95_ms: float
    usd: float
    degraded: int
    failed: int


@dataclass(frozen=True)
class ConfigurationScores:
    """``monthly_usd`` is what reranking would cost a workspace, at so many searches a month as the plan says."""

    name: str
    role: str
    shapes: Mapping[str, ShapeScores]
    monthly_usd: float
    values: Mapping[str, Mapping[str, float]] = field(repr=False)
    answered: tuple[Answered, ...] = field(repr=False)

    def of(self, shape: str, what: str) -> float | None:
        scores = self.shapes.get(shape)
        return None if scores is None else float(getattr(scores, what))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "role": self.role,
            "monthly_usd": self.monthly_usd,
            "shapes": {shape: asdict(scores) for shape, scores in self.shapes.items()},
            "errors": sorted({one.error for one in self.answered if one.error}),
        }


@dataclass(frozen=True)
class Criterion:
    """What was needed and what was measured; ``met`` is ``None`` where nothing could be measured."""

    name: str
    needed: str
    measured: float | None
    met: bool | None


@dataclass(frozen=True)
class GateReport:
    """``criteria`` are those of the proposed configuration, ``fallback`` those of the fallback by itself.

    ``comparisons`` are of the proposed one with each of the others, by shape.
    """

    verdict: Verdict
    why: str
    criteria: tuple[Criterion, ...]
    fallback: tuple[Criterion, ...]
    scores: tuple[ConfigurationScores, ...]
    comparisons: Mapping[str, Mapping[str, MeasureComparison]]
    agreement: Mapping[str, float]
    k: int
    monthly_searches: int

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "why": self.why,
            "criteria": [asdict(one) for one in self.criteria],
            "fallback": [asdict(one) for one in self.fallback],
            "scores": [one.to_dict() for one in self.scores],
            "comparisons": {
                name: {shape: _short(one) for shape, one in shapes.items()} for name, shapes in self.comparisons.items()
            },
            "agreement": dict(self.agreement),
            "k": self.k,
            "monthly_searches": self.monthly_searches,
        }


def _short(comparison: MeasureComparison) -> dict[str, Any]:
    told = comparison.to_dict()
    del told["changes"]
    return told


def judge(plan: GatePlan, answered: Mapping[str, Sequence[Answered]]) -> GateReport:
    """The verdict on what each configuration answered, by its name."""
    scores = {one.name: _scores(plan, one, answered[one.name]) for one in plan.configurations}
    proposed = scores[_name(plan.named("proposed"))]
    fallback = None if plan.named("fallback") is None else scores[_name(plan.named("fallback"))]
    lines = tuple(_criteria(plan, proposed, fallback))
    own = () if fallback is None else tuple(_criteria(plan, fallback, None))
    verdict, why = _verdict(lines, own)
    comparisons = {
        name: {
            shape: _compared(plan, shape, other, proposed)
            for shape in SHAPES
            if shape in proposed.shapes and shape in other.shapes
        }
        for name, other in scores.items()
        if other is not proposed
    }
    return GateReport(
        verdict,
        why,
        lines,
        own,
        tuple(scores.values()),
        comparisons,
        plan.agreement,
        plan.k,
        plan.monthly_searches,
    )


def _name(configuration: Configuration | None) -> str:
    assert configuration is not None, "a plan has a proposed configuration"
    return configuration.name


def _scores(plan: GatePlan, configuration: Configuration, answered: Sequence[Answered]) -> ConfigurationScores:
    values: dict[str, dict[str, float]] = {}
    shapes: dict[str, ShapeScores] = {}
    for shape in SHAPES:
        wanted = {one.id for one in plan.asked(shape)}
        own = [one for one in answered if one.question.id in wanted]
        if not own:
            continue
        values |= _values(plan, shape, own)
        times = [one.ms for one in own]
        shapes[shape] = ShapeScores(
            shape,
            len(own),
            mean(values[one.question.id]["ndcg"] for one in own) or 0.0,
            mean(known for one in own if (known := values[one.question.id].get("recall")) is not None) or 0.0,
            percentile(times, 0.50),
            percentile(times, 0.95),
            sum(one.usd for one in own),
            sum(bool(one.degraded) for one in own),
            sum(one.error is not None for one in own),
        )
    per_search = (mean(one.usd for one in answered) or 0.0) * plan.monthly_searches
    return ConfigurationScores(configuration.name, configuration.role, shapes, per_search, values, tuple(answered))


def _values(plan: GatePlan, shape: str, answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    ndcg, recall = f"ndcg@{plan.k}", f"recall@{plan.k}"
    rankings = {one.question.id: one.ranking for one in answered}
    graded = {qid: dict(plan.qrels[qid]) for qid in rankings}
    least = plan.recall_grades.get(shape, 1)
    sure = {qid: {doc: 1.0 for doc, grade in grades.items() if grade >= least} for qid, grades in graded.items()}
    values = {qid: {"ndcg": own[ndcg]} for qid, own in per_query_values(rankings, graded, [ndcg]).items()}
    # Where nothing has so high a grade there is nothing to recall.
    some = {qid: grades for qid, grades in sure.items() if grades}
    for qid, own in per_query_values(rankings, some, [recall]).items():
        values[qid]["recall"] = own[recall]
    return values


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that so large a share does not exceed.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([5.0], 0.95), percentile([], 0.5)
    (2.0, 5.0, 0.0)
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(-int(-len(ordered) * share // 1) - 1, 0)]


def _criteria(plan: GatePlan, scores: ConfigurationScores, fallback: ConfigurationScores | None) -> Iterator[Criterion]:
    needed = plan.criteria
    ndcg = scores.of("concept", "ndcg")
    if needed.concept_ndcg is not None:
        yield _at_least(f"{_CONCEPTS}@{plan.k}", needed.concept_ndcg, ndcg)
    if needed.margin is not None and fallback is not None:
        theirs = fallback.of("concept", "ndcg")
        behind = None if ndcg is None or theirs is None else theirs - ndcg
        yield _at_most(f"{_CONCEPTS}@{plan.k} behind the fallback", needed.margin, behind)
    if needed.relationship_recall is not None:
        recall = scores.of("relationship", "recall")
        yield _at_least(f"relationship Recall@{plan.k}", needed.relationship_recall, recall)
    if needed.p95_ms is not None:
        taken = scores.of("concept", "p95_ms")
        met = None if taken is None else taken < needed.p95_ms
        yield Criterion("concept p95, ms", f"< {needed.p95_ms:g}", taken, met)
    if needed.monthly_usd is not None:
        yield _at_most("reranking a month, US$", needed.monthly_usd, scores.monthly_usd)
    if needed.kappa is not None and plan.agreement:
        yield _at_least(_KAPPA, needed.kappa, plan.agreement[""])


def _at_least(name: str, needed: float, measured: float | None) -> Criterion:
    return Criterion(name, f"≥ {needed:g}", measured, None if measured is None else measured >= needed)


def _at_most(name: str, needed: float, measured: float | None) -> Criterion:
    return Criterion(name, f"≤ {needed:g}", measured, None if measured is None else measured <= needed + 1e-12)


def _verdict(lines: Sequence[Criterion], fallback: Sequence[Criterion]) -> tuple[Verdict, str]:
    """Ship what meets everything.

    Where the concepts are missed, the fallback is next if it finds them: it is measured as the proposed one then.
    Where only something else is missed, the fallback has to meet everything. Judges who do not agree block.
    """
    missed = [one for one in lines if not one.met]
    if not missed:
        return "ship", "The proposed configuration meets every criterion."
    told = f"The proposed configuration misses: {'; '.join(map(_told, missed))}."
    if any(one.name == _KAPPA for one in missed):
        return "block", f"{told} Figures on such judgements decide nothing."
    if not fallback:
        return "block", f"{told} There is no fallback."
    concepts = any(one.name.startswith(_CONCEPTS) for one in missed)
    short = [one for one in fallback if not one.met and (one.name.startswith(_CONCEPTS) or not concepts)]
    if not short:
        return "fallback", f"{told} The fallback does not: propose it, and measure again."
    return "block", f"{told} The fallback misses, too: {'; '.join(map(_told, short))}."


def _told(one: Criterion) -> str:
    if one.met is None:
        return f"{one.name} was not measured"
    return f"{one.name} is {_figure(one.measured)}, needed {one.needed}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _compared(
    plan: GatePlan, shape: str, other: ConfigurationScores, proposed: ConfigurationScores
) -> MeasureComparison:
    what = _MAIN[shape]
    changes = [
        QueryChange(one.id, other.values[one.id][what], proposed.values[one.id][what])
        for one in plan.asked(shape)
        if what in other.values.get(one.id, {}) and what in proposed.values.get(one.id, {})
    ]
    return paired_comparison(f"{what}@{plan.k}", changes)
