"""Answer first, get better meanwhile: a corpus has vectors of a fast model, until a better one has read all of it.

Such a corpus remembers its two models (:class:`Upgrade`). Whatever changes gets words and fast vectors at once; the
better model's vectors are made into a space of their own, in steps that stay, and that space becomes the default one
together with its floor once no record lacks a vector in it. Until then the fast space is the default one, as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ir.errors import CorpusBusy, EmbedderError, EmbedderUnavailable
from ir.index.builder import build
from ir.index.corpus import Corpus
from ir.index.embedder import LazyEmbedder, embedder_for, is_of, resolve, spec_text
from ir.index.floor import drifted, measure_floor, measured
from ir.index.progress import Listener, Ticker
from ir.index.spaces import FLOOR, described, embedded, fill, free_name, switch_space
from ir.select.gate import AUTOMATIC

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.index.report import BuildReport
    from ir.protocols import Embedder, Source, Store

__all__ = ["FEW", "Upgrade", "build_fast", "built_by", "fast_embedder", "forget", "missing", "run", "upgrade_of"]

#: So many records are embedded by the better model on the way: that takes about as long as loading it.
FEW = 50
#: Where a corpus keeps its two models among its settings.
_KEY = "upgrade"
_SPACES = "spaces"
#: So many texts are embedded at once; vectors are kept about every so many seconds.
_BATCH = 32
_KEPT_EVERY_S = 3.0
_FIRST, _LEAST, _MOST = 64, 16, 2048
#: How long to wait before a corpus that somebody else is writing is tried again.
_AGAIN_S = 1.0


@dataclass(frozen=True)
class Upgrade:
    """The fast space of a corpus, and the model that makes the better one, which reads ``window`` tokens of a text.

    ``better`` is the name of that space; ``None`` before the first of its vectors. ``done`` if it is the default one.
    """

    fast: str
    to: str
    window: int | None = None
    better: str | None = None
    done: bool = False


class _Unchanged(Exception):
    """A build found nothing to do."""


def upgrade_of(store: Store) -> Upgrade | None:
    """What a corpus is to become, or became, better by; ``None`` for one that has the model that it was given."""
    return of_settings(store.get_config(), store.spaces(), store.default_space)


def of_settings(config: Mapping[str, Any], spaces: Mapping[str, Any], default: str) -> Upgrade | None:
    """:func:`upgrade_of` from what a version of the corpus says; somebody may have dropped its fast space."""
    told = config.get(_KEY)
    if not told or told["fast"] not in spaces:
        return None
    better = told.get("better") if told.get("better") in spaces else None
    if default not in (told["fast"], better):
        return None
    return Upgrade(told["fast"], told["to"], told.get("window"), better, default == better)


def missing(store: Store, upgrade: Upgrade) -> int:
    """How many records the better model has not read yet."""
    return len(store) if upgrade.better is None else len(store.unembedded(space=upgrade.better))


def fast_embedder(spec: str, window: int | None) -> LazyEmbedder:
    """The fast model, for texts that are cut as the better one reads them."""
    model, embedder_id = resolve(spec)
    settings = described(model, spec, embedder_id, None)
    return _Fast(settings, lambda: (model, embedder_id), window)


class _Fast(LazyEmbedder):
    def __init__(
        self, config: Mapping[str, Any], make: Callable[[], tuple[Embedder, str]], max_tokens: int | None
    ) -> None:
        super().__init__(config, make)
        self.max_tokens = max_tokens


def built_by(store: Store) -> Any:
    """What a build that is to change nothing about the models of a corpus embeds with; ``None`` if nobody knows."""
    config, upgrade = store.get_config(), upgrade_of(store)
    if upgrade is None or upgrade.done:
        return config.get("embedder")
    return fast_embedder(str(config["embedder"]), upgrade.window)


def build_fast(
    source: Source,
    *,
    store: Store,
    fast: str | None = None,
    to: str | None = None,
    window: int | None = None,
    few: int = FEW,
    progress: Listener | None = None,
    **keywords: Any,
) -> Corpus:
    """:func:`ir.build` by the fast model, of a new corpus (``fast``, ``to``) or of one that knows its two.

    If the better model read everything before, it reads up to ``few`` changed records too, and stays the default; if
    there are more, the fast one is from now on. It is one transaction.
    """
    held = upgrade_of(store)
    if held is not None:
        config = store.get_config()
        fast = str((config if not held.done else config[_SPACES][held.fast])["embedder"])
        to, window = held.to, held.window
    to = None if to is None else spec_text(to)
    built = "embedder_id" in store.get_config()
    try:
        with store.transaction():
            if held is not None and held.done:
                switch_space(store, held.fast)
            embedder = fast_embedder(str(fast), window)
            if held is not None and held.done:  # what was built by the better model alone
                lacking = store.unembedded(space=held.fast)
                fill(store, held.fast, embedder, lacking, batch_size=256, progress=None, alone=True)
            corpus = build(source, store=store, embedder=embedder, progress=progress, floor=not built, **keywords)
            report = corpus.report
            assert report is not None, "a corpus that was just built has a report"
            if held is not None and held.done and not _changes(report):
                raise _Unchanged
            if to is not None:
                _remember(store, {"fast": store.default_space, "to": to, "window": window})
            if held is not None and held.done:
                _catch_up(store, few, _changes(report), language=_language(store))
    except _Unchanged:
        return build(source, store=store, embedder=str(to), progress=progress, **keywords)
    return _finished(corpus, report)


def _changes(report: BuildReport) -> int:
    return len(report.added) + len(report.changed) + len(report.removed)


def _remember(store: Store, told: Mapping[str, Any]) -> None:
    config = store.get_config()
    if any(config.get(_KEY, {}).get(key) != value for key, value in told.items()):
        store.set_config({**config, _KEY: {**config.get(_KEY, {}), **told}})


def forget(store: Store) -> None:
    """Let a corpus keep the model that it is given from now on; what was made of a better one is dropped."""
    with store.transaction():
        upgrade, config = upgrade_of(store), store.get_config()
        if _KEY not in config:
            return
        spare = [] if upgrade is None else [upgrade.fast if upgrade.done else upgrade.better]
        for space in filter(None, spare):
            store.drop_space(space)
        others = {name: told for name, told in config.get(_SPACES, {}).items() if name not in spare}
        kept = {key: value for key, value in config.items() if key not in (_KEY, _SPACES)}
        store.set_config({**kept, **({_SPACES: others} if others else {})})


def _catch_up(store: Store, few: int, changes: int, *, language: str) -> None:
    """Go back to the better space if it lacks next to nothing; inside the transaction that made it lack that."""
    upgrade = upgrade_of(store)
    if upgrade is None or upgrade.better is None:
        return
    lacking = store.unembedded(space=upgrade.better, limit=few + 1)
    if len(lacking) > few:
        return
    try:
        model, embedder_id = resolve(upgrade.to)
        if not _is_held(store, upgrade.better, model, embedder_id):
            return
        fill(store, upgrade.better, model, lacking, batch_size=_BATCH, progress=None, alone=True)
    except (EmbedderUnavailable, EmbedderError):
        return  # the job says what is wrong
    held = store.get_config()[_SPACES][upgrade.better].get(FLOOR)
    floor = None if held is None else drifted(held, changes, embedder_id=embedder_id, language=language)
    switch_space(store, upgrade.better, floor=floor)
    if floor is None:
        store.delete_calibration(AUTOMATIC)


def _finished(corpus: Corpus, report: BuildReport) -> Corpus:
    """The corpus as it is after the transaction; a floor that is due is measured now."""
    store = corpus.store
    lazy = embedder_for(store.get_config(), None)
    now = Corpus(corpus.name, store, lazy, lazy.id, report, source=corpus.source)
    floor = store.get_calibration(AUTOMATIC)
    if floor is None and report.records:
        report.floor = measure_floor(now, language=_language(store))
    else:
        report.floor = None if floor is None else float(floor["min_score"])
    report.version = store.version
    return now


def run(
    store: Store,
    name: str,
    *,
    progress: Listener | None = None,
    wanted: Callable[[], bool] = lambda: True,
    kept: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Make the better model's vectors and let it take over; how many it made. ``name`` is that of the corpus.

    Nothing is done for a corpus that has no better model, or whose better one has read everything. ``wanted`` is asked
    before each step, and ``kept(done, total)`` hears what is safe. Each step waits for whoever writes the corpus.
    """
    upgrade = upgrade_of(store)
    if upgrade is None or upgrade.done:
        return 0
    model, embedder_id = resolve(upgrade.to)
    space = _patiently(partial(_begun, store, model, embedder_id, upgrade.to), wanted)
    made = 0
    while space is not None and wanted():
        for count in _steps(store, space, model, progress, wanted, kept):
            made += count
        if wanted():
            _, floor = measured(store, space, model, embedder_id, corpus_name=name, language=_language(store))
            if _patiently(partial(_taken_over, store, space, floor), wanted):
                break
    return made


def _begun(store: Store, model: Embedder, embedder_id: str, to: str) -> str | None:
    """The space of the better model, with what the corpus knows of it; of another model by its name it is made anew."""
    with store.transaction():
        upgrade = upgrade_of(store)
        if upgrade is None or upgrade.done:
            return None
        space, config = upgrade.better, store.get_config()
        if space is not None and not _is_held(store, space, model, embedder_id):
            store.drop_space(space)
            space = None
        if space is None:
            space = free_name(embedder_id, store.spaces())
            store.add_space(space)
            others = {**config.get(_SPACES, {}), space: described(model, to, embedder_id, None)}
            store.set_config({**config, _SPACES: others, _KEY: {**config[_KEY], "better": space}})
    return space


def _is_held(store: Store, space: str, model: Embedder, embedder_id: str) -> bool:
    """Whether the vectors of a space are those of a model."""
    told = store.get_config().get(_SPACES, {}).get(space, {})
    return told.get("embedder_id") == embedder_id and is_of(model, told.get("fingerprint"))


def _steps(
    store: Store,
    space: str,
    model: Embedder,
    progress: Listener | None,
    wanted: Callable[[], bool],
    kept: Callable[[int, int], None],
) -> Iterator[int]:
    """Embed what lacks a vector, a few seconds' worth at a time; each step is kept, whatever happens next."""
    lacking, total, size = store.unembedded(space=space), len(store), _FIRST
    done = total - len(lacking)
    kept(done, total)
    ticker = Ticker(progress, "embed", total)
    ticker.tick(done)
    while lacking and wanted():
        part, lacking = lacking[:size], lacking[size:]
        began = time.monotonic()
        # Embedded while nobody has to wait for it, then written.
        vectors, texts = embedded(store, space, model, part, batch_size=_BATCH, tick=ticker.tick)
        yield _patiently(partial(_written, store, space, vectors, texts), wanted) or 0
        done += len(part)
        kept(done, total)
        pace = len(part) / max(time.monotonic() - began, 1e-3)
        size = int(min(max(pace * _KEPT_EVERY_S, _LEAST), _MOST))


def _written(store: Store, space: str, vectors: Mapping[str, Vector], texts: Mapping[str, str]) -> int:
    """Keep vectors in a transaction, which also makes what searches need of them: nobody has to wait for that."""
    with store.transaction():
        return store.put_vectors_of(space, vectors, texts)


def _taken_over(store: Store, space: str, floor: Mapping[str, Any] | None) -> bool:
    """Make the better space the default one, with its floor; not if anything came to lack a vector meanwhile."""
    with store.transaction():
        upgrade = upgrade_of(store)
        if upgrade is None or upgrade.done or upgrade.better != space:
            return True  # somebody else settled it
        if store.unembedded(space=space, limit=1):
            return False
        config = store.get_config()
        told = {**config[_SPACES][space], "dim": store.spaces()[space]}
        store.set_config({**config, _SPACES: {**config[_SPACES], space: told}})
        switch_space(store, space, floor=floor)
    return True


def _patiently(step: Callable[[], Any], wanted: Callable[[], bool]) -> Any:
    """What a step returns, once nobody else is writing; ``None`` if it is not wanted any more."""
    while wanted():
        try:
            return step()
        except CorpusBusy:
            time.sleep(_AGAIN_S)
    return None


def _language(store: Store) -> str:
    return str(store.get_config().get("language") or "english")
