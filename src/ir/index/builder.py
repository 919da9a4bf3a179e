"""How a store comes to hold what a source holds: incrementally, and all in one transaction."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ir.base import IndexPlan, Row, ledger_key, storable
from ir.errors import InvalidInput
from ir.index.allowance import within_quota
from ir.index.corpus import Corpus
from ir.index.decompose import plan_of, rows_of
from ir.index.embedder import is_of
from ir.index.embedding import Embedding
from ir.index.floor import ProbeScores, automatic_record, drifted, measure_floor
from ir.index.garbage import rarely_collected
from ir.index.linking import Linking
from ir.index.progress import Listener, Progress, Ticker
from ir.index.recipe import Recipe, recipe_for
from ir.index.report import BuildReport, Problem
from ir.index.scan import Item, Known, LedgerLookup, Scan, read_ledger, reason
from ir.index.showing import shown
from ir.index.spaces import fill, free_name
from ir.index.writer import Held, Writer
from ir.links import Edge, edges_of_links
from ir.options import count
from ir.protocols import EdgeExtractor, Source, Store, WithBodies, WithCompletion, WithNotes, WithPassedOver, WithScope
from ir.select.gate import AUTOMATIC

__all__ = ["EmptyCorpus", "build", "prunes"]

#: Set in a corpus whose last build was not ``full``.
_KEPT = "keep"
#: So many artifacts are looked up at once.
_READ = 1000


class EmptyCorpus(UserWarning):
    """A build took in nothing of a source that holds something."""


def build(
    source: Source,
    *,
    store: Store | None = None,
    embedder: Any = None,
    full: bool = True,
    batch_size: int = 256,
    edge_extractor: EdgeExtractor | None = None,
    progress: Listener | None = None,
    language: str | None = None,
    floor: bool = True,
    held: Held | None = None,
) -> Corpus:
    """Build or bring up to date the corpus of ``source``.

    An artifact is taken apart and embedded again only if its content, the embedder or the strategy changed. ``full``
    removes artifacts that left the source; without it they stay, also when the corpus is refreshed, until the next
    full build. ``edge_extractor`` rewrites the links of every artifact in scope; without
    it, links stay. One that cannot be read or taken apart is named in ``corpus.report`` and stays as it was; if nothing
    at all could be taken in, a warning says why.
    Everything happens in one transaction: if the build fails or is interrupted, the corpus is as it was before.

    With the corpus a floor is kept, below which ``discover(min_score="auto")`` refuses a query as off topic: what
    queries about other things score here. It is made anew when a fifth of the artifacts changed. Without ``floor``
    none is made; one that fits no longer goes all the same. ``held`` is asked for the vectors of texts before they are
    embedded; it returns those that somebody has already.

    >>> from ir import CorpusSource, CorpusStore
    >>> source = CorpusSource.from_mapping({"a": "one", "b": "two"}, name="numbers")
    >>> build(source, store=CorpusStore.memory(), embedder="light").report.added
    ['a', 'b']
    """
    batch_size = count("batch_size", batch_size)
    if not isinstance(source, WithScope):
        raise InvalidInput(
            f"A corpus is built from a source, not from {type(source).__name__!r}.",
            remedy="Make one, for instance: ir.CorpusSource.from_mapping({'a': 'some text'}, name='notes')",
        )
    if store is None:
        from ir.store import CorpusStore

        store = within_quota(CorpusStore.local(source.name), source.name)
    began = time.perf_counter()
    with rarely_collected(), store.transaction():
        recipe = recipe_for(source, store, embedder=embedder, language=language)
        job = _Job(source, store, recipe, batch_size, edge_extractor, progress, floor=floor)
        job.writer.held = held
        job.run(full=full)
        job.tell_writing()
    return job.finished(began)


class _Job:
    """One build, inside its transaction."""

    def __init__(
        self,
        source: Source,
        store: Store,
        recipe: Recipe,
        batch_size: int,
        edge_extractor: EdgeExtractor | None,
        listener: Listener | None,
        *,
        floor: bool = True,
    ) -> None:
        self.source = source
        self.store = store
        self.recipe = recipe
        self.batch_size = batch_size
        self.edge_extractor = edge_extractor
        self.listener = listener
        self.report = BuildReport()
        self.writer = Writer(store, recipe.embedder, batch_size=batch_size, report=self.report, listener=listener)
        self.dim: int | None = None
        self.written = False
        self.full = True
        self.floor = floor
        #: How many artifacts were written; ``anew`` if nothing of before is left beside them.
        self.artifacts = 0
        self.anew = False
        self._body_of = source.scope.body_of if isinstance(source.scope, WithBodies) else None
        self.linking = Linking(store, recipe.strategy, self.report, listener)
        #: An extractor that says which one it is need not be asked again of what did not change.
        self.extractor_id: str | None = getattr(edge_extractor, "extractor_id", None)

    def run(self, *, full: bool) -> None:
        self.full = full
        if self.recipe.config and self.recipe.config.get("language", "english") != self.recipe.language:
            self._configure(dict(self.recipe.config))  # what is written from here on is analysed in the new language
        if not full and self._same_embedder() and LedgerLookup.pays(self.store, self.source):
            self._update(LedgerLookup(self.store, self.recipe.target), full=False)
            self._finish()
            return
        known = read_ledger(self.store, self.recipe.target)
        if known and not any(entry.decomposed for entry in known.values()):
            self.report.notes.append(
                "Texts are cut into pieces in another way than at the last build, so all were read again; pieces that "
                "are as they were kept their vectors."
            )
        self.anew = not any(entry.embedded for entry in known.values())
        if self.anew and self.floor:
            self.writer.probes = ProbeScores(self.recipe.embedder, batch_size=self.batch_size)
        if all(entry.embedded for entry in known.values()):
            self._update(known, full=full)
        else:
            self._switch(known, full=full)
        self._finish()

    def _switch(self, known: dict[str, Known], *, full: bool) -> None:
        """Embed everything by another model: into a space of its own, which then takes the place of the old one.

        Nothing is read again for it; what did not change is embedded from the records that are there.
        """
        store, embedder_id = self.store, self.recipe.target.embedder_id
        former, space = store.default_space, self._space_of_model()
        self.writer.space = space
        done = self._update(known, full=full, apart=True)
        # In the order of the source, then what is not in it any more.
        left = [one for one in dict.fromkeys([*self.report.unchanged, *known]) if one not in done]
        embedding = Embedding(self.recipe.embedder, batch_size=self.batch_size, listener=self.listener)
        ahead = len(store) - self.report.embedded
        for part in _batches(left, _READ):
            entries = [entry for entry in (store.get_ledger_entry(ledger_key(one)) for one in part) if entry]
            record_ids = [record_id for entry in entries for record_id in entry["record_ids"]]
            held = store.get_vectors(record_ids, space=space)
            record_ids = [record_id for record_id in record_ids if record_id not in held]
            if held and self.writer.probes is not None:
                self.writer.probes.see(list(held.values()))
            see = self.writer.probes.see if self.writer.probes is not None else None
            ahead = max(0, ahead - len(record_ids))
            done_now = fill(
                store,
                space,
                self.recipe.embedder,
                record_ids,
                batch_size=self.batch_size,
                progress=self.listener,
                see=see,
                alone=True,
                embedding=embedding,
                ahead=ahead,
            )
            self.report.embedded += done_now
            store.set_ledger_entries(
                {ledger_key(entry["artifact_id"]): {**entry, "embedder_id": embedder_id} for entry in entries}
            )
            self.report.changed += [entry["artifact_id"] for entry in entries]
        embedding.end()
        self.artifacts += len(left)
        moved = set(left)
        self.report.unchanged = [one for one in self.report.unchanged if one not in moved]
        store.delete_records(store.unembedded(space=space))  # no ledger entry names them, so nobody knows their source
        self.dim = self.writer.dim or store.spaces()[space]
        store.set_default_space(space)
        store.drop_space(former)
        self.written = True

    def _space_of_model(self) -> str:
        """A space for the vectors of the new model; one that somebody began to fill by the same model is taken."""
        target, others = self.recipe.target, self.recipe.config.get("spaces") or {}
        for name, told in others.items():
            same = told.get("embedder_id") == target.embedder_id and told.get("fingerprint")
            if same and name in self.store.spaces() and is_of(self.recipe.embedder, same):
                return str(name)
        space = free_name(target.embedder_id, self.store.spaces())
        self.store.add_space(space)
        return space

    def _same_embedder(self) -> bool:
        """Whether all that is in the store was embedded as it will be now: a build leaves nothing of another model."""
        target = self.recipe.target
        return target.same_model and self.recipe.config.get("embedder_id") == target.embedder_id

    def _update(self, known: dict[str, Known] | LedgerLookup, *, full: bool, apart: bool = False) -> set[str]:
        """Bring over what changed; the ids that were written or removed."""
        every = self.edge_extractor is not None and self.extractor_id is None
        scan = Scan(self.source, known, every, self.listener, links=self.extractor_id, apart=apart)
        self.writer.to_come = scan.more
        done = {item.id for item in self._prepared(scan) if self._take(item)}
        self.writer.end()
        if full:
            done.update(self._prune(scan.left))
        self.linking.finish()
        self.written = self.written or self.linking.written
        self.report.unchanged = scan.unchanged
        self.report.skipped += scan.skipped
        self.report.failed += scan.failed
        self.report.remarks += scan.remarks
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
            if plan.nodes:
                plan.nodes = shown(plan.nodes, rows)
        except Exception as error:
            self.report.failed.append(Problem(item.id, f"the strategy failed: {reason(error)}"))
            return False
        if item.changed:
            if plan.remark:
                self.report.remarks.append(Problem(item.id, plan.remark))
            entry = self._entry(item)
            held = None if item.was is None else self.store.get_ledger_entry(ledger_key(item.id))
            self.linking.take(item.id, plan, self._extracted(item.id, plan), entry, held)
            self._write(entry, rows, new=item.was is None, reuse=item.was is not None and item.was.embedded)
            (self.report.added if item.was is None else self.report.changed).append(item.id)
            self.report.empty += not rows
            return True
        self._restat(item)
        if plan.symbols is None:  # else the names that it uses were resolved, and its links drawn, when it came
            own = [edge for edge in plan.edges if edge.source == item.id]
            self.linking.draw({item.id: [*own, *self._extracted(item.id, plan)]})
        return False

    def _write(self, entry: dict[str, Any], rows: list[Row], *, new: bool, reuse: bool) -> None:
        self.written = True
        self.artifacts += 1
        self.writer.add(entry, rows, new=new, reuse=reuse)

    def _entry(self, item: Item) -> dict[str, Any]:
        target = self.recipe.target
        entry = {
            "artifact_id": item.id,
            "version": item.version,
            "stat": item.stat,
            "embedder_id": target.embedder_id,
            "strategy_id": target.strategy_id,
        }
        if self.extractor_id is not None:
            entry["links"] = self.extractor_id
        body = self._body_of(item.id) if self._body_of else None
        if isinstance(body, str):
            entry["body"] = storable(body)
        return entry

    def _restat(self, item: Item) -> None:
        """Remember the new stat of a file whose content is the same, so that the next build need not read it."""
        links = self.extractor_id if self.edge_extractor is not None else None
        if item.was is None or (item.stat == item.was.stat and (links is None or links == item.was.links)):
            return
        key = ledger_key(item.id)
        entry = self.store.get_ledger_entry(key)
        if entry is not None:
            self.written = True
            told = {"stat": item.stat} if links is None else {"stat": item.stat, "links": links}
            self.store.set_ledger_entry(key, {**entry, **told})

    def _extracted(self, artifact_id: str, plan: IndexPlan) -> list[Edge]:
        """The links that the extractor finds in the fields of an artifact."""
        if self.edge_extractor is None:
            return []
        try:
            links = self.edge_extractor(artifact_id, plan.filter_fields)
            return edges_of_links(artifact_id, {kind: list(targets) for kind, targets in links.items() if targets})
        except Exception as error:
            self.report.failed.append(Problem(artifact_id, f"the edge extractor failed: {reason(error)}"))
            return edges_of_links(artifact_id, self.store.get_links(artifact_id))

    def _prune(self, artifact_ids: list[str]) -> list[str]:
        ticker = Ticker(self.listener, "prune", len(artifact_ids), unit="items")
        for artifact_id in artifact_ids:
            key = ledger_key(artifact_id)
            entry = self.store.get_ledger_entry(key)
            self.store.delete_records(entry["record_ids"] if entry else [])
            for part in entry.get("parts", ()) if entry else ():
                self.store.delete_ledger_entry(ledger_key(part))
            self.store.delete_ledger_entry(key)
            self.linking.forget(artifact_id, entry)
            self.linking.clear([artifact_id])
            ticker.tick()
        if artifact_ids:
            self.written = True
            ticker.end()
        self.report.removed = artifact_ids
        return artifact_ids

    def _finish(self) -> None:
        recipe = self.recipe
        if isinstance(recipe.strategy, WithCompletion):
            self.written = recipe.strategy.complete(self.store) or self.written
        dim = self.writer.dim or self.dim or (recipe.config.get("dim") if self._same_embedder() else None)
        settings = recipe.settings(self.source, dim)
        settings.pop(_KEPT, None)
        if settings.get("spaces"):  # what is known of the default one stands beside them
            default = self.store.default_space
            settings["spaces"] = {name: told for name, told in settings["spaces"].items() if name != default}
        if not self.full:
            settings[_KEPT] = True
        if self.written or settings != recipe.config:
            self._configure({**settings, "built_at": datetime.now(UTC).isoformat(timespec="seconds")})
        self._settle_floor()

    def _settle_floor(self) -> None:
        """See to it that the floor belongs to what the corpus holds now, or is gone."""
        held = self.store.get_calibration(AUTOMATIC)
        target, report = self.recipe.target, self.report
        scores = self.writer.probes.scores if self.writer.probes is not None else None
        kept: Mapping[str, Any] | None = None
        if self.anew and scores is not None:
            kept = automatic_record(
                scores,
                corpus_name=self.source.name,
                embedder_id=target.embedder_id,
                language=self.recipe.language,
                artifacts=self.artifacts,
            )
        elif held is not None and not (self.anew and self.artifacts):
            changes = len(report.added) + len(report.changed) + len(report.removed)
            kept = drifted(held, changes, embedder_id=target.embedder_id, language=self.recipe.language)
        if kept is not None and kept != held:
            self.store.set_calibration(AUTOMATIC, kept)
        if kept is None and held is not None:
            self.store.delete_calibration(AUTOMATIC)
        report.floor = None if kept is None else float(kept["min_score"])

    def tell_writing(self) -> None:
        """What searches need is made when the transaction ends, and nobody knows how long that takes."""
        if self.listener is not None and self.written:
            self.listener(Progress("write", 0, None))

    def finished(self, began: float) -> Corpus:
        """The corpus, after the transaction; a floor that is due is measured now.

        That nothing is left of a source that holds something is a warning too: it looks like a corpus, and finds
        nothing.
        """
        target, report = self.recipe.target, self.report
        corpus = Corpus(
            self.source.name, self.store, self.recipe.embedder, target.embedder_id, report, source=self.source
        )
        report.records = len(self.store)
        if isinstance(self.recipe.strategy, WithNotes):
            report.notes += self.recipe.strategy.notes()
        if not report.records:
            report.notes.append(report.why_empty(self.source.name, self.source.scope))
            scope = self.source.scope
            if report.skipped or report.failed or (isinstance(scope, WithPassedOver) and scope.passed_over):
                warnings.warn(report.notes[-1], EmptyCorpus, stacklevel=3)
        if self.floor and report.floor is None and report.records and self.writer.probes is None:
            report.floor = measure_floor(corpus, language=self.recipe.language)
        report.version = self.store.version
        if len(self.store.spaces()) > 1:
            # Not by a snapshot, which would be made for nobody else inside a transaction of the caller's.
            missing = {space: len(self.store.unembedded(space=space)) for space in self.store.spaces()}
            report.unembedded = {space: number for space, number in missing.items() if number}
        report.seconds = time.perf_counter() - began
        if self.listener is not None and self.written:
            self.listener(Progress("write", 1, 1))
        return corpus

    def _configure(self, settings: Mapping[str, Any]) -> None:
        self.store.set_config({**settings, "language": self.recipe.language})


def _batches(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def prunes(store: Store) -> bool:
    """Whether a build that nobody asked for may remove what left the source: not if the last one was to keep it."""
    return not store.get_config().get(_KEPT)
