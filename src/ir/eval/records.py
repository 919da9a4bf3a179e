"""A calibration as a value, and as a record kept with its corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ir.base import json_clean
from ir.errors import InvalidInput
from ir.eval.signals import fusion_of
from ir.eval.tables import number
from ir.index.opening import as_corpus
from ir.protocols import CorpusOrName
from ir.select.gate import calibration_key, rerank_name
from ir.select.signals import default_signal, describe

__all__ = ["CLEAR", "MinScoreCalibration", "check_persistable", "forget_calibration", "load_calibration"]

#: A floor counts if luck alone would do as well on other cases with less than this probability. Stricter than usual,
#: because a floor that owes itself to luck refuses what the corpus can answer.
CLEAR = 0.01


@dataclass(frozen=True)
class MinScoreCalibration:
    """A floor for one corpus, mode, fusion, embedder and reranker, with the evidence for it.

    - ``min_score``: queries whose ``signal`` (one of ``ir.select.signals``, such as the best cosine) is below it are
      refused as off topic; ``None`` when there is no floor, and ``reason`` says why.
    - ``signals_tried``: where the cases chose the signal, the J of each by cross-validation.
    - ``kind``: ``"labelled"`` or ``"probes"``.
    - ``error_rate``: labelled: the mean error (one less balanced accuracy) on cases left out of bootstrap samples.
      Probes: the share of the probes that the floor accepts.
    - ``curve``: rising points ``[score, probability]``. Labelled: P(answerable) if answerable and off-topic queries
      were equally common. Probes: the share of probes that score no higher: one less the false-accept rate of
      a floor put there; nothing is known about answerable queries then. ``curve_meaning`` says which.
    - ``min_score_interval``, ``youden_j_interval``: 95 % bootstrap intervals; J is of the cases left out.
    - ``held_out_j``, ``p``: J on cases that a floor was not made from, by cross-validation, and how likely one as good
      is by luck alone; ``None`` with one case of a kind.
    - ``made_from``: the file of the cases or probes, so that it can be made again for another embedder.
    - ``made_by``: ``"tune"`` if tuning set it, so that it can be undone with the rest.
    """

    corpus_name: str
    mode: str
    k: int
    min_score: float | None
    sensitivity: float | None = None
    specificity: float | None = None
    youden_j: float | None = None
    balanced_accuracy: float | None = None
    separable: bool = False
    sensitivity_weight: float = 0.5
    n_positive: int = 0
    n_abstention: int = 0
    n_retrieval_miss: int = 0
    positive_scores: Mapping[str, float] = field(default_factory=dict)
    abstention_scores: Mapping[str, float] = field(default_factory=dict)
    grid: list[dict[str, float]] = field(default_factory=list)
    reason: str = "calibrated"
    embedder_id: str | None = None
    strategy: str = "conservative"
    rerank: str | None = None
    signal: str = ""
    signals_tried: Mapping[str, float] = field(default_factory=dict)
    fusion: str | None = None
    kind: str = "labelled"
    error_rate: float | None = None
    curve: list[list[float]] = field(default_factory=list)
    min_score_interval: tuple[float, float] | None = None
    youden_j_interval: tuple[float, float] | None = None
    max_loss: float | None = None
    percentile: float | None = None
    degraded: bool = False
    made_from: str | None = None
    held_out_j: float | None = None
    p: float | None = None
    made_by: str | None = None

    def __post_init__(self) -> None:
        if not self.signal:  # a record from before there was a choice
            object.__setattr__(self, "signal", default_signal(self.mode))

    @property
    def by_luck(self) -> bool:
        """Whether, for all that labelled cases show, the floor may be luck."""
        return self.kind == "labelled" and (self.p is None or self.p >= CLEAR)

    @property
    def curve_meaning(self) -> str:
        if self.kind == "probes":
            return "share of unrelated probe queries that score no higher"
        return "probability that the corpus can answer, at equal odds"

    def to_dict(self) -> dict[str, Any]:
        """The record, in JSON's types."""
        out = {item.name: getattr(self, item.name) for item in fields(self)}
        return dict(json_clean({**out, "curve_meaning": self.curve_meaning}))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MinScoreCalibration:
        """The calibration of a record; keys it does not know are passed over, missing ones take their defaults."""
        known = {item.name for item in fields(cls)}
        given = {key: value for key, value in data.items() if key in known}
        for name in ("min_score_interval", "youden_j_interval"):
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        return cls(**{"corpus_name": "", "mode": "hybrid", "k": 10, "min_score": None, **given})

    def save(self, corpus: CorpusOrName) -> MinScoreCalibration:
        """Keep it with the corpus, where ``min_score="auto"`` looks for it."""
        if self.min_score is None:
            raise InvalidInput(
                f"There is no floor to save ({self.reason}).",
                remedy="Calibrate with both kinds of cases, or from probes.",
            )
        key = calibration_key(self.mode, fusion=self.fusion, rerank=self.rerank)
        as_corpus(corpus).store.set_calibration(key, self.to_dict())
        return self

    def table(self) -> str:
        lines = [f"{self.corpus_name}, mode {self.mode}, {describe(self.signal)}, from {self.kind}: {self.reason}"]
        lines.append(f"floor             {number(self.min_score)}{_interval(self.min_score_interval)}")
        if self.kind == "probes":
            lines.append(f"probes accepted   {number(self.error_rate)} of {self.n_abstention}")
        else:
            lines.append(f"sensitivity       {number(self.sensitivity)}  ({self.n_positive} answerable)")
            lines.append(f"specificity       {number(self.specificity)}  ({self.n_abstention} off topic)")
            lines.append(f"Youden J          {number(self.youden_j)}{_interval(self.youden_j_interval)}")
            lines.append(f"J, held out       {number(self.held_out_j)}  (by luck: p = {number(self.p)})")
            lines.append(f"error, left out   {number(self.error_rate)}")
            lines.append(f"misses left aside {self.n_retrieval_miss}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"  (95 %: {bounds[0]:.4f} to {bounds[1]:.4f})"


def check_persistable(search_kw: Mapping[str, Any]) -> None:
    """Refuse to keep a floor under a key that would not tell this search from a plain one."""
    for name in ("surface_weights", "graph_boost", "dep_boost", "boosts", "exit_when", "expansion", "space", "filter"):
        if search_kw.get(name):
            raise InvalidInput(
                f"A floor calibrated with {name} cannot be saved: it would replace the one for searches without it.",
                remedy="Calibrate without persist=True and pass min_score yourself.",
            )
    rerank = search_kw.get("rerank")
    if rerank is not None and rerank_name(rerank) in {"<lambda>", "partial", "function", "method"}:
        raise InvalidInput(
            "A floor for a reranker without a name cannot be saved: any other could take its place.",
            remedy="Give the reranker an attribute 'rerank_id'.",
        )


def load_calibration(
    corpus: CorpusOrName, mode: str, *, fusion: str | None = None, rerank: Any = None
) -> MinScoreCalibration | None:
    """The calibration kept for this way of searching; ``None`` if there is none.

    Whether it still fits the corpus's embedder is for the caller to check, as ``min_score="auto"`` does.
    """
    chosen = fusion_of(mode, {} if fusion is None else {"fusion": fusion})
    key = calibration_key(mode, fusion=chosen, rerank=rerank_name(rerank))
    record = as_corpus(corpus).store.get_calibration(key)
    return MinScoreCalibration.from_dict(record) if record else None


def forget_calibration(corpus: CorpusOrName, mode: str, *, fusion: str | None = None, rerank: Any = None) -> bool:
    """Drop the calibration kept for this way of searching; whether there was one.

    The floor that builds make holds again from then on.
    """
    chosen = fusion_of(mode, {} if fusion is None else {"fusion": fusion})
    key = calibration_key(mode, fusion=chosen, rerank=rerank_name(rerank))
    store = as_corpus(corpus).store
    with store.transaction():
        if store.get_calibration(key) is None:
            return False
        store.delete_calibration(key)
    return True
