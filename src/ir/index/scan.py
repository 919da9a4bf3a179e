"""Which artifacts of a source differ from what the ledger says was indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ir.base import ledger_key, storable
from ir.errors import CorpusCorrupt, IrError
from ir.index.progress import Listener, Ticker
from ir.index.report import Problem
from ir.protocols import Store

__all__ = [
    "Item",
    "Known",
    "LedgerLookup",
    "Scan",
    "Target",
    "ledger_rows",
    "read_ledger",
    "reason",
    "stat_signal_of",
    "unread_in",
]

_FIELDS = ("version", "stat", "embedder_id", "strategy_id")
#: One entry that is asked for takes as long as so many that are read in a row.
_LOOKUP_COST = 8


class Target(NamedTuple):
    """What a build makes an index with. An artifact that was made with anything else is stale.

    ``same_model`` is false if the id is the same but the model behind it is another one.
    """

    embedder_id: str
    strategy_id: str
    same_model: bool = True


class Known(NamedTuple):
    """What the ledger says of one artifact, as far as a scan needs it."""

    version: str
    stat: str | None
    embedded: bool
    current: bool


class Item(NamedTuple):
    """An artifact to work on; ``was`` is ``None`` for a new one."""

    id: str
    raw: Any
    version: str
    stat: str | None
    was: Known | None
    changed: bool


def read_ledger(store: Store, target: Target) -> dict[str, Known]:
    """The ledger by artifact id, without the long lists of record ids, so that a million entries fit in memory."""
    known = {artifact_id: _known(target, *rest) for artifact_id, *rest in ledger_rows(store, "artifact_id", *_FIELDS)}
    if None in known:
        raise CorpusCorrupt(
            "An entry in the ledger of the corpus names no artifact: it is damaged.",
            remedy="Nothing was changed. Restore the corpus from a backup, or remove it and build it again.",
        )
    return known


class LedgerLookup:
    """The ledger asked for one artifact at a time: for a few of many."""

    def __init__(self, store: Store, target: Target) -> None:
        self._store = store
        self._target = target

    @staticmethod
    def pays(store: Any, source: Any) -> bool:
        """Whether the source has so few artifacts that asking for each is quicker than reading the whole ledger."""
        count = _length(source.scope)
        return count is not None and count * _LOOKUP_COST < len(store)

    def get(self, artifact_id: str) -> Known | None:
        entry = self._store.get_ledger_entry(ledger_key(artifact_id))
        return None if entry is None else _known(self._target, *map(entry.get, _FIELDS))

    def __iter__(self) -> Iterator[str]:
        return (artifact_id for (artifact_id,) in ledger_rows(self._store, "artifact_id"))


def _known(target: Target, version: Any, stat: Any, embedder_id: Any, strategy_id: Any) -> Known:
    embedded = target.same_model and embedder_id == target.embedder_id
    return Known(version, stat, embedded, embedded and strategy_id == target.strategy_id)


def ledger_rows(store: Any, *names: str) -> Iterable[tuple[Any, ...]]:
    """Some fields of every entry; a store that can leave out the others by itself saves most of the time."""
    fields = getattr(store, "ledger_fields", None)
    if fields is not None:
        return fields(*names)  # type: ignore[no-any-return]
    return (tuple([entry.get(name) for name in names]) for _, entry in store.ledger_items())


def reason(error: Exception) -> str:
    """Why something failed, in one line."""
    if type(error) is KeyError:
        return "it is not there any more"
    text = str(error) if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
    return storable(" ".join(text.split())[:500])


@dataclass
class Scan:
    """One pass over a source. After it, ``seen`` holds every id in scope.

    With ``every`` the unchanged artifacts come too; they are read even where their file's stat says that they need not.
    """

    source: Any
    known: dict[str, Known] | LedgerLookup
    every: bool = False
    listener: Listener | None = None

    def __post_init__(self) -> None:
        self.seen: set[str] = set()
        self.unchanged: list[str] = []
        self.skipped: list[Problem] = []
        self.failed: list[Problem] = []

    def __iter__(self) -> Iterator[Item]:
        """The artifacts that are new or changed. Problems are noted and the artifact passed over."""
        scope, stat_of = self.source.scope, stat_signal_of(self.source)
        ids = iter(scope)  # first: a folder is walked here, and can then say how long it is without another walk
        ticker = Ticker(self.listener, "scan", _length(scope))
        for name in ids:
            ticker.tick()
            # The source knows an item by its own name for it; everybody else by one that can be stored.
            artifact_id = self._admit(name)
            if artifact_id is None:
                continue
            known = self.known.get(artifact_id)
            # Before reading: a file written to while it is read then differs from its stat next time.
            stat = stat_of(name) if stat_of else None
            if known and known.current and stat is not None and stat == known.stat and not self.every:
                self.unchanged.append(artifact_id)
                continue
            read = self._read(name)
            if read is None:
                continue
            raw, version = read
            changed = known is None or not known.current or known.version != version
            if not changed:
                self.unchanged.append(artifact_id)
                if not self.every and known is not None and stat == known.stat:
                    continue
            yield Item(artifact_id, raw, version, stat, known, changed)
        self._hear(getattr(scope, "skipped", None))
        ticker.end()

    @property
    def left(self) -> list[str]:
        """Artifacts that are indexed but no longer in scope; what could not be looked at may still be there."""
        unread = unread_in(self.source.scope)
        return [artifact_id for artifact_id in self.known if artifact_id not in self.seen and not unread(artifact_id)]

    def _admit(self, name: Any) -> str | None:
        if not isinstance(name, str) or not name.strip():
            self.skipped.append(Problem(str(name), f"an id must be a text that is not blank, not {name!r}"))
            return None
        artifact_id = storable(name)
        if artifact_id in self.seen:
            self.skipped.append(Problem(artifact_id, "the source has this id twice; the first one is taken"))
            return None
        self.seen.add(artifact_id)
        return artifact_id

    def _hear(self, tell: Any) -> None:
        """Take over what the scope itself says it left out; it knows better why than the error it raised."""
        said = (
            {storable(str(problem.id)): storable(str(problem.reason)) for problem in tell()} if callable(tell) else {}
        )
        own = [Problem(problem.id, said.pop(problem.id, problem.reason)) for problem in self.skipped]
        self.skipped = own + [Problem(*item) for item in said.items()]

    def _read(self, name: str) -> tuple[Any, str] | None:
        try:
            raw = self.source.scope[name]
        except Exception as error:
            self.skipped.append(Problem(storable(name), f"cannot be read: {reason(error)}"))
            return None
        try:
            return raw, storable(str(self.source.change_signal(name, raw)))
        except Exception as error:
            self.failed.append(Problem(storable(name), f"its change signal failed: {reason(error)}"))
            return None


def stat_signal_of(source: Any) -> Callable[[str], str | None] | None:
    """The cheap change test of a source, if it has one; it stands in for the hash of the content and for no other."""
    from ir.sources import content_hash_signal

    found = getattr(source.scope, "stat_signal", None)
    return found if callable(found) and source.change_signal is content_hash_signal else None


def unread_in(scope: Any) -> Callable[[str], bool]:
    """Whether an artifact is one that the scope may hold but could not look at when it was last gone through."""
    tell = getattr(scope, "skipped", None)
    kept = [(str(item.id), below) for item in (tell() if callable(tell) else ()) if (below := _below(item)) is not None]
    names, beginnings = {storable(name) for name, _ in kept}, tuple(storable(below) for _, below in kept)
    return lambda artifact_id: artifact_id in names or artifact_id.startswith(beginnings)


def _below(skipped: Any) -> str | None:
    """A scope of somebody else's may say less than ours."""
    found = getattr(skipped, "below", None)
    return found if isinstance(found, str) else None


def _length(scope: Any) -> int | None:
    try:
        return len(scope)
    except TypeError:
        return None
