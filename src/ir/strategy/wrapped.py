"""A strategy around another: it keeps the inner surfaces and puts its own before them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ir.base import Artifact, IndexPlan, Surface
from ir.protocols import IndexingStrategy

__all__ = ["Wrapped"]


class Wrapped(ABC):
    """Base of strategies that add surfaces to those of ``inner``.

    Its id (:func:`ir.strategy.strategy_id`) holds the inner one's, so changing either makes the index stale.
    """

    def __init__(self, inner: IndexingStrategy) -> None:
        self.inner = inner

    @property
    def ranking(self) -> str | None:
        """How searches rank what the inner strategy makes, if it says so."""
        return getattr(self.inner, "ranking", None)

    @property
    def graph(self) -> str | None:
        """How links lift what the inner strategy makes, if it says so."""
        return getattr(self.inner, "graph", None)

    @abstractmethod
    def added(self, artifact: Artifact, plan: IndexPlan) -> Iterable[Surface]:
        """The surfaces to put first. ``artifact.metadata`` holds the filter fields, ``plan`` is the inner one."""

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        plan = self.inner.decompose(artifact_id, raw, metadata)
        artifact = Artifact(artifact_id, raw, dict(plan.filter_fields))
        added = [surface for surface in self.added(artifact, plan) if surface.text.strip()]
        return replace(plan, surfaces=[*added, *plan.surfaces])

    @property
    def link(self) -> Any:
        """How the inner strategy draws links, if it has a rule of its own; else there is no such attribute."""
        return getattr(self.inner, "link")  # noqa: B009 - not every strategy has it

    def with_budget(self, max_tokens: int, count_tokens: Callable[[str], int] | None = None) -> Wrapped:
        """The same wrapper around an inner strategy that keeps to the budget, if that one can."""
        budgeted = getattr(self.inner, "with_budget", None)
        if budgeted is None:
            return self
        twin = copy.copy(self)
        twin.inner = budgeted(max_tokens, count_tokens)
        return twin
