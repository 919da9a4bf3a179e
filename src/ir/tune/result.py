"""What tuning tried and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ir.eval.tables import plain_table
from ir.protocols import CorpusOrName
from ir.tune.candidates import Way, default_way
from ir.tune.keeping import keep

if TYPE_CHECKING:
    from ir.eval import MinScoreCalibration

__all__ = ["Trial", "Tuning"]


@dataclass(frozen=True)
class Trial:
    """One way on all queries. ``difference`` is to the default, ``p`` how likely one as large is by luck alone;
    ``picked`` in how many folds it was the best of the training queries."""

    way: Way
    value: float
    difference: float
    p: float
    picked: int


@dataclass(frozen=True)
class Tuning:
    """What was tried on a corpus and what came of it.

    ``choice`` is the default unless another way is ``significant``ly better on queries that it was not chosen by:
    ``held_out`` and ``held_out_default`` are the means there, ``p`` is of their paired randomization test.
    ``calibration`` is what the cases without an answer gave, if there were any; it is believed on the same terms.
    """

    corpus: str
    embedder_id: str | None
    measure: str
    n_queries: int
    folds: int
    trials: tuple[Trial, ...]
    choice: Way
    reason: str
    held_out: float | None = None
    held_out_default: float | None = None
    p: float | None = None
    calibration: MinScoreCalibration | None = None

    @property
    def improved(self) -> bool:
        """Whether another way than the default was chosen."""
        return self.choice.name != default_way().name

    @property
    def floor(self) -> float | None:
        """The floor of the chosen way, if the cases show one that is more than luck."""
        made = self.calibration
        return None if made is None or made.by_luck else made.min_score

    @property
    def floor_reason(self) -> str:
        """What became of the cases without an answer, in a sentence; empty if there were none."""
        made = self.calibration
        if made is None:
            return ""
        if made.p is None or made.held_out_j is None:
            return "No floor: there are too few cases with and without an answer to make one."
        worth = f"J {made.held_out_j:.3f} on cases that it was not made from (p = {made.p:.4f})"
        if self.floor is None:
            return f"No floor: {worth}, which may be luck."
        return f"Floor {self.floor:.4f} from the cases without an answer: {worth}."

    def settings(self) -> dict[str, Any] | None:
        """What the corpus remembers; ``None`` where it is to be searched as any other."""
        if not self.improved:
            return None
        return {
            **self.choice.options,
            "name": self.choice.name,
            "embedder_id": self.embedder_id,
            "measure": self.measure,
            "n_queries": self.n_queries,
            "held_out": self.held_out,
            "held_out_default": self.held_out_default,
            "p": self.p,
            "tuned_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }

    def save(self, corpus: CorpusOrName) -> None:
        """Keep the choice and its floor with the corpus; older ones go, also where the default is the choice."""
        keep(corpus, self.settings(), None if self.floor is None else self.calibration)

    def to_dict(self) -> dict[str, Any]:
        trials = [
            {"name": one.way.name, "options": dict(one.way.options), "value": one.value}
            | {"difference": one.difference, "p": one.p, "picked": one.picked}
            for one in self.trials
        ]
        return {
            "corpus": self.corpus,
            "measure": self.measure,
            "n_queries": self.n_queries,
            "folds": self.folds,
            "trials": trials,
            "choice": {"name": self.choice.name, "options": dict(self.choice.options)},
            "improved": self.improved,
            "reason": self.reason,
            "held_out": self.held_out,
            "held_out_default": self.held_out_default,
            "p": self.p,
            "floor": self.floor,
            "floor_reason": self.floor_reason,
        }

    def table(self) -> str:
        """Every way, best first."""
        rows = [
            [one.way.name, one.value, f"{one.difference:+.4f}", one.p, f"{one.picked}/{self.folds}"]
            for one in sorted(self.trials, key=lambda one: -one.value)
        ]
        table = plain_table(["way", self.measure, "to default", "p", "folds"], rows)
        return "\n".join(part for part in (table, self.reason, self.floor_reason) if part)

    def __str__(self) -> str:
        return self.table()
