"""What a build would change, without changing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ir.index.progress import Listener
from ir.index.recipe import recipe_for
from ir.index.report import Problem
from ir.index.scan import Scan, read_ledger
from ir.protocols import Source, Store

__all__ = ["BuildPlan", "plan_build"]


@dataclass
class BuildPlan:
    """Artifact ids by what a build would do with them; ``failed`` lists those whose change signal raised."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The plan in JSON's types only."""
        out = dict(vars(self))
        for name in ("skipped", "failed", "remarks"):
            out[name] = [problem._asdict() for problem in out[name]]
        return out


def plan_build(
    source: Source,
    *,
    store: Store | None,
    embedder: Any = None,
    full: bool = True,
    language: str | None = None,
    progress: Listener | None = None,
) -> BuildPlan:
    """What :func:`build` would do now. Nothing is embedded or written; ``store=None`` stands for one not yet made."""
    if store is None:
        from ir.store import CorpusStore

        store = CorpusStore.memory()
    recipe = recipe_for(source, store, embedder=embedder, language=language)
    scan = Scan(source, read_ledger(store, recipe.target), listener=progress)
    plan = BuildPlan()
    for item in scan:
        if item.changed:
            (plan.added if item.was is None else plan.changed).append(item.id)
    plan.unchanged = scan.unchanged
    plan.removed = scan.left if full else []
    plan.skipped, plan.failed, plan.remarks = scan.skipped, scan.failed, scan.remarks
    return plan
