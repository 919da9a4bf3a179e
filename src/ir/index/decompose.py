"""From an artifact to the rows that will be ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ir.base import IndexPlan, Record, Row, storable
from ir.index.scan import Item
from ir.protocols import IndexingStrategy, Source

__all__ = ["metadata_of", "plan_of", "rows_of"]

Describe = Callable[[str, Any], "Mapping[str, Any] | None"]


def plan_of(strategy: IndexingStrategy, source: Source, item: Item) -> IndexPlan:
    """What the strategy makes of an artifact, together with what the source knows of it."""
    plan = strategy.decompose(item.id, item.raw, metadata_of(source, item))
    if not isinstance(plan, IndexPlan):
        raise TypeError(f"the strategy returned {type(plan).__name__}, not an IndexPlan")
    return plan


def metadata_of(source: Source, item: Item) -> Mapping[str, Any] | None:
    """What the source knows of an artifact; ``None`` if it does not say."""
    # Asked for every item: whether a protocol is met takes longer to tell than the rest of this.
    describe: Describe | None = getattr(source, "metadata_of", None)
    return None if describe is None else describe(item.id, item.raw)


def rows_of(item_id: str, plan: IndexPlan) -> list[Row]:
    """A row for each surface that has text. Its metadata are the filter fields, overlaid with the surface's own.

    Surfaces are counted by the artifact that they belong to, which need not be the item.
    """
    counts: dict[str, int] = {}
    rows = []
    for surface in plan.surfaces:
        artifact_id = storable(surface.artifact_id or item_id)
        index = counts.get(artifact_id, 0)
        counts[artifact_id] = index + 1
        if surface.text.strip():
            metadata = {**plan.filter_fields, **surface.metadata}
            record_id = Record.make_id(artifact_id, surface.kind, index)
            rows.append(Row(record_id, artifact_id, surface.kind, index, storable(surface.text), metadata))
    return rows
