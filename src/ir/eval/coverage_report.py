"""Does the index hold what the source holds?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.base import storable
from ir.eval.tables import plain_table
from ir.index.opening import as_store
from ir.index.progress import Listener, Ticker
from ir.index.scan import omitted_by, unread_in
from ir.protocols import Source, StoreOrName, WithStat

__all__ = ["CoverageReport", "coverage"]


@dataclass(frozen=True)
class CoverageReport:
    """The artifacts of a source and of a store, by how they stand to each other.

    - ``indexed``: in both, and unchanged;
    - ``missing``: in the source, not in the index;
    - ``stale``: in both, but the source's copy has changed since;
    - ``orphaned``: in the index, gone from the source;
    - ``skipped``: not taken in, with the reason: unreadable, or made of nothing that can be ranked.
    """

    indexed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """How much of the source is in the index and current; 1 for an empty source."""
        wanted = len(self.indexed) + len(self.missing) + len(self.stale)
        return len(self.indexed) / wanted if wanted else 1.0

    @property
    def complete(self) -> bool:
        """Whether a build would change nothing."""
        return not (self.missing or self.stale or self.orphaned)

    def to_dict(self) -> dict[str, Any]:
        return {
            "indexed": list(self.indexed),
            "missing": list(self.missing),
            "stale": list(self.stale),
            "orphaned": list(self.orphaned),
            "skipped": dict(self.skipped),
            "share": self.share,
            "complete": self.complete,
        }

    def table(self) -> str:
        kinds = ("indexed", "missing", "stale", "orphaned", "skipped")
        rows = [[kind, len(getattr(self, kind)), _example(getattr(self, kind))] for kind in kinds]
        return plain_table(["artifacts", "count", "for example"], rows)

    def __str__(self) -> str:
        return self.table()


def _example(ids: Any) -> str:
    return next(iter(ids), "")


def coverage(source: Source, store: StoreOrName, *, progress: Listener | None = None) -> CoverageReport:
    """Compare what ``source`` yields with what ``store`` (or a corpus) holds. Nothing is embedded or written.

    The cheap signal of a source that offers one (size and time of a file) is believed when it is unchanged, as a
    build does; otherwise the change signal of the content decides.
    """
    kept = as_store(store)
    ledger = {str(entry["artifact_id"]): entry for _, entry in kept.ledger_items()}
    skipped: dict[str, str] = {}
    groups: dict[str, list[str]] = {"indexed": [], "missing": [], "stale": []}
    scope = source.scope
    ids = [str(artifact) for artifact in scope]
    ticker = Ticker(progress, "compare", len(ids), unit="items")
    for artifact in ids:
        ticker.tick()
        entry = ledger.get(storable(artifact))
        if entry is None:
            groups["missing"].append(artifact)
            continue
        try:
            current = _is_current(source, artifact, entry)
        except Exception as error:  # one unreadable file must not hide the state of all others
            skipped[artifact] = f"cannot be read: {error}"
            continue
        if current and not entry.get("record_ids"):
            skipped[artifact] = "indexed, but nothing in it can be ranked"
        else:
            groups["indexed" if current else "stale"].append(artifact)
    ticker.end()
    for item in omitted_by(scope):
        skipped.setdefault(str(item.id), str(item.reason))
    missing = [artifact for artifact in groups["missing"] if artifact not in skipped]
    unread = unread_in(scope)
    orphaned = [artifact for artifact in set(ledger) - set(map(storable, ids)) if not unread(artifact)]
    return CoverageReport(
        indexed=tuple(sorted(groups["indexed"])),
        missing=tuple(sorted(missing)),
        stale=tuple(sorted(groups["stale"])),
        orphaned=tuple(sorted(orphaned)),
        skipped=skipped,
    )


def _is_current(source: Source, artifact: str, entry: Mapping[str, Any]) -> bool:
    scope, stat = source.scope, entry.get("stat")
    if stat is not None and isinstance(scope, WithStat) and scope.stat_signal(artifact) == stat:
        return True
    return bool(source.change_signal(artifact, scope[artifact]) == entry.get("version"))
