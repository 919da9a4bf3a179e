"""Bringing a corpus up to date before a search, when that costs next to nothing."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ir.base import storable
from ir.errors import CorpusBusy, CorpusNotBuilt, IrError
from ir.index.builder import build, prunes
from ir.index.embedder import CUSTOM
from ir.index.opening import open_store
from ir.index.revision import revision
from ir.index.scan import ledger_rows, stat_signal_of, unread_in
from ir.index.upgrade import build_fast, built_by, upgrade_of
from ir.protocols import Source, Store, WithLockTimeout, WithPath, WithRevision, WithRoot, WithTurnedAway

if TYPE_CHECKING:
    from ir.sources.files import FileScope

__all__ = ["RefreshOutcome", "changes_in", "refresh_if_cheap"]

_BUDGET = re.compile(r"max_tokens=\d+, ")

#: Who makes better vectors in the background writes for less than this at a time.
_STEP_S = 1.0


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
    name_or_source: Source | str,
    *,
    scan_ms: float = 200,
    max_changed: int = 50,
    store: Store | None = None,
    within: FileScope | None = None,
    few: int | None = None,
) -> RefreshOutcome:
    """Build the corpus again if a scan of at most ``scan_ms`` finds 1 to ``max_changed`` files that differ.

    Content is not read for the scan; a source without a cheap change test is left alone. What stands in the way
    (a source that is gone, a read-only folder, another build, a missing model) is a reason in the outcome, never an
    error. What the last build was told to keep stays. With ``within``, a part of the source, nothing else is looked at
    unless something changed there.

    Of a corpus that has a fast model beside a better one, the better one reads all that changed; with ``few`` only so
    many records, and if there are more the fast one answers until somebody runs :func:`ir.index.upgrade.run`.
    """
    source = _scannable(name_or_source)
    if isinstance(source, RefreshOutcome):
        return source
    owned = store is None
    try:
        held = open_store(source.name) if store is None else store
    except CorpusNotBuilt as error:
        return RefreshOutcome(stale=True, reason=str(error))
    if owned and isinstance(held, WithLockTimeout):
        held.lock_timeout = 0.0 if few is None else _STEP_S  # a search does not wait for a build
    try:
        return _refresh(source, held, scan_ms, max_changed, within, few)
    finally:
        if owned:
            held.close()


def _scannable(name_or_source: Source | str) -> Source | RefreshOutcome:
    """The source, if it can be looked through for changes; else why not."""
    if isinstance(name_or_source, str) and _is_elsewhere(name_or_source):
        return RefreshOutcome(reason="Another machine registered this corpus, and looks after it.")
    try:
        source = _source(name_or_source)
    except (IrError, OSError) as error:
        return _unreadable(error)
    if source is None:
        return RefreshOutcome(reason="This corpus is not registered, so nobody knows what it was built from.")
    if stat_signal_of(source) is None:
        return RefreshOutcome(reason="This kind of source has no cheap test for changes.")
    return source


def changes_in(name_or_source: Source | str, *, scan_ms: float = 200, max_changed: int = 50) -> RefreshOutcome:
    """What :func:`refresh_if_cheap` would find, with nothing written: ``stale`` if anything may differ.

    Files that were written too lately for their stat to tell are read, for as long as ``scan_ms`` allows.
    """
    source = _scannable(name_or_source)
    if isinstance(source, RefreshOutcome):
        return source
    try:
        with open_store(source.name) as store:
            recut = _cut_otherwise(source, store)
            deadline = time.monotonic() + scan_ms / 1000
            changed, unsure = _compare(source, store, deadline, max_changed, every=recut)
            if unsure and changed <= max_changed:
                changed, unsure = _read_apart(source, store, deadline, max_changed)
    except _OverBudget:
        return RefreshOutcome(stale=True, reason=f"Looking for changes took more than {scan_ms:g} ms.")
    except (IrError, OSError) as error:
        return _unreadable(error)
    if not changed and not unsure:
        return RefreshOutcome(reason="Nothing changed.")
    more = "More than " if changed > max_changed else ""
    count = min(changed, max_changed) if more else changed
    said = f"{more}{_files(count)} changed." if changed else f"{_files(unsure)} may have changed."
    return RefreshOutcome(stale=True, reason=said, changed=changed)


def _refresh(
    source: Source, store: Store, scan_ms: float, max_changed: int, within: FileScope | None, few: int | None
) -> RefreshOutcome:
    remedy = f"Refresh it with: ir build {source.name}"
    if isinstance(store, WithPath) and not os.access(store.path, os.W_OK):
        return RefreshOutcome(reason="The corpus is in a read-only folder and is used as it is.")
    try:
        recut = _cut_otherwise(source, store)
        deadline = time.monotonic() + scan_ms / 1000
        changed, unsure = _compare(source, store, deadline, max_changed, every=recut, within=within)
    except _OverBudget:
        return RefreshOutcome(stale=True, reason=f"Looking for changes took more than {scan_ms:g} ms. {remedy}")
    except (IrError, OSError) as error:
        return _unreadable(error)
    if changed + unsure == 0:
        if within is None:
            _remember_commit(source, store)
        return RefreshOutcome(reason="Nothing changed.")
    if changed > max_changed and recut:
        reason = f"Its texts would now be cut into pieces in another way. {remedy}"
        return RefreshOutcome(stale=True, reason=reason, changed=changed)
    if changed + unsure > max_changed:
        what = "changed" if changed > max_changed else "may have changed"
        return RefreshOutcome(stale=True, reason=f"More than {max_changed} files {what}. {remedy}", changed=changed)
    return _rebuild(source, store, changed, few)


def _remember_commit(source: Source, store: Store) -> None:
    """Note that what is checked out now is what is indexed, if that was another commit: no file differs."""
    config = store.get_config()
    now = revision(config, _folder_of(source))
    if now is None or now.at_head or not isinstance(source.scope, WithRevision):
        return
    told = source.scope.revision()
    if told is not None:
        with suppress(IrError, OSError):  # somebody is writing it, or nobody may: then it stays as it was
            store.set_config({**config, "git": dict(told)})


def _folder_of(source: Source) -> Path | None:
    scope = source.scope
    return Path(scope.root) if isinstance(scope, WithRoot) and scope.root is not None else None


def _rebuild(source: Source, store: Store, changed: int, few: int | None) -> RefreshOutcome:
    spec = store.get_config().get("embedder")
    if spec in (None, CUSTOM):
        reason = "It was built with an embedder of your own; rebuild it from Python."
        return RefreshOutcome(stale=changed > 0, reason=reason, changed=changed)
    try:
        if few is not None and upgrade_of(store) is not None:
            report = build_fast(source, store=store, few=few, full=prunes(store)).report
        else:
            report = build(source, store=store, embedder=built_by(store), full=prunes(store)).report
    except CorpusBusy:
        return RefreshOutcome(stale=True, reason="Another process is building it just now.", changed=changed)
    except (IrError, OSError) as error:
        return RefreshOutcome(stale=True, reason=str(error), changed=changed)
    done = len(report.added) + len(report.changed) + len(report.removed) if report else 0
    return RefreshOutcome(refreshed=done > 0, reason="" if done else "Nothing changed.", changed=done)


def _cut_otherwise(source: Source, store: Store) -> bool:
    """Whether the corpus was made by another strategy, or by an earlier version of it.

    What the embedder reads is part of its id, and left aside: knowing that takes an embedder.
    """
    from ir.strategy import strategy_id

    held = store.get_config().get("strategy_id")
    wanted = strategy_id(source.indexing_strategy)
    return held is not None and _BUDGET.sub("", held) != _BUDGET.sub("", wanted)


def _compare(
    source: Source,
    store: Store,
    deadline: float,
    limit: int,
    *,
    every: bool = False,
    within: FileScope | None = None,
) -> tuple[int, int]:
    """How many artifacts came, went or differ by their stat, and of how many that cannot be told.

    Counting ends above ``limit``. With ``every``, all that are there count as different.
    """
    stat_of = stat_signal_of(source)
    # What is part of an item comes and goes with it.
    rows = ledger_rows(store, "artifact_id", "stat", "item")
    held = {artifact_id: stat for artifact_id, stat, item in rows if item is None}
    scope = source.scope
    if within is not None:
        scope, stat_of = within, within.stat_signal
        held = {artifact_id: stat for artifact_id, stat in held.items() if within.wanted(artifact_id)}
    turned_away = scope.turned_away if isinstance(scope, WithTurnedAway) else lambda name: False
    changed = unsure = 0
    for name in scope:
        if time.monotonic() > deadline:
            raise _OverBudget
        artifact_id = storable(name)
        if artifact_id not in held:
            changed += not turned_away(name)
        else:
            before, now = held.pop(artifact_id), stat_of(name) if stat_of else None
            # A file that was written just now, or just before it was indexed, proves nothing by its stat.
            unsure += not every and (before is None or now is None)
            changed += every or (None not in (before, now) and before != now)
        if changed > limit:
            return changed, unsure
    if not prunes(store):
        return changed, unsure
    unread = unread_in(scope)
    return changed + sum(not unread(artifact_id) for artifact_id in held), unsure


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _read_apart(source: Source, store: Store, deadline: float, limit: int) -> tuple[int, int]:
    """What :func:`_compare` finds, with the files read of which a stat cannot tell; how many were left over."""
    stat_of, scope = stat_signal_of(source), source.scope
    held = {name: (stat, version) for name, stat, version in ledger_rows(store, "artifact_id", "stat", "version")}
    turned_away = scope.turned_away if isinstance(scope, WithTurnedAway) else lambda name: False
    changed = unsure = 0
    for name in list(scope):
        before, version = held.pop(storable(name), (None, None))
        now = stat_of(name) if stat_of else None
        if version is None:
            changed += not turned_away(name)
        elif None not in (before, now):
            changed += before != now
        elif time.monotonic() > deadline or changed > limit:
            unsure += 1
        else:
            try:
                changed += storable(str(source.change_signal(name, scope[name]))) != version
            except KeyError:  # it is gone, or not taken any more
                changed += 1
    if prunes(store):
        unread = unread_in(scope)
        changed += sum(not unread(name) for name, (_, version) in held.items() if version is not None)
    return changed, unsure


def _unreadable(error: Exception) -> RefreshOutcome:
    return RefreshOutcome(stale=True, reason=f"The source cannot be read now: {error}")


def _is_elsewhere(name: str) -> bool:
    from ir.registry import elsewhere

    return elsewhere(name)


def _source(name_or_source: Source | str) -> Source | None:
    if not isinstance(name_or_source, str):
        return name_or_source
    from ir.registry import entered, source_for

    # A corpus that was built from Python may be called as a preset is, and be made of something else.
    return source_for(name_or_source) if name_or_source in entered() else None
