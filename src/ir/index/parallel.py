"""A build that takes artifacts apart and embeds them on a Ray cluster; this process alone reads and writes."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import IndexPlan
from ir.errors import CorpusError, EmbedderMismatch, InvalidInput, IrError, MissingExtra
from ir.index.allowance import within_quota
from ir.index.builder import _Job
from ir.index.corpus import Corpus
from ir.index.decompose import metadata_of
from ir.index.embedder import CUSTOM
from ir.index.progress import Listener
from ir.index.recipe import Recipe, recipe_for
from ir.index.scan import Item, Scan
from ir.options import count
from ir.protocols import EdgeExtractor, Source, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["LOCAL", "build_on_ray", "ray_session"]

#: The address that starts a cluster of this machine's processors, for the time of the build.
LOCAL = "local"
#: Texts to one task, and artifacts to one task: enough to outweigh its cost, few enough to spread.
_TEXTS = 64
_ARTIFACTS = 16
_CHARACTERS = 1_000_000
#: How often a task is tried again when its worker is lost.
_RETRIES = 5
#: Tasks in flight for each processor of the cluster.
_AHEAD = 3
#: How often starting a cluster here is tried.
_STARTS = 3
_KNOCK_SECONDS = 10.0

Work = tuple[str, Any, Mapping[str, Any] | None]


def build_on_ray(
    source: Source,
    *,
    address: str = LOCAL,
    store: Store | None = None,
    embedder: Any = None,
    full: bool = True,
    batch_size: int = 4096,
    edge_extractor: EdgeExtractor | None = None,
    progress: Listener | None = None,
    language: str | None = None,
    floor: bool = True,
) -> Corpus:
    """What :func:`ir.build` does, with the strategy and the embedder at work on the Ray cluster at ``address``.

    The cluster's machines need ``ir`` and the model; they need neither the source nor the store. A task whose worker
    is lost is run again. Plans and vectors come back to this process in the order in which they were sent, and are
    written by it in one transaction: whatever happens to workers, nothing is written twice and nothing is left out.
    """
    batch_size = count("batch_size", batch_size)
    if store is None:
        from ir.store import CorpusStore

        store = within_quota(CorpusStore.local(source.name), source.name)
    began = time.perf_counter()
    with ray_session(address) as cluster, store.transaction():
        recipe = recipe_for(source, store, embedder=embedder, language=language)
        job = _ClusterJob(source, store, cluster.spread(recipe), batch_size, edge_extractor, progress, floor=floor)
        job.cluster = cluster
        job.run(full=full)
        job.tell_writing()
        # What is left to do is done here, and the corpus is to outlive the cluster.
        job.recipe = recipe
    return job.finished(began)


@contextmanager
def ray_session(address: str) -> Iterator[Cluster]:
    """A connection to a cluster, ended with the block; one that this process already has is used and left open."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray", "Building on a cluster") from error
    if not address.strip():
        raise InvalidInput("The address of the Ray cluster is empty.", remedy=f"Give host:port, or {LOCAL!r}.")
    if ray.is_initialized():
        entered: AbstractContextManager[None] = nullcontext()
    else:
        entered = _own_cluster(ray) if address == LOCAL else _joined(ray, address)
    with entered:
        try:
            yield Cluster(ray, address)
        except ray.exceptions.RayError as error:
            raise _lost(error, address) from error


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    _knock(address)
    try:
        _join(ray, address, {"address": address})
        yield
    finally:
        ray.shutdown()


@contextmanager
def _own_cluster(ray: Any) -> Iterator[None]:
    """A cluster of this machine for the time of the block, whose files go with it.

    Otherwise it reports to its makers, keeps its logs, and leaves a token in the home.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray sets RAY_AUTH_MODE by itself, and without a token it would write one into the user's home.
    if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # stays: Ray reads it once in the life of a process
    folder = tempfile.mkdtemp(prefix="ir-ray-")
    where = {"include_dashboard": False, "_temp_dir": folder, "_node_ip_address": "127.0.0.1"}
    try:
        _join(ray, LOCAL, where)
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _join(ray: Any, address: str, where: dict[str, Any]) -> None:
    """Connect, or start a cluster here; on a busy machine its parts may miss each other the first time."""
    tries = _STARTS if address == LOCAL else 1
    for attempt in range(1, tries + 1):
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
            return
        except Exception as error:  # Ray raises bare ones too
            ray.shutdown()
            if attempt == tries:
                raise CorpusError(
                    f"The Ray cluster at {address} cannot be reached: {' '.join(str(error).split())[:200]}",
                    remedy=f"Start it with 'ray start --head', or use {LOCAL!r} for this machine's processors.",
                ) from error


def _knock(address: str) -> None:
    """Raise at once if nobody listens there: the cluster's own client would try for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if address == LOCAL or not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()
    except OSError as error:
        raise CorpusError(
            f"The Ray cluster at {address} cannot be reached: {error.strerror or error}.",
            remedy=f"Start it with 'ray start --head', or use {LOCAL!r} for this machine's processors.",
        ) from None


class Cluster:
    """The tasks of a build."""

    def __init__(self, ray: Any, address: str) -> None:
        self.ray = ray
        self.address = address
        self.width = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._decompose = ray.remote(max_retries=_RETRIES)(_decompose)
        self._embed = ray.remote(max_retries=_RETRIES)(_embed)

    def spread(self, recipe: Recipe) -> Recipe:
        """The recipe with its strategy and its embedder at work on the cluster."""
        from ir.embed.cached import CachedEmbedder

        made: Any = recipe.embedder
        inner = made.embedder if isinstance(made, CachedEmbedder) else made
        remote: Any = ClusterEmbedder(self, inner, recipe.spec)
        if isinstance(made, CachedEmbedder):
            remote = CachedEmbedder(remote, made.cache)
        return replace(recipe, strategy=ClusterStrategy(self, recipe.strategy), embedder=remote)

    def plans(self, strategy: Any, work: Sequence[Work]) -> Any:
        """A promise of the plans of some artifacts."""
        return self._decompose.remote(strategy, list(work))

    def vectors(self, model: Any, expected: str, texts: Sequence[str]) -> Any:
        """A promise of the vectors of some texts."""
        return self._embed.remote(model, expected, list(texts))

    def wait(self, promise: Any) -> Any:
        """What was promised; an error of the task itself, not of its worker, is raised as it is."""
        try:
            return self.ray.get(promise)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, BaseException) else error
            raise cause from None
        except self.ray.exceptions.RayError as error:
            raise _lost(error, self.address) from error


class ClusterEmbedder:
    """An embedder whose batches are cut into tasks; their vectors come back in the order of the texts."""

    def __init__(self, cluster: Cluster, embedder: Any, spec: str) -> None:
        self.embedder = embedder
        self.id = str(embedder.id)
        #: With fewer texts at once some of the cluster would be idle.
        self.fewest_texts = _TEXTS * _AHEAD * cluster.width
        self._cluster = cluster
        # A name is made into a model by each worker for itself; only what has no name travels.
        self._model = cluster.ray.put(embedder if spec == CUSTOM else spec)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "embedder":
            raise AttributeError(name)
        return getattr(self.embedder, name)

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        if input_type != "document" or not texts:
            found: Vectors = self.embedder(texts, input_type=input_type)
            return found
        parts = [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]
        promises = [self._cluster.vectors(self._model, self.id, part) for part in parts]
        return np.concatenate([self._cluster.wait(promise) for promise in promises])


class ClusterStrategy:
    """A strategy whose plans are asked for ahead of time; one that was not is made here."""

    def __init__(self, cluster: Cluster, strategy: Any) -> None:
        self.strategy = strategy
        self._cluster = cluster
        self._shared = cluster.ray.put(strategy)
        self._ready: dict[str, IndexPlan | Exception] = {}

    def send(self, work: Sequence[Work]) -> Any:
        """A promise of plans, or ``None`` for artifacts that cannot travel."""
        try:
            return self._cluster.plans(self._shared, work)
        except (TypeError, ValueError, AttributeError):
            return None

    def receive(self, work: Sequence[Work], promise: Any) -> None:
        if promise is not None:
            plans = self._cluster.wait(promise)
            self._ready.update(zip((artifact_id for artifact_id, _, _ in work), plans, strict=True))

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        made = self._ready.pop(artifact_id, None)
        if made is None:
            plan: IndexPlan = self.strategy.decompose(artifact_id, raw, metadata)
            return plan
        if isinstance(made, Exception):
            raise made
        return made


class _ClusterJob(_Job):
    """A build whose artifacts are sent out to be taken apart while earlier ones are written."""

    cluster: Cluster

    def _prepared(self, scan: Scan) -> Iterator[Item]:
        strategy = self.recipe.strategy
        assert isinstance(strategy, ClusterStrategy), "the recipe was spread"
        flying: deque[tuple[list[Item], list[Work], Any]] = deque()
        for items, work in self._parcels(scan):
            flying.append((items, work, strategy.send(work)))
            while len(flying) > _AHEAD * self.cluster.width:
                yield from self._landed(strategy, *flying.popleft())
        while flying:
            yield from self._landed(strategy, *flying.popleft())

    def _landed(self, strategy: ClusterStrategy, items: list[Item], work: list[Work], promise: Any) -> Iterator[Item]:
        strategy.receive(work, promise)
        yield from items

    def _parcels(self, scan: Scan) -> Iterator[tuple[list[Item], list[Work]]]:
        items: list[Item] = []
        work: list[Work] = []
        size = 0
        for item in scan:
            items.append(item)
            if item.changed or self.edge_extractor is not None:
                work += self._work_of(item)
                size += len(item.raw) if isinstance(item.raw, (str, bytes)) else 1000
            if len(work) >= _ARTIFACTS or size >= _CHARACTERS or len(items) >= 64 * _ARTIFACTS:
                yield items, work
                items, work, size = [], [], 0
        if items:
            yield items, work

    def _work_of(self, item: Item) -> list[Work]:
        try:
            return [(item.id, item.raw, metadata_of(self.source, item))]
        except Exception:
            return []  # the build asks again, here, and reports why


# -- what runs on the cluster ------------------------------------------------------------------------------------


def _decompose(strategy: Any, work: Sequence[Work]) -> list[IndexPlan | Exception]:
    plans: list[IndexPlan | Exception] = []
    for artifact_id, raw, metadata in work:
        try:
            plans.append(strategy.decompose(artifact_id, raw, metadata))
        except Exception as error:
            plans.append(_portable(error))
    return plans


def _embed(model: Any, expected: str, texts: Sequence[str]) -> Vectors:
    embedder = _model_named(model) if isinstance(model, str) else model
    if embedder.id != expected:
        raise EmbedderMismatch(
            f"A machine of the cluster has the embedder {embedder.id!r}, this one {expected!r}.",
            remedy="Install the same version of ir-substrate and of the model on all of them.",
        )
    vectors: Vectors = np.asarray(embedder(texts, input_type="document"), dtype=np.float32)
    return vectors


@lru_cache(maxsize=2)
def _model_named(spec: str) -> Any:
    """One model for each worker, not for each task."""
    from ir.embed import make_embedder

    return make_embedder(spec, cache=False)[0]


def _portable(error: Exception) -> Exception:
    """An error that can travel; not every one can be put together again elsewhere."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _lost(error: Exception, address: str) -> IrError:
    return CorpusError(
        f"The Ray cluster at {address} could not finish: {type(error).__name__}: {' '.join(str(error).split())[:200]}",
        remedy="Nothing was changed in the corpus; look at the cluster, then build again.",
    )
