"""Bringing a corpus up to date before a search, when that costs next to nothing."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.base import storable
from ir.errors import CorpusBusy, CorpusNotBuilt, IrError
from ir.index.builder import build, prunes
from ir.index.embedder import CUSTOM
from ir.index.opening import open_store
from ir.index.scan import ledger_rows, stat_signal_of, unread_in

if TYPE_CHECKING:
    from ir.store import CorpusStore

__all__ = ["RefreshOutcome", "refresh_if_cheap"]


@dataclass(frozen=True)
class RefreshOutcome:
    """``stale``: the index is known, or feared, to be behind its source; ``reason`` then says what to do about it."""

    refreshed: bool = False
    stale: bool = False
    reason: str = ""
    changed: int = 0


class _OverBudget(Exception):
    """The scan took longer than it may."""


def refresh_if_cheap(
    name_or_source: Any, *, scan_ms: float = 200, max_changed: int = 50, store: CorpusStore | None = None
) -> RefreshOutcome:
    """Build the corpus again if a scan of at most ``scan_ms`` finds 1 to ``max_changed`` files that differ.

    Content is not read for the scan; a source without a cheap change test is left alone. What stands in the way
    (a source that is gone, a read-only folder, another build, a missing model) is a reason in the outcome, never an
    error. What the last build was told to keep stays.
    """
    try:
        source = _source(name_or_source)
    except (IrError, OSError) as error:
        return _unreadable(error)
    if source is None:
        return RefreshOutcome(reason="This corpus is not registered, so nobody knows what it was built from.")
    if stat_signal_of(source) is None:
        return RefreshOutcome(reason="This kind of source has no cheap test for changes.")
    owned = store is None
    try:
        held: Any = open_store(source.name) if store is None else store
    except CorpusNotBuilt as error:
        return RefreshOutcome(stale=True, reason=str(error))
    if owned:
        held.lock_timeout = 0.0  # a search does not wait for a build
    try:
        return _refresh(source, held, scan_ms, max_changed)
    finally:
        if owned:
            held.close()


def _refresh(source: Any, store: CorpusStore, scan_ms: float, max_changed: int) -> RefreshOutcome:
    remedy = f"Refresh it with: ir build {source.name}"
    folder = getattr(store, "path", None)
    if folder is not None and not os.access(folder, os.W_OK):
        return RefreshOutcome(reason="The corpus is in a read-only folder and is used as it is.")
    try:
        changed, unsure = _compare(source, store, time.monotonic() + scan_ms / 1000, max_changed)
    except _OverBudget:
        return RefreshOutcome(stale=True, reason=f"Looking for changes took more than {scan_ms:g} ms. {remedy}")
    except (IrError, OSError) as error:
        return _unreadable(error)
    if changed + unsure == 0:
        return RefreshOutcome(reason="Nothing changed.")
    if changed + unsure > max_changed:
        what = "changed" if changed > max_changed else "may have changed"
        return RefreshOutcome(stale=True, reason=f"More than {max_changed} files {what}. {remedy}", changed=changed)
    return _rebuild(source, store, changed)


def _rebuild(source: Any, store: CorpusStore, changed: int) -> RefreshOutcome:
    spec = store.get_config().get("embedder")
    if spec in (None, CUSTOM):
        reason = "It was built with an embedder of your own; rebuild it from Python."
        return RefreshOutcome(stale=changed > 0, reason=reason, changed=changed)
    try:
        report = build(source, store=store, embedder=spec, full=prunes(store)).report
    except CorpusBusy:
        return RefreshOutcome(stale=True, reason="Another process is building it just now.", changed=changed)
    except (IrError, OSError) as error:
        return RefreshOutcome(stale=True, reason=str(error), changed=changed)
    done = len(report.added) + len(report.changed) + len(report.removed) if report else 0
    return RefreshOutcome(refreshed=done > 0, reason="" if done else "Nothing changed.", changed=done)


def _compare(source: Any, store: CorpusStore, deadline: float, limit: int) -> tuple[int, int]:
    """How many artifacts came, went or differ by their stat, and of how many that cannot be told.

    Counting ends above ``limit``.
    """
    stat_of = stat_signal_of(source)
    held = dict(ledger_rows(store, "artifact_id", "stat"))
    changed = unsure = 0
    for name in source.scope:
        if time.monotonic() > deadline:
            raise _OverBudget
        artifact_id = storable(name)
        if artifact_id not in held:
            changed += 1
        else:
            before, now = held.pop(artifact_id), stat_of(name) if stat_of else None
            # A file that was written just now, or just before it was indexed, proves nothing by its stat.
            unsure += before is None or now is None
            changed += None not in (before, now) and before != now
        if changed > limit:
            return changed, unsure
    if not prunes(store):
        return changed, unsure
    unread = unread_in(source.scope)
    return changed + sum(not unread(artifact_id) for artifact_id in held), unsure


def _unreadable(error: Exception) -> RefreshOutcome:
    return RefreshOutcome(stale=True, reason=f"The source cannot be read now: {error}")


def _source(name_or_source: Any) -> Any:
    if not isinstance(name_or_source, str):
        return name_or_source
    from ir.registry import PRESETS, registered, source_for

    if name_or_source in registered() or name_or_source in PRESETS:
        return source_for(name_or_source)
    return None
