"""How a store comes to hold what a source holds: incrementally, and all in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from ir.base import IndexPlan, Row, ledger_key
from ir.errors import InvalidInput
from ir.index.corpus import Corpus
from ir.index.decompose import plan_of, rows_of
from ir.index.garbage import rarely_collected
from ir.index.progress import Listener, Ticker
from ir.index.recipe import Recipe, recipe_for
from ir.index.report import BuildReport, Problem
from ir.index.scan import Item, Known, LedgerLookup, Scan, read_ledger, reason
from ir.index.spool import Spool
from ir.index.writer import Writer
from ir.options import count
from ir.protocols import EdgeExtractor, Store

__all__ = ["build", "prunes", "version_of"]

#: Set in a corpus whose last build was not ``full``.
_KEPT = "keep"


def build(
    source: Any,
    *,
    store: Store | None = None,
    embedder: Any = None,
    full: bool = True,
    batch_size: int = 256,
    edge_extractor: EdgeExtractor | None = None,
    progress: Listener | None = None,
    language: str | None = None,
) -> Corpus:
    """Build or bring up to date the corpus of ``source``.

    An artifact is taken apart and embedded again only if its content, the embedder or the strategy changed. ``full``
    removes artifacts that left the source; without it they stay, also when the corpus is refreshed, until the next
    full build. ``edge_extractor`` rewrites the links of every artifact in scope; without
    it, links stay. One that cannot be read or taken apart is named in ``corpus.report`` and stays as it was.
    Everything happens in one transaction: if the build fails or is interrupted, the corpus is as it was before.

    >>> from ir import CorpusSource, CorpusStore
    >>> source = CorpusSource.from_mapping({"a": "one", "b": "two"}, name="numbers")
    >>> build(source, store=CorpusStore.memory(), embedder="light").report.added
    ['a', 'b']
    """
    batch_size = count("batch_size", batch_size)
    if not hasattr(source, "scope"):
        raise InvalidInput(
            f"A corpus is built of a source, not of {type(source).__name__!r}.",
            remedy="Make one, for instance: ir.CorpusSource.from_mapping({'a': 'some text'}, name='notes')",
        )
    if store is None:
        from ir.store import CorpusStore

        store = CorpusStore.local(source.name)
    began = time.perf_counter()
    with rarely_collected(), store.transaction():
        recipe = recipe_for(source, store, embedder=embedder, language=language)
        job = _Job(source, store, recipe, batch_size, edge_extractor, progress)
        job.run(full=full)
    report = job.report
    report.records = len(store)
    report.version = version_of(store)
    report.seconds = time.perf_counter() - began
    return Corpus(source.name, store, recipe.embedder, recipe.target.embedder_id, report)


class _Job:
    """One build, inside its transaction."""

    def __init__(
        self,
        source: Any,
        store: Store,
        recipe: Recipe,
        batch_size: int,
        edge_extractor: EdgeExtractor | None,
        listener: Listener | None,
    ) -> None:
        self.source = source
        self.store = store
        self.recipe = recipe
        self.edge_extractor = edge_extractor
        self.listener = listener
        self.report = BuildReport()
        self.writer = Writer(store, recipe.embedder, batch_size=batch_size, report=self.report, listener=listener)
        self.written = False
        self.full = True

    def run(self, *, full: bool) -> None:
        self.full = full
        if self.recipe.config and self.recipe.config.get("language", "english") != self.recipe.language:
            self._configure(dict(self.recipe.config))  # what is written from here on is analysed in the new language
        if not full and self._same_embedder() and LedgerLookup.pays(self.store, self.source):
            self._update(LedgerLookup(self.store, self.recipe.target), full=False)
            self._finish()
            return
        known = read_ledger(self.store, self.recipe.target)
        if all(entry.embedded for entry in known.values()):
            self._update(known, full=full)
        else:
            with closing(Spool(self.store)) as spool:
                done = self._update(known, full=full)
                kept = known.keys() - done
                for entry, rows in spool.entries(kept):
                    entry["embedder_id"] = self.recipe.target.embedder_id
                    self._write(entry, rows, new=False, reuse=False)
                self.writer.end()
        self._finish()

    def _same_embedder(self) -> bool:
        """Whether all that is in the store was embedded as it will be now: a build leaves nothing of another model."""
        target = self.recipe.target
        return target.same_model and self.recipe.config.get("embedder_id") == target.embedder_id

    def _update(self, known: dict[str, Known] | LedgerLookup, *, full: bool) -> set[str]:
        """Bring over what changed; the ids that were written or removed."""
        scan = Scan(self.source, known, every=self.edge_extractor is not None, listener=self.listener)
        done = {item.id for item in self._prepared(scan) if self._take(item)}
        self.writer.end()
        if full:
            done.update(self._prune(scan.left))
        self.report.unchanged = scan.unchanged
        self.report.skipped += scan.skipped
        self.report.failed += scan.failed
        return done

    def _prepared(self, scan: Scan) -> Iterable[Item]:
        """What the scan finds; a build that works elsewhere too sends it there first."""
        return scan

    def _take(self, item: Item) -> bool:
        """Work on one artifact; whether its records were written."""
        if not item.changed and self.edge_extractor is None:
            self._restat(item)
            return False
        try:
            plan = plan_of(self.recipe.strategy, self.source, item)
            rows = rows_of(item.id, plan)
        except Exception as error:
            self.report.failed.append(Problem(item.id, f"the strategy failed: {reason(error)}"))
            return False
        if item.changed:
            self._write(self._entry(item), rows, new=item.was is None, reuse=item.was is not None and item.was.embedded)
            (self.report.added if item.was is None else self.report.changed).append(item.id)
            self.report.empty += not rows
        else:
            self._restat(item)
        if self.edge_extractor is not None:
            self._link(item.id, plan, self.edge_extractor)
        return item.changed

    def _write(self, entry: dict[str, Any], rows: list[Row], *, new: bool, reuse: bool) -> None:
        self.written = True
        self.writer.add(entry, rows, new=new, reuse=reuse)

    def _entry(self, item: Item) -> dict[str, Any]:
        target = self.recipe.target
        return {
            "artifact_id": item.id,
            "version": item.version,
            "stat": item.stat,
            "embedder_id": target.embedder_id,
            "strategy_id": target.strategy_id,
        }

    def _restat(self, item: Item) -> None:
        """Remember the new stat of a file whose content is the same, so that the next build need not read it."""
        if item.was is None or item.stat == item.was.stat:
            return
        key = ledger_key(item.id)
        entry = self.store.get_ledger_entry(key)
        if entry is not None:
            self.written = True
            self.store.set_ledger_entry(key, {**entry, "stat": item.stat})

    def _link(self, artifact_id: str, plan: IndexPlan, extract: EdgeExtractor) -> None:
        try:
            edges = {
                kind: list(targets) for kind, targets in extract(artifact_id, plan.filter_fields).items() if targets
            }
        except Exception as error:
            self.report.failed.append(Problem(artifact_id, f"the edge extractor failed: {reason(error)}"))
            return
        if edges != self.store.get_links(artifact_id):
            self.written = True
            self.store.set_links(artifact_id, edges)

    def _prune(self, artifact_ids: list[str]) -> list[str]:
        ticker = Ticker(self.listener, "prune", len(artifact_ids))
        for artifact_id in artifact_ids:
            key = ledger_key(artifact_id)
            entry = self.store.get_ledger_entry(key)
            self.store.delete_records(entry["record_ids"] if entry else [])
            self.store.delete_ledger_entry(key)
            self.store.delete_links(artifact_id)
            ticker.tick()
        if artifact_ids:
            self.written = True
            ticker.end()
        self.report.removed = artifact_ids
        return artifact_ids

    def _finish(self) -> None:
        recipe = self.recipe
        dim = self.writer.dim or (recipe.config.get("dim") if self._same_embedder() else None)
        settings = recipe.settings(self.source, dim)
        settings.pop(_KEPT, None)
        if not self.full:
            settings[_KEPT] = True
        if self.written or settings != recipe.config:
            self._configure({**settings, "built_at": datetime.now(UTC).isoformat(timespec="seconds")})

    def _configure(self, settings: Mapping[str, Any]) -> None:
        self.store.set_config({**settings, "language": self.recipe.language})


def prunes(store: Store) -> bool:
    """Whether a build that nobody asked for may remove what left the source: not if the last one was to keep it."""
    return not store.get_config().get(_KEPT)


def version_of(store: Any) -> str:
    """The version of a corpus; asked of a snapshot only where the store itself does not say."""
    version = getattr(store, "version", None)
    if version is not None:
        return str(version)
    with store.snapshot() as snapshot:
        return str(snapshot.version)
