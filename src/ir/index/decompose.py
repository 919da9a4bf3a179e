"""From an artifact to the rows that will be ranked."""

from __future__ import annotations

from typing import Any

from ir.base import IndexPlan, Record, Row, storable
from ir.index.scan import Item
from ir.protocols import IndexingStrategy

__all__ = ["plan_of", "rows_of"]


def plan_of(strategy: IndexingStrategy, source: Any, item: Item) -> IndexPlan:
    """What the strategy makes of an artifact, together with what the source knows of it."""
    describe = getattr(source, "metadata_of", None)
    metadata = describe(item.id, item.raw) if describe is not None else None
    plan = strategy.decompose(item.id, item.raw, metadata)
    if not isinstance(plan, IndexPlan):
        raise TypeError(f"the strategy returned {type(plan).__name__}, not an IndexPlan")
    return plan


def rows_of(artifact_id: str, plan: IndexPlan) -> list[Row]:
    """A row for each surface that has text. Its metadata are the filter fields, overlaid with the surface's own."""
    return [
        Row(
            id=Record.make_id(artifact_id, surface.kind, index),
            artifact_id=artifact_id,
            surface_kind=surface.kind,
            surface_index=index,
            text=storable(surface.text),
            metadata={**plan.filter_fields, **surface.metadata},
        )
        for index, surface in enumerate(plan.surfaces)
        if surface.text.strip()
    ]
