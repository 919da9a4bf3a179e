"""What is due? Corpora that fell behind their sources, and floors that were calibrated for another embedder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, IrError
from ir.options import choice
from ir.select.gate import PROBES

if TYPE_CHECKING:
    from ir.index.progress import Listener
    from ir.store import CorpusStore

__all__ = ["STATUSES", "TASKS", "MaintenanceResult", "maintain"]

#: ``build`` what was never built, ``update`` what changed in the source, ``reindex`` after another strategy,
#: synthesizer or embedder was chosen, ``calibrate`` floors of another embedder; ``check`` found nothing of these.
TASKS = ("build", "update", "reindex", "calibrate", "check")
STATUSES = ("current", "due", "done", "skipped", "failed")


@dataclass(frozen=True)
class MaintenanceResult:
    """One task for one corpus. ``due``: a dry run did not do it; ``skipped``: it needs you, and ``detail`` says how."""

    corpus: str
    task: str
    status: str
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def maintain(
    names: str | Iterable[str] | None = None, *, dry_run: bool = False, progress: Listener | None = None
) -> list[MaintenanceResult]:
    """Do what is due for the registered corpora, or for those named; one that fails does not stop the others.

    A corpus is brought up to date with its source, made again where its strategy, the synthesizer of its synopses or
    its embedder is no longer the registered one, and its floors are calibrated again if they are for another embedder.
    A floor from probes can always be made again; one from labelled cases if the file it was made from is still there.
    ``dry_run`` only says what is due.
    """
    from ir.registry import registered

    entries = registered()
    wanted = list(entries) if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        choice("registered corpus", name, entries)
    return [result for name in wanted for result in _maintain_one(name, entries[name], dry_run, progress)]


def _maintain_one(
    name: str, entry: Mapping[str, Any], dry_run: bool, progress: Listener | None
) -> list[MaintenanceResult]:
    try:
        results = _index(name, entry, dry_run, progress)
        if results and results[-1].status in ("failed", "skipped"):
            return results
        results += _calibrations(name, results, dry_run)
    except (IrError, OSError) as error:
        return [MaintenanceResult(name, "check", "failed", str(error))]
    return results or [MaintenanceResult(name, "check", "current", "nothing is due")]


def _index(name: str, entry: Mapping[str, Any], dry_run: bool, progress: Listener | None) -> list[MaintenanceResult]:
    """Bring the index up to date; nothing is returned for one that is."""
    from ir.index import build, is_built, plan_build, store_for
    from ir.index.builder import prunes
    from ir.registry import source_from_entry

    source = source_from_entry(name, entry)
    with store_for(name) as store:
        built = is_built(store)
        config = store.get_config() if built else {}
        spec = _embedder(entry, config)
        if spec is None:
            detail = "it was built with an embedder of your own; rebuild it from Python"
            return [MaintenanceResult(name, "update", "skipped", detail)]
        full = prunes(store)
        plan = plan_build(source, store=store if built else None, embedder=spec, full=full)
        counts = [(len(plan.added), "added"), (len(plan.changed), "changed"), (len(plan.removed), "removed")]
        told = ", ".join(f"{number:,} {word}" for number, word in counts if number)
        if built and not told:
            return []
        task = _task(source, store, spec) if built else "build"
        if dry_run:
            return [MaintenanceResult(name, task, "due", told)]
        try:
            build(source, store=store, embedder=spec, full=full, progress=progress)
        except (IrError, OSError) as error:
            return [MaintenanceResult(name, task, "failed", str(error))]
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


def _task(source: Any, store: CorpusStore, spec: str) -> str:
    """Whether the index was made in another way, or only of other content."""
    from ir.index.recipe import recipe_for

    config, target = store.get_config(), recipe_for(source, store, embedder=spec, language=None).target
    made = (config.get("embedder_id"), config.get("strategy_id"), True)
    return "update" if made == (target.embedder_id, target.strategy_id, target.same_model) else "reindex"


def _calibrations(name: str, before: list[MaintenanceResult], dry_run: bool) -> list[MaintenanceResult]:
    from ir.index import Corpus, is_built, open_corpus, store_for

    with store_for(name) as store:
        if not is_built(store) or not store.calibration_modes():
            return []
    corpus: Corpus = open_corpus(name)
    # A dry run leaves the old embedder in place, so all that reindexing will outdate is due as well.
    outdating = any(result.task == "reindex" and result.status == "due" for result in before)
    results = []
    for key in corpus.store.calibration_modes():
        record = corpus.store.get_calibration(key) or {}
        if not outdating and record.get("embedder_id") in (None, corpus.embedder_id):
            continue
        if dry_run:
            results.append(MaintenanceResult(name, "calibrate", "due", f"the floor for {key!r}"))
        else:
            results.append(_calibrated(corpus, key, record))
    return results


def _calibrated(corpus: Any, key: str, record: Mapping[str, Any]) -> MaintenanceResult:
    try:
        floor = _floor(corpus, record)
    except (IrError, OSError) as error:
        return MaintenanceResult(corpus.name, "calibrate", "skipped", f"the floor for {key!r}: {error}")
    return MaintenanceResult(corpus.name, "calibrate", "done", f"the floor for {key!r} is now {floor:.3f}")


def _floor(corpus: Any, record: Mapping[str, Any]) -> float:
    """Calibrate again as it was done before, save it, and return the floor."""
    from ir.eval import DFLT_PERCENTILE, MinScoreCalibration, calibrate_from_probes, calibrate_min_score, load_cases
    from ir.eval.probes import read_probes

    was = MinScoreCalibration.from_dict(record)
    again = f"Calibrate again with: ir calibrate-min-score {corpus.name}"
    if was.rerank:
        raise InvalidInput("It was made with a reranker.", remedy="Calibrate again from Python, with that reranker.")
    if was.made_from and not Path(was.made_from).is_file():
        raise InvalidInput(f"{was.made_from}, which it was made from, is gone.", remedy=again)
    keywords: dict[str, Any] = {"mode": was.mode, "k": was.k}
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
