"""One version of a corpus in this process: the store in memory, over what the server has of each view."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ir.content import Content
from ir.store.checks import MAIN_SPACE
from ir.store.mapping import CorpusStore
from ir.store.mongo.rows import VECTORS, Change
from ir.store.mongo.state import State

if TYPE_CHECKING:
    from ir.store.mapping import Vectors

__all__ = ["HeldCorpus", "LoadedView"]

#: The views beside the vectors, and the attributes of :class:`CorpusStore` that they are kept in.
_VIEWS = {
    "record": "meta",
    "link": "links",
    "ledger": "ledger",
    "symbols": "symbols",
    "config": "config",
    "calibration": "calibration",
}
#: Whose changes are seen by searches, and whose by walks.
_SEARCHED = ("record", "config", VECTORS)
_LINKED = ("link", "ledger", "record")
#: Gives what a view holds in one version.
Load = Callable[[str], dict[str, Any]]


class LoadedView(MutableMapping[str, Any]):
    """A view that is read from the server, whole, when somebody looks into it."""

    def __init__(self, load: Callable[[], dict[str, Any]], count: int) -> None:
        self._load = load
        self._count = count
        self._values: dict[str, Any] | None = None
        self._loading = threading.Lock()

    @property
    def loaded(self) -> bool:
        return self._values is not None

    @property
    def values_held(self) -> dict[str, Any]:
        if self._values is None:
            with self._loading:
                if self._values is None:
                    self._values = self._load()
        return self._values

    def fork(self) -> LoadedView:
        """The same for a writer: what it changes is not changed here."""
        return LoadedView(lambda: dict(self.values_held), len(self))

    def changed(self, changes: dict[str, Any]) -> LoadedView:
        """The same in a later version."""
        values = dict(self.values_held)
        for key, value in changes.items():
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
        made = LoadedView(lambda: values, len(values))
        _ = made.values_held
        return made

    def __getitem__(self, key: str) -> Any:
        return self.values_held[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.values_held[key] = value

    def __delitem__(self, key: str) -> None:
        del self.values_held[key]

    def __contains__(self, key: object) -> bool:
        return key in self.values_held

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_held)

    def __len__(self) -> int:
        return self._count if self._values is None else len(self._values)


class HeldCorpus(CorpusStore):
    """A version of a corpus, with all that it takes to search it. Nothing of it is read before it is needed.

    A committed version is never written to. A transaction writes to a fork of one, which remembers what it changed.
    """

    def __init__(self, state: State, views: dict[str, LoadedView], load: Load) -> None:
        self.state = state
        self.views = views
        self._load = load
        super().__init__(*(self._of(name) for name in ("record", f"{VECTORS}{MAIN_SPACE}", "ledger", "config")))
        self.calibration, self.links, self.symbols = (self._of(name) for name in ("calibration", "link", "symbols"))
        self._sums = Content.loads(state.content)

    def _of(self, view: str) -> LoadedView:
        if view not in self.views:
            self.views[view] = LoadedView(lambda: self._load(view), self.state.counts.get(view, 0))
        return self.views[view]

    @property
    def version(self) -> str:
        return f"{self.state.label}.{self._writes}" if self._writes else self.state.label

    def _vectors_of(self, space: str) -> Vectors:
        return self._of(f"{VECTORS}{space}")

    def _dimension(self, space: str) -> int | None:
        view = self._of(f"{VECTORS}{space}")
        if view.loaded:
            return super()._dimension(space)
        return self.state.dims.get(space) if len(view) else None

    # -- from one version to the next ----------------------------------------------------------------------------

    def fork(self) -> HeldCorpus:
        """A copy to write to."""
        made = HeldCorpus(self.state, {name: view.fork() for name, view in self.views.items()}, self._load)
        made._inherit(self)
        return made

    def later(self, state: State, changes: dict[str, dict[str, Any]], load: Load) -> HeldCorpus:
        """The version that became of this one; ``changes`` are those of the views that are loaded here."""
        loaded = {name: view for name, view in self.views.items() if view.loaded}
        views = {name: view.changed(changes[name]) if name in changes else view for name, view in loaded.items()}
        made = HeldCorpus(state, views, load)
        made._inherit(self)
        if any(name.startswith(_SEARCHED) for name in changes):
            made._latest = None
        made._relinked = made._relinked or any(name.startswith(_LINKED) for name in changes)
        return made

    def _inherit(self, former: HeldCorpus) -> None:
        """What was made for searches of a former version is good for this one, as far as nothing changed."""
        self._latest, self._lexicon, self._relinked = former._latest, former._lexicon, former._relinked

    def committed(self, state: State) -> None:
        """This fork is a version of its own from now on."""
        self.state = state
        self._writes = 0

    # -- what a transaction changed --------------------------------------------------------------------------------

    def changes(self) -> list[Change]:
        """Every key that the open transaction touched, with what it holds now."""
        names = {id(view): name for name, view in self.views.items()}
        found: list[Change] = []
        for mapping, key, existed in self._open_journal().touched():
            now = mapping.get(key)
            if now is not None or existed:
                found.append((names[id(mapping)], key, now))
        return found

    def state_after(self, number: int) -> State:
        """What is known of this fork as a whole once it is the version ``number``."""
        counts = {name: len(view) for name, view in self.views.items() if len(view)}
        counts |= {name: count for name, count in self.state.counts.items() if name not in self.views}
        spaces = [name.removeprefix(VECTORS) for name in counts if name.startswith(VECTORS)]
        dims = {space: dim for space in spaces if (dim := self._dimension(space)) is not None}
        return replace(self.state, version=number, counts=counts, dims=dims, content=self._content().dumps())
