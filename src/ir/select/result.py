"""What discovery found, or why it found nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.base import json_clean
from ir.select.disclosure import Disclosure

__all__ = ["DiscoveryResult"]


@dataclass(frozen=True)
class DiscoveryResult:
    """The outcome of :func:`discover`.

    ``answerable`` is ``None`` without a calibration. Otherwise it says whether the corpus is about the query at all
    (``kind`` is ``"off_topic"``): after a labelled ``calibration`` by a ``probability``; after one from probes by
    ``above_probes``, the share of unrelated queries that score no higher, and no probability. With it come the
    ``meaning`` of that number in words, the ``error_rate`` that was calibrated to, the ``floor``, and the ``score``.
    It does not say whether an answer is missing from a corpus that is about the topic.
    """

    query: str
    mode: str
    strategy: str
    disclose_level: str
    results: list[Disclosure]
    abstained: bool
    reason: str
    n_retrieved: int
    signals: Mapping[str, Any] = field(default_factory=dict)
    answerable: Mapping[str, Any] | None = None

    @property
    def ids(self) -> list[str]:
        """The committed artifact ids, best first."""
        return [result.artifact_id for result in self.results]

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON's types only."""
        return {
            "query": self.query,
            "mode": self.mode,
            "strategy": self.strategy,
            "disclose_level": self.disclose_level,
            "results": [result.to_dict() for result in self.results],
            "abstained": self.abstained,
            "reason": self.reason,
            "n_retrieved": self.n_retrieved,
            "n_selected": len(self.results),
            "signals": json_clean(self.signals),
            "answerable": json_clean(self.answerable),
        }
