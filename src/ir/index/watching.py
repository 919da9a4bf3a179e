"""Keeping a corpus up to date while its files change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, IrError, MissingExtra
from ir.index.allowance import within_quota
from ir.index.builder import build, prunes
from ir.protocols import WithRoot

if TYPE_CHECKING:
    from ir.index.corpus import Corpus
    from ir.index.report import BuildReport
    from ir.protocols import Source, Store

__all__ = ["watch"]

#: How often it is looked whether a folder that is gone is back.
_AGAIN_S = 0.2

OnChange = Callable[["BuildReport | None", "Exception | None"], None]


def watch(
    source: Source,
    store: Store | None = None,
    *,
    on_change: OnChange | None = None,
    stop: threading.Event | None = None,
    embedder: Any = None,
    poll: bool = False,
    interval_s: float = 2.0,
    debounce_ms: int = 500,
    builder: Callable[..., Corpus] = build,
) -> None:
    """Build whenever the source changes, until ``stop`` is set; the first build comes at once.

    ``on_change(report, error)`` hears of every build that changed something and of every one that failed; a failed
    one is tried again at the next change. A folder that is deleted is such a failure, and is built from again when it
    is back. ``poll`` looks every ``interval_s`` instead of being told by the system, which also works on network
    folders and for sources that are not folders. What the last build before was told to keep stays. ``builder`` is
    called in place of :func:`ir.build`.
    """
    stop = stop or threading.Event()
    if store is None:
        from ir.store import CorpusStore

        store = within_quota(CorpusStore.local(source.name), source.name)
    tell = on_change or (lambda report, error: None)
    rounds = _polled(stop, interval_s) if poll else _notified(source, stop, debounce_ms)
    last_error = ""
    for _ in rounds:
        try:
            report = builder(source, store=store, embedder=embedder, full=prunes(store)).report
        except (IrError, OSError) as error:
            # Polling meets the same trouble every round: say it once.
            if str(error) != last_error or not poll:
                tell(None, error)
            last_error = str(error)
            continue
        last_error = ""
        if report and (report.added or report.changed or report.removed):
            tell(report, None)


def _polled(stop: threading.Event, interval_s: float) -> Iterator[None]:
    yield
    while not stop.wait(interval_s):
        yield


def _notified(source: Source, stop: threading.Event, debounce_ms: int) -> Iterator[None]:
    root = next((one.root for one in (source, source.scope) if isinstance(one, WithRoot) and one.root), None)
    if root is None or not Path(root).exists():
        raise InvalidInput(
            f"The source of {source.name!r} is not a folder that can be watched.", remedy="Use polling: ir watch --poll"
        )
    try:
        from watchfiles import watch as changes
    except ImportError as error:
        raise MissingExtra("watchfiles", "watch", "Watching a folder") from error
    while not stop.is_set():
        watched = _identity(root)
        if watched is None:
            stop.wait(_AGAIN_S)
            continue
        stream = changes(root, stop_event=stop, debounce=debounce_ms, rust_timeout=200, yield_on_timeout=True)
        try:
            next(stream, None)  # starts the watcher, so that a change during the build is not missed
        except FileNotFoundError:
            continue
        yield
        for batch in stream:
            if stop.is_set():
                return
            if _is_another(root, watched, batch):
                break
            if batch:
                yield
        if _identity(root) is None:
            yield  # the build says that the folder is gone; the next one comes when it is back


def _is_another(root: Any, watched: tuple[int, int], batch: Collection[tuple[Any, str]]) -> bool:
    """Whether what stands at the root is no longer what the system watches: it was deleted, and maybe made again."""
    # A new folder may get the number of the old one, but then the system told of the deletion.
    return _identity(root) != watched or any(path == str(root) and change.name == "deleted" for change, path in batch)


def _identity(root: Any) -> tuple[int, int] | None:
    try:
        found = Path(root).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
