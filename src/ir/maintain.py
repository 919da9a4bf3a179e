"""What is due? Corpora that fell behind their sources, and floors that were calibrated for another embedder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, IrError
from ir.options import choice
from ir.policy import NEVER, OUTDATED, Done, Policy
from ir.protocols import Corpus, Source, Store
from ir.select.gate import AUTOMATIC, PROBES

if TYPE_CHECKING:
    from ir.index.progress import Listener, Progress

__all__ = ["STATUSES", "TASKS", "MaintenanceResult", "maintain"]

#: ``build`` what was never built, ``update`` what changed in the source, ``reindex`` after another strategy,
#: synthesizer or embedder was chosen, ``upgrade`` what the better model has not read, ``calibrate`` floors of another
#: embedder; ``check`` found nothing of these.
TASKS = ("build", "update", "reindex", "upgrade", "calibrate", "check")
STATUSES = ("current", "waiting", "due", "done", "skipped", "failed")


@dataclass(frozen=True)
class MaintenanceResult:
    """One task for one corpus. ``due``: a dry run did not do it; ``waiting``: it is not time yet, by the policy of the
    corpus; ``skipped``: it needs you, and ``detail`` says how."""

    corpus: str
    task: str
    status: str
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def maintain(
    names: str | Iterable[str] | None = None,
    *,
    dry_run: bool = False,
    progress: Listener | None = None,
    at_once: bool = False,
    now: datetime | None = None,
) -> list[MaintenanceResult]:
    """Do what is due for the registered corpora, or for those named; one that fails does not stop the others.

    A corpus is brought up to date with its source, made again where its strategy, the synthesizer of its synopses or
    its embedder is no longer the registered one, and its floors are calibrated again if they are for another embedder.
    A floor from probes can always be made again; one from labelled cases if the file it was made from is still there.
    ``dry_run`` only says what is due. What is due when is the corpus's :class:`~ir.policy.Policy`; ``at_once`` goes by
    the default one instead, and ``now`` stands for the present.
    """
    from ir.registry import entered, registered

    entries = registered()
    wanted = list(entered()) if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        choice("registered corpus", name, entries)
    present = (now or datetime.now(UTC)).astimezone()
    return [
        result
        for name in wanted
        for result in _Upkeep(name, entries[name], dry_run, progress, present).results(at_once=at_once)
    ]


class _Upkeep:
    """The upkeep of one corpus at one moment."""

    def __init__(
        self, name: str, entry: Mapping[str, Any], dry_run: bool, progress: Listener | None, now: datetime
    ) -> None:
        self.name = name
        self.entry = entry
        self.dry_run = dry_run
        self.progress = progress
        self.now = now
        self.done = Done()

    def results(self, *, at_once: bool) -> list[MaintenanceResult]:
        try:
            policy = Policy() if at_once else Policy.of(self.entry.get("maintenance"))
            pause = policy.pause(self.now)
            if pause is not None:
                return [MaintenanceResult(self.name, "check", "waiting", pause)]
            results = self._refreshed(policy)
            if results and results[-1].status in ("failed", "skipped"):
                return results
            results += self._calibrated(policy, results)
        except (IrError, OSError) as error:
            return [MaintenanceResult(self.name, "check", "failed", str(error))]
        return results or [MaintenanceResult(self.name, "check", "current", "nothing is due")]

    def _told(self, step: Progress) -> None:
        """Each step with the name of the corpus. No other embedder is proposed: nobody chose one just now."""
        if self.progress is not None:
            plain = None if step.estimate is None else replace(step.estimate, faster=None)
            self.progress(step.but(part=self.name, estimate=plain))

    def _refreshed(self, policy: Policy) -> list[MaintenanceResult]:
        wait = policy.wait("refresh", self.done.when(self.name, "refreshed"), self.now)
        if wait is not None:
            return [MaintenanceResult(self.name, "check", "waiting", wait)]
        results = _index(self.name, self.entry, self.dry_run, self._told)
        # What failed is tried again at the next run, however soon that is.
        if policy.is_timed and not self.dry_run and all(result.status == "done" for result in results):
            self.done.note(self.name, refreshed=self.now.isoformat(timespec="seconds"))
        return results

    def _calibrated(self, policy: Policy, before: list[MaintenanceResult]) -> list[MaintenanceResult]:
        from ir.index import open_store

        if policy.calibrate == NEVER:
            return []
        last = self.done.when(self.name, "calibrated")
        again = policy.calibrate != OUTDATED and policy.wait("calibrate", last, self.now) is None
        held = self.done.about(self.name).get("calibrated_version")
        results = _calibrations(self.name, before, self.dry_run, held, again=again, progress=self._told)
        if again and results and not self.dry_run:
            with open_store(self.name) as store:
                version = store.version
            self.done.note(self.name, calibrated=self.now.isoformat(timespec="seconds"), calibrated_version=version)
        return results


def _index(name: str, entry: Mapping[str, Any], dry_run: bool, progress: Listener | None) -> list[MaintenanceResult]:
    """Bring the index up to date, first by the fast model if it has one; nothing is returned for one that is."""
    from ir.index import store_for

    with store_for(name) as store:
        results = _updated(name, entry, store, dry_run, progress)
        if all(result.status == "done" for result in results):
            results += _upgraded(name, store, dry_run, progress)
    return results


def _upgraded(name: str, store: Store, dry_run: bool, progress: Listener | None) -> list[MaintenanceResult]:
    """Let the better model of a corpus read what it has not read yet, unless the user wants none."""
    from ir.config import Settings
    from ir.index.upgrade_job import do, standing

    now = standing(store, name)
    if now is None or now.running or Settings.load()["upgrade"] == "never":
        return []
    if dry_run:
        return [MaintenanceResult(name, "upgrade", "due", f"{now.total - now.done:,} records to {now.model}")]
    try:
        made = do(store, name, progress=progress)
    except (IrError, OSError) as error:
        return [MaintenanceResult(name, "upgrade", "failed", str(error))]
    return [] if made is None else [MaintenanceResult(name, "upgrade", "done", f"{made:,} records to {now.model}")]


def _updated(
    name: str, entry: Mapping[str, Any], store: Store, dry_run: bool, progress: Listener | None
) -> list[MaintenanceResult]:
    from ir.index import build, is_built, plan_build
    from ir.index.builder import prunes
    from ir.index.upgrade import build_fast, built_by, upgrade_of
    from ir.registry import enter_preset, source_from_entry

    source = source_from_entry(name, entry)
    built = is_built(store)
    fast = built and upgrade_of(store) is not None and str(entry.get("embedder") or "default") == "default"
    spec = built_by(store) if fast else _embedder(entry, store.get_config() if built else {})
    if spec is None:
        detail = "it was built with an embedder of your own; rebuild it from Python"
        return [MaintenanceResult(name, "update", "skipped", detail)]
    full = prunes(store)
    plan = plan_build(source, store=store if built else None, embedder=spec, full=full, progress=progress)
    counts = [(len(plan.added), "added"), (len(plan.changed), "changed"), (len(plan.removed), "removed")]
    told = ", ".join(f"{number:,} {word}" for number, word in counts if number)
    if built and not told:
        return []
    task = _task(source, store, spec) if built else "build"
    if dry_run:
        return [MaintenanceResult(name, task, "due", told)]
    try:
        if fast:
            build_fast(source, store=store, full=full, progress=progress)
        else:
            build(source, store=store, embedder=spec, full=full, progress=progress)
    except (IrError, OSError) as error:
        return [MaintenanceResult(name, task, "failed", str(error))]
    if len(store):
        enter_preset(name)
    return [MaintenanceResult(name, task, "done", told)]


def _embedder(entry: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """What to embed with: what was registered on purpose, else what built the corpus; ``None`` for a callable."""
    from ir.index.embedder import CUSTOM

    held = config.get("embedder")
    if held == CUSTOM:
        return None
    registered = str(entry.get("embedder") or "default")
    if registered != "default":
        return registered
    if held:
        return str(held)
    from ir.embed import best_available

    return best_available()


def _task(source: Source, store: Store, spec: Any) -> str:
    """Whether the index was made in another way, or only of other content."""
    from ir.index.recipe import recipe_for

    config, target = store.get_config(), recipe_for(source, store, embedder=spec, language=None).target
    made = (config.get("embedder_id"), config.get("strategy_id"), True)
    return "update" if made == (target.embedder_id, target.strategy_id, target.same_model) else "reindex"


def _calibrations(
    name: str, before: list[MaintenanceResult], dry_run: bool, held: str | None, *, again: bool, progress: Listener
) -> list[MaintenanceResult]:
    """Make floors again that are for another embedder; ``again`` also the others, unless the corpus is still in the
    state ``held``, for which they would come out the same."""
    from ir.index import is_built, open_corpus, store_for

    with store_for(name) as store:
        if not is_built(store) or not set(store.calibration_modes()) - {AUTOMATIC}:
            return []
    corpus = open_corpus(name)
    # A dry run leaves the old embedder in place, so all that reindexing will outdate is due as well.
    outdating = any(result.task == "reindex" and result.status == "due" for result in before)
    every = outdating or (again and corpus.store.version != held)
    results = []
    for key in corpus.store.calibration_modes():
        if key == AUTOMATIC:  # builds see to it
            continue
        record = corpus.store.get_calibration(key) or {}
        if not every and record.get("embedder_id") in (None, corpus.embedder_id):
            continue
        if dry_run:
            results.append(MaintenanceResult(name, "calibrate", "due", f"the floor for {key!r}"))
        else:
            results.append(_calibrated(corpus, key, record, progress))
    return results


def _calibrated(corpus: Corpus, key: str, record: Mapping[str, Any], progress: Listener) -> MaintenanceResult:
    try:
        floor = _floor(corpus, record, progress)
    except (IrError, OSError) as error:
        return MaintenanceResult(corpus.name, "calibrate", "skipped", f"the floor for {key!r}: {error}")
    return MaintenanceResult(corpus.name, "calibrate", "done", f"the floor for {key!r} is now {floor:.3f}")


def _floor(corpus: Corpus, record: Mapping[str, Any], progress: Listener) -> float:
    """Calibrate again as it was done before, save it, and return the floor."""
    from ir.eval import DFLT_PERCENTILE, MinScoreCalibration, calibrate_from_probes, calibrate_min_score, load_cases
    from ir.eval.probes import read_probes

    was = MinScoreCalibration.from_dict(record)
    again = f"Calibrate again with: ir calibrate-min-score {corpus.name}"
    if was.rerank:
        raise InvalidInput("It was made with a reranker.", remedy="Calibrate again from Python, with that reranker.")
    if was.made_from and not Path(was.made_from).is_file():
        raise InvalidInput(f"{was.made_from}, which it was made from, is gone.", remedy=again)
    keywords: dict[str, Any] = {"mode": was.mode, "k": was.k, "progress": progress}
    if was.fusion:
        keywords["fusion"] = was.fusion
    if was.kind == PROBES:
        probes = read_probes(was.made_from) if was.made_from else None
        keywords |= {"percentile": was.percentile or DFLT_PERCENTILE, "signal": was.signal}
        made = calibrate_from_probes(corpus, probes=probes, **keywords)
    elif was.made_from:
        keywords |= {"sensitivity_weight": was.sensitivity_weight, "max_loss": was.max_loss}
        made = calibrate_min_score(corpus, load_cases(was.made_from), **keywords)
    else:
        raise InvalidInput("It is not known which cases it was made from.", remedy=f"{again} CASES")
    if made.min_score is None:
        raise InvalidInput(f"No floor came of it ({made.reason}).", remedy=again)
    replace(made, made_from=was.made_from).save(corpus)
    return made.min_score
