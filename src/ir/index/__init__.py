"""How does a store come to hold what the source holds?"""

from __future__ import annotations

from ir.index.builder import build
from ir.index.corpus import Corpus
from ir.index.embedder import LazyEmbedder
from ir.index.opening import build_corpus, open_corpus, open_store
from ir.index.plan import BuildPlan, plan_build
from ir.index.progress import Progress
from ir.index.refresh import RefreshOutcome, refresh_if_cheap
from ir.index.report import BuildReport, Problem
from ir.index.watching import watch

__all__ = [
    "BuildPlan",
    "BuildReport",
    "Corpus",
    "LazyEmbedder",
    "Problem",
    "Progress",
    "RefreshOutcome",
    "build",
    "build_corpus",
    "open_corpus",
    "open_store",
    "plan_build",
    "refresh_if_cheap",
    "watch",
]
