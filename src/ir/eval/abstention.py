"""How well abstention works: two questions, kept apart.

*Off topic*: is the corpus about that at all? :func:`abstention_report` measures a floor on queries of the corpus's own
against foreign ones. *Missing answer*: the topic is right, but the document is not there. :func:`gold_removed_report`
measures how well scores tell that, by taking the answers away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.floors import auroc, rates
from ir.eval.records import MinScoreCalibration
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.eval.signals import gate_for, gate_signal
from ir.eval.tables import number, plain_table
from ir.index.opening import as_corpus
from ir.options import choice
from ir.protocols import Corpus, CorpusOrName
from ir.select.signals import default_signal, describe, signals_for

if TYPE_CHECKING:
    from ir.base import SearchHit

__all__ = [
    "MISSING_ANSWER_SIGNALS",
    "AbstentionReport",
    "MissingAnswerReport",
    "abstention_report",
    "gold_removed_report",
]


@dataclass(frozen=True)
class AbstentionReport:
    """How a floor treats a corpus's own queries (to be accepted) and foreign ones (to be refused as off topic)."""

    floor: float
    sensitivity: float
    specificity: float
    youden_j: float
    auroc: float
    n_own: int
    n_foreign: int
    mode: str
    signal: str
    own_scores: tuple[float, ...] = ()
    foreign_scores: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        return "\n".join(
            [
                f"off topic: floor {number(self.floor)} on the {describe(self.signal)}, mode {self.mode}",
                f"own queries accepted     {number(self.sensitivity)}  of {self.n_own}",
                f"foreign queries refused  {number(self.specificity)}  of {self.n_foreign}",
                f"Youden J                 {number(self.youden_j)}",
                f"AUROC                    {number(self.auroc)}",
            ]
        )

    def __str__(self) -> str:
        return self.table()


def abstention_report(
    corpus: CorpusOrName,
    own_queries: Sequence[str],
    foreign_queries: Sequence[str],
    floor: float | str | MinScoreCalibration = "auto",
    *,
    mode: str = DFLT_MODE,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    signal: str | None = None,
    **search_kw: Any,
) -> AbstentionReport:
    """Sensitivity, specificity and J of a floor; ``"auto"`` takes the one that is kept with the corpus.

    A calibration is read on its own signal, a number on ``signal``: the best raw score of the mode's channel unless
    another is named.
    """
    if not own_queries or not foreign_queries:
        raise InvalidInput("An abstention report needs queries of both kinds, the corpus's own and foreign ones.")
    opened = as_corpus(corpus)
    level, read = _level(opened, floor, mode, signal, search_kw)

    def scores(queries: Sequence[str]) -> Any:
        found = retrieve_cases(
            opened, [DiscoveryCase(query) for query in queries], mode=mode, k=k, surfaces=surfaces, **search_kw
        )
        values = [gate_signal(item.hits, mode, read) for item in found]
        return np.sort([float("-inf") if value is None else value for value in values])

    own, foreign = scores(own_queries), scores(foreign_queries)
    kept, refused = rates(np.array([level]), own, foreign)
    return AbstentionReport(
        floor=level,
        sensitivity=float(kept[0]),
        specificity=float(refused[0]),
        youden_j=float(kept[0] + refused[0] - 1),
        auroc=auroc(own, foreign) or 0.0,
        n_own=len(own),
        n_foreign=len(foreign),
        mode=mode,
        signal=read,
        own_scores=tuple(own.tolist()),
        foreign_scores=tuple(foreign.tolist()),
    )


def _level(
    corpus: Corpus,
    floor: float | str | MinScoreCalibration,
    mode: str,
    signal: str | None,
    search_kw: Mapping[str, Any],
) -> tuple[float, str]:
    """The floor and the signal that it is on."""
    if not isinstance(floor, (str, MinScoreCalibration)):
        return float(floor), default_signal(mode) if signal is None else choice("signal", signal, signals_for(mode))
    if signal is not None:
        raise InvalidInput("A calibration has a signal of its own; name one only with a number as the floor.")
    if isinstance(floor, str):
        gate = gate_for(corpus, mode, floor, search_kw)
        return float(gate.floor or 0.0), gate.signal
    if floor.min_score is None:
        raise InvalidInput(f"The calibration has no floor ({floor.reason}).")
    return floor.min_score, floor.signal


Signal = Callable[["Sequence[SearchHit]"], "float | None"]


def _channel(hits: Sequence[SearchHit], name: str) -> list[float]:
    """The raw scores of a channel, best first."""
    scores = [hit.channels[name]["score"] for hit in hits if name in hit.channels]
    return sorted((float(score) for score in scores if score is not None), reverse=True)


def _top(name: str) -> Signal:
    return lambda hits: next(iter(_channel(hits, name)), None)


def _lead(name: str) -> Signal:
    """The lead of the best over the second."""

    def lead(hits: Sequence[SearchHit]) -> float | None:
        scores = _channel(hits, name)
        return scores[0] - scores[1] if len(scores) > 1 else None

    return lead


def _contrast(name: str) -> Signal:
    """How far the best stands out of the others, in their standard deviations."""

    def contrast(hits: Sequence[SearchHit]) -> float | None:
        scores = _channel(hits, name)
        if len(scores) < 4:
            return None
        rest = np.asarray(scores[1:])
        return float((scores[0] - rest.mean()) / (rest.std() + 1e-9))

    return contrast


def _spread(name: str) -> Signal:
    """How unequal the scores are: a list of equally weak matches has little spread."""

    def spread(hits: Sequence[SearchHit]) -> float | None:
        scores = _channel(hits, name)
        return float(np.std(scores)) if len(scores) > 1 else None

    return spread


def _agreement(hits: Sequence[SearchHit]) -> float | None:
    """The lexical share of the best lexical score that the densest hit reaches: 1 when both channels agree."""
    both = [hit for hit in hits if "dense" in hit.channels and "lexical" in hit.channels]
    best = max((float(hit.channels["lexical"]["score"]) for hit in both), default=0.0)
    if best <= 0:
        return None
    densest = max(both, key=lambda hit: float(hit.channels["dense"]["score"]))
    return float(densest.channels["lexical"]["score"]) / best


#: What could tell a missing answer: name → a number of the hits that should be higher when the answer is there.
MISSING_ANSWER_SIGNALS: Mapping[str, Signal] = {
    "dense top": _top("dense"),
    "dense lead": _lead("dense"),
    "dense contrast": _contrast("dense"),
    "dense spread": _spread("dense"),
    "lexical top": _top("lexical"),
    "lexical lead": _lead("lexical"),
    "lexical contrast": _contrast("lexical"),
    "ranking score": lambda hits: hits[0].score if hits else None,
    "ranking fall": lambda hits: hits[0].score - hits[-1].score if len(hits) > 1 else None,
    "channel agreement": _agreement,
}


@dataclass(frozen=True)
class MissingAnswerReport:
    """AUROC of each signal at telling the ranking with the answers from the same ranking without them.

    0.5 is chance. Scores reach 0.6 to 0.7: too little to claim of any one query that its answer is missing.
    """

    auroc: Mapping[str, float | None]
    n_queries: int
    n_retrieved: int
    mode: str
    k: int

    @property
    def best(self) -> tuple[str, float] | None:
        """The best signal and its AUROC, chosen on these same queries and so a little flattered."""
        known = [(value, name) for name, value in self.auroc.items() if value is not None]
        return (max(known)[1], max(known)[0]) if known else None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "auroc": dict(self.auroc), "best": list(self.best) if self.best else None}

    def table(self) -> str:
        head = (
            f"missing answer: {self.n_queries} queries with and without their gold ({self.n_retrieved} had found it), "
        )
        head += f"mode {self.mode}, k {self.k}"
        return f"{head}\n{plain_table(['signal', 'AUROC'], list(self.auroc.items()))}"

    def __str__(self) -> str:
        return self.table()


def gold_removed_report(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    mode: str = DFLT_MODE,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    signals: Mapping[str, Signal] = MISSING_ANSWER_SIGNALS,
    retrieved_only: bool = False,
    **search_kw: Any,
) -> MissingAnswerReport:
    """The missing-answer case: each query's gold is masked from its ranking, and the signals are read again.

    Abstention cases are left out: there the answer is missing already. A case of which no gold was found counts, and
    looks the same both ways, as it would to a user; ``retrieved_only`` leaves such cases out and gives kinder figures.
    """
    judged = [case for case in cases if not case.gold_is_none]
    most = max((len(case.gold) for case in judged), default=0)
    found = retrieve_cases(corpus, judged, mode=mode, k=k + most, surfaces=surfaces, **search_kw)
    pairs = [_with_and_without(item, k) for item in found]
    usable = [(full, masked) for full, masked, had in pairs if had or not retrieved_only]
    values: dict[str, float | None] = {}
    for name, signal in signals.items():
        read = [(signal(full), signal(masked)) for full, masked in usable]
        present = [value for value, _ in read if value is not None]
        absent = [value for _, value in read if value is not None]
        values[name] = auroc(present, absent)
    return MissingAnswerReport(values, len(usable), sum(had for _, _, had in pairs), mode, k)


def _with_and_without(item: Retrieved, k: int) -> tuple[list[SearchHit], list[SearchHit], bool]:
    gold = set(item.case.gold)
    full = list(item.hits[:k])
    masked = [hit for hit in item.hits if hit.artifact_id not in gold][:k]
    return full, masked, any(hit.artifact_id in gold for hit in full)
