"""What tuning tried and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ir.eval.retrieval import as_corpus
from ir.eval.tables import plain_table
from ir.tune.ways import Way, default_way

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
    floor: float | None = None

    @property
    def improved(self) -> bool:
        """Whether another way than the default was chosen."""
        return self.choice.name != default_way().name

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

    def save(self, corpus: Any) -> None:
        """Keep the choice with the corpus; an older one goes, also where the default is the choice."""
        store = as_corpus(corpus).store
        config = {name: value for name, value in store.get_config().items() if name != "tuned"}
        settings = self.settings()
        store.set_config(config if settings is None else {**config, "tuned": settings})

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
        }

    def table(self) -> str:
        """Every way, best first."""
        rows = [
            [one.way.name, one.value, f"{one.difference:+.4f}", one.p, f"{one.picked}/{self.folds}"]
            for one in sorted(self.trials, key=lambda one: -one.value)
        ]
        return plain_table(["way", self.measure, "to default", "p", "folds"], rows) + f"\n{self.reason}"

    def __str__(self) -> str:
        return self.table()
