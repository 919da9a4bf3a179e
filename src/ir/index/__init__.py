"""How does a store come to hold what the source holds?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.index.branches import branch_corpus
    from ir.index.builder import build
    from ir.index.corpus import Corpus
    from ir.index.embedder import LazyEmbedder
    from ir.index.opening import (
        as_corpus,
        as_store,
        is_built,
        not_built,
        on_disk,
        open_corpus,
        open_store,
        store_for,
    )
    from ir.index.plan import BuildPlan, plan_build
    from ir.index.progress import Estimate, Progress
    from ir.index.refresh import RefreshOutcome, refresh_if_cheap
    from ir.index.registered import build_corpus
    from ir.index.report import BuildReport, Problem
    from ir.index.watching import watch

__all__ = [
    "BuildPlan",
    "BuildReport",
    "Corpus",
    "Estimate",
    "LazyEmbedder",
    "Problem",
    "Progress",
    "RefreshOutcome",
    "as_corpus",
    "as_store",
    "branch_corpus",
    "build",
    "build_corpus",
    "is_built",
    "not_built",
    "on_disk",
    "open_corpus",
    "open_store",
    "plan_build",
    "refresh_if_cheap",
    "store_for",
    "watch",
]

_HOMES = {
    "BuildPlan": "plan",
    "BuildReport": "report",
    "Corpus": "corpus",
    "Estimate": "progress",
    "LazyEmbedder": "embedder",
    "Problem": "report",
    "Progress": "progress",
    "RefreshOutcome": "refresh",
    "as_corpus": "opening",
    "as_store": "opening",
    "branch_corpus": "branches",
    "build": "builder",
    "build_corpus": "registered",
    "is_built": "opening",
    "not_built": "opening",
    "on_disk": "opening",
    "open_corpus": "opening",
    "open_store": "opening",
    "plan_build": "plan",
    "refresh_if_cheap": "refresh",
    "store_for": "opening",
    "watch": "watching",
}


def __getattr__(name: str) -> Any:
    # Who opens a corpus to search it needs little of what builds one.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
