"""How fresh is each corpus? Registered folders are watched, and what changed in them is taken in."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ir.config import Settings
from ir.config.workspace import in_workspace
from ir.errors import IrError
from ir.system import step_back

__all__ = ["Freshness"]

log = logging.getLogger("ir.daemon")

#: A corpus by its workspace and name.
Key = tuple[str, str]
Refresh = Callable[[Key], Any]

_LOOK_S = 1.0
#: So long a look at a folder that is not watched holds.
_HOLDS_S = 5.0
#: So long an answer waits for changes that are being taken in.
_WAIT_S = 0.5
_DEBOUNCE_MS = 200


@dataclass
class _State:
    """What is known of a corpus. ``checked`` is when its source was last compared with the index; ``settled`` that no
    change waits to be taken in."""

    root: Path | None = None
    checked: float | None = None
    stale: bool | None = None
    reason: str = ""
    watched: bool = False
    settled: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.settled.set()


class Freshness:
    """Keeps an eye on the folders of all registered corpora of the workspaces that somebody has asked in.

    ``refresh`` takes in what changed in one corpus, and returns when that is done. Without ``watching`` nothing runs in
    the background: then, and where folders cannot be watched, a question looks for itself if the last look is old.
    """

    def __init__(self, refresh: Refresh, settings: Callable[[], Settings], *, watching: bool = True) -> None:
        self._refresh = refresh
        self._settings = settings
        self._watching = watching
        self._lock = threading.Lock()
        self._states: dict[Key, _State] = {}
        self._workspaces: set[str] = set()
        self._queue: list[Key] = []
        self._wanted = threading.Condition(self._lock)
        self._stop = threading.Event()

    def start(self) -> None:
        if self._watching:
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
            threading.Thread(target=self._take_in, name="take-in", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        with self._lock:
            self._wanted.notify_all()

    def look(self, workspace: str, corpora: Iterable[str]) -> None:
        """See to it before an answer that its corpora are as fresh as is cheap."""
        with self._lock:
            self._workspaces.add(workspace)
        for name in corpora:
            state = self._state((workspace, name))
            if not state.settled.is_set():
                state.settled.wait(_WAIT_S)
            elif state.checked is None or not (state.watched or time.time() - state.checked < _HOLDS_S):
                self._look_at(workspace, name, state)

    def told(self, workspace: str, corpora: Iterable[str]) -> dict[str, Any]:
        """How fresh these corpora are, in the worst case."""
        states = {name: self._state((workspace, name)) for name in corpora}
        worst: dict[str, Any] = {"state": "fresh"}
        for state in states.values():
            if state.stale or not state.settled.is_set():
                worst = {"state": "stale", "reason": state.reason or "changes are being taken in"}
                if state.checked is None and not state.stale:
                    worst = {"state": "unknown", "reason": "it is being compared with its folder"}
            elif state.stale is None and worst["state"] == "fresh":
                worst = {"state": "unknown", "reason": state.reason or "its source was not looked at"}
        checked = [state.checked for state in states.values() if state.checked is not None and not state.watched]
        if checked:
            worst["checked_s_ago"] = round(time.time() - min(checked), 1)
        return worst

    def refreshed(self, key: Key, began: float, failure: Exception | None = None) -> None:
        """Note that a corpus was brought up to date, or could not be."""
        state = self._state(key)
        state.checked, state.stale = began, failure is not None
        state.reason = "" if failure is None else str(failure)
        with self._lock:
            if key not in self._queue:  # else there is another change to take in
                state.settled.set()

    def _state(self, key: Key) -> _State:
        with self._lock:
            return self._states.setdefault(key, _State())

    def _look_at(self, workspace: str, name: str, state: _State) -> None:
        from ir.index import refresh_if_cheap
        from ir.registry import entered

        settings = self._settings()
        with in_workspace(workspace):
            if not settings["refresh"] or not _allowed(entered().get(name)):
                state.reason = "it is refreshed only on request"
                return
            began = time.time()
            outcome = refresh_if_cheap(
                name, scan_ms=settings["refresh_scan_ms"], max_changed=settings["refresh_max_changed"]
            )
        state.checked = began
        known = outcome.refreshed or outcome.stale or outcome.reason == "Nothing changed."
        state.stale = outcome.stale if known else None
        state.reason = outcome.reason if outcome.stale or not known else ""

    def _watch(self) -> None:
        """Follow the folders of the registered corpora, whichever those are at the time."""
        while not self._stop.wait(_LOOK_S):
            try:
                roots = self._roots()
                if roots:
                    self._follow(roots)
            except Exception:
                log.exception("watching failed")
                self._stop.wait(60 * _LOOK_S)

    def _roots(self) -> dict[Key, Path]:
        from ir.registry import elsewhere, entered

        found = {}
        with self._lock:
            workspaces = list(self._workspaces)
        for workspace in workspaces:
            with in_workspace(workspace):
                for name, entry in entered().items():
                    root = _root_of(entry)
                    if root is not None and root.is_dir() and _allowed(entry) and not elsewhere(name):
                        found[workspace, name] = root
        return found

    def _follow(self, roots: Mapping[Key, Path]) -> None:
        """Be told of changes below these folders until others are registered; then return."""
        try:
            from watchfiles import watch as changes
        except ImportError:
            self._stop.wait(60 * _LOOK_S)  # questions look for themselves
            return
        before = self._registries()
        stream = changes(
            *sorted({*map(str, roots.values())}),
            stop_event=self._stop,
            debounce=_DEBOUNCE_MS,
            rust_timeout=200,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        try:
            next(stream, None)
            for key, root in roots.items():
                state = self._state(key)
                state.root, state.watched = root, True
                self._changed(key)  # what happened before it was watched
            for batch in stream:
                touched = {Path(path) for _, path in batch}
                for key, root in roots.items():
                    if any(root == path or root in path.parents for path in touched):
                        self._changed(key)
                if self._registries() != before or not all(root.is_dir() for root in roots.values()):
                    return
        finally:
            for key in roots:
                self._state(key).watched = False

    def _registries(self) -> list[Any]:
        from ir.registry import state

        held: list[Any] = []
        for workspace in sorted(self._workspaces):
            with in_workspace(workspace), suppress(IrError):
                held.append((workspace, state()))
        return held

    def _changed(self, key: Key) -> None:
        with self._lock:
            state = self._states.setdefault(key, _State())
            state.settled.clear()
            if key not in self._queue:
                self._queue.append(key)
            self._wanted.notify_all()

    def _take_in(self) -> None:
        step_back()
        while True:
            with self._lock:
                while not self._queue and not self._stop.is_set():
                    self._wanted.wait()
                if self._stop.is_set():
                    return
                key = self._queue.pop(0)
            began = time.time()
            failure: Exception | None = None
            try:
                self._refresh(key)
            except (IrError, OSError) as error:
                failure = error
            except Exception as error:
                log.exception("a refresh failed")
                failure = error
            self.refreshed(key, began, failure)


def _root_of(entry: Mapping[str, Any]) -> Path | None:
    """The folder that a registered corpus is made from, if it is one of files."""
    params = entry.get("params") or {}
    root = params.get("root") if entry.get("kind") in ("files", "code") else None
    return Path(root).expanduser().resolve() if isinstance(root, str) else None


def _allowed(entry: Mapping[str, Any] | None) -> bool:
    """Whether the owner of a corpus lets it be refreshed at any time."""
    from ir.policy import CHANGED, Policy

    if entry is None:
        return True
    policy = Policy.of(entry.get("maintenance"))
    return policy.refresh == CHANGED and policy.pause(datetime.now(UTC).astimezone()) is None
