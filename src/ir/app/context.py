"""What an operation is given beside its request: settings, somewhere to report to, the corpora, and who asks."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from ir.config import Settings
from ir.errors import Cancelled, CorpusNotBuilt, DeadlineExceeded

if TYPE_CHECKING:
    from ir.app.places import View
    from ir.app.pool import Lease, Pool
    from ir.app.targets import Target
    from ir.index import Corpus
    from ir.query import Answers
    from ir.store.base import BaseStore

__all__ = ["AGENT_DOORS", "Caller", "Context"]

_Known = TypeVar("_Known")
#: Takes work to be done aside; returns the name of the job.
Defer = Callable[[str, Callable[["Context"], Any]], str]
#: The doors through which programs come that are not the user: they name corpora, never paths.
AGENT_DOORS = frozenset({"mcp", "http"})


@dataclass(frozen=True)
class Caller:
    """Who asks: a ``name`` to be told apart by, the ``workspace`` they work in (``None``: the current one), the
    ``corpora`` that they may see (``None``: all), and the ``folder`` that they mean by ``"."``."""

    name: str = ""
    workspace: str | None = None
    corpora: frozenset[str] | None = None
    folder: str | None = None


@dataclass
class Context:
    """``progress`` receives :class:`ir.index.Progress` values, ``note`` receives sentences for the user, and ``emit``
    receives what comes piece by piece, as the events of an answer do.

    ``door`` says through what the request came. ``deadline`` is a time of :func:`time.monotonic`; ``cancelled`` is
    asked whether the answer is still wanted. With a ``pool`` corpora stay open from one call to the next. ``defer``,
    where there is one, takes a title and work to be done aside, with a context of its own, and returns the job's name.
    With ``background`` work may go on after the answer: somebody is there who is told so, or a daemon does it.
    """

    settings: Settings = field(default_factory=Settings.load)
    progress: Callable[[Any], None] = field(default=lambda step: None)
    note: Callable[[str], None] = field(default=lambda sentence: None)
    emit: Callable[[Any], None] = field(default=lambda event: None)
    door: str = "python"
    caller: Caller | None = None
    deadline: float | None = None
    cancelled: Callable[[], bool] | None = None
    pool: Pool | None = None
    defer: Defer | None = None
    background: bool = False
    #: Gives the answers that are kept between calls; nothing where there are none.
    answers: Callable[[], Answers | None] = field(default=lambda: None, repr=False)
    _leases: list[Lease] = field(default_factory=list, repr=False)
    _resolved: dict[str, Target] = field(default_factory=dict, repr=False)
    #: What words mean in this call, once somebody has looked: see :func:`ir.app.places.view`.
    views: dict[str, View] = field(default_factory=dict, repr=False)

    @property
    def for_agent(self) -> bool:
        """Whether a program asks that is not the user."""
        return self.door in AGENT_DOORS

    def check(self) -> None:
        """An error if the answer is not wanted any more, or would come too late."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled("The call was cancelled.")
        if self.deadline is not None and monotonic() > self.deadline:
            raise DeadlineExceeded("The call took longer than it was given.", remedy="Ask for less, or give it longer.")

    def target(self, word: str) -> Target:
        """What ``word`` names; for an agent only a corpus that the user has, never a path."""
        from ir.app.targets import Target, registered_target, resolve

        if word in self.views:
            return self.views[word].target
        if self.for_agent:
            return registered_target(word, self)
        if self.pool is not None and self.pool.holds(word):
            return Target(word)
        if word not in self._resolved:
            self._resolved[word] = resolve(word)
        return self._resolved[word]

    def store(self, name: str) -> BaseStore:
        """The store of a named corpus, for writing: it waits for another writer as long as the user has set."""
        from ir.index import store_for

        return store_for(name, lock_timeout=self.settings["lock_timeout_s"])

    def open(self, corpus: str | Target, *, embedder: Any = None) -> Corpus:
        """The built corpus of that name; out of the pool if there is one, where it stays open until the call ends."""
        from ir.app.pool import opened

        name, path = (corpus, None) if isinstance(corpus, str) else (corpus.name, corpus.path)
        try:
            if self.pool is None or embedder is not None:
                return opened(name, embedder)
            lease = self.pool.lease(name)
        except CorpusNotBuilt:
            if path is None:
                raise
            from ir.index import not_built

            raise not_built(name, path=path) from None
        self._leases.append(lease)
        return lease.corpus

    def known(self, corpus: Corpus, about: Hashable, find_out: Callable[[], _Known]) -> _Known:
        """What ``find_out`` says of a corpus; said once for each version of one that stays open."""
        kept = next((lease.known for lease in self._leases if lease.corpus is corpus), None)
        if kept is None:
            return find_out()
        if about not in kept:
            kept[about] = find_out()
        found: _Known = kept[about]
        return found

    def release(self) -> None:
        """Let go of the corpora that this call had open."""
        while self._leases:
            self._leases.pop().release()
