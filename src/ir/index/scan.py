"""Which artifacts of a source differ from what the ledger says was indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ir.base import ledger_key, storable
from ir.errors import CorpusCorrupt, IrError
from ir.index.ahead import Ahead, ToCome, length
from ir.index.progress import Listener, Ticker
from ir.index.report import Problem
from ir.protocols import Omission, Refused, Source, Store, Unread, WithRemarks, WithSkipped, WithStat

__all__ = [
    "Item",
    "Known",
    "LedgerLookup",
    "Scan",
    "Target",
    "ledger_rows",
    "omitted_by",
    "read_ledger",
    "reason",
    "stat_signal_of",
    "unread_in",
]

_FIELDS = ("version", "stat", "embedder_id", "strategy_id", "links")
#: One entry that is asked for takes as long as so many that are read in a row.
_LOOKUP_COST = 8


class Target(NamedTuple):
    """What a build makes an index with. An artifact that was made with anything else is stale.

    ``same_model`` is false if the id is the same but the model behind it is another one. ``held`` is the id of the
    model whose vectors the corpus holds; it is known better than by what the ledger says, as that is of each artifact.
    """

    embedder_id: str
    strategy_id: str
    same_model: bool = True
    held: str | None = None


class Known(NamedTuple):
    """What the ledger says of one artifact, as far as a scan needs it.

    ``embedded`` if its vectors are those of the embedder that is asked for, ``decomposed`` if its rows are those of
    the strategy; ``links`` names the extractor that made its links.
    """

    version: str
    stat: str | None
    embedded: bool
    decomposed: bool
    links: str | None = None

    @property
    def current(self) -> bool:
        return self.embedded and self.decomposed


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
    rows = ledger_rows(store, "artifact_id", *_FIELDS)
    # An artifact that is part of an item has no version of its own: it comes and goes with the item.
    known = {artifact_id: _known(target, *rest) for artifact_id, *rest in rows if rest[0] is not None}
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
    def pays(store: Store, source: Source) -> bool:
        """Whether the source has so few artifacts that asking for each is quicker than reading the whole ledger."""
        count = length(source.scope)
        return count is not None and count * _LOOKUP_COST < len(store)

    def get(self, artifact_id: str) -> Known | None:
        entry = self._store.get_ledger_entry(ledger_key(artifact_id))
        return None if entry is None else _known(self._target, *map(entry.get, _FIELDS))

    def __iter__(self) -> Iterator[str]:
        return (artifact_id for (artifact_id,) in ledger_rows(self._store, "artifact_id"))


def _known(target: Target, version: Any, stat: Any, embedder_id: Any, strategy_id: Any, links: Any) -> Known:
    embedded = target.same_model and (target.held or embedder_id) == target.embedder_id
    return Known(version, stat, embedded, strategy_id == target.strategy_id, links)


def ledger_rows(store: Store, *names: str) -> Iterable[tuple[Any, ...]]:
    """Some fields of every entry of the ledger."""
    return store.ledger_fields(*names)


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
    With ``links``, so do those whose links another extractor made. ``apart`` if somebody else sees to vectors of
    another model, so that they are no reason to read anything.
    """

    source: Source
    known: dict[str, Known] | LedgerLookup
    every: bool = False
    listener: Listener | None = None
    links: str | None = None
    apart: bool = False

    def __post_init__(self) -> None:
        self.seen: set[str] = set()
        self.unchanged: list[str] = []
        self.skipped: list[Problem] = []
        self.failed: list[Problem] = []
        self.remarks: list[Problem] = []
        self._ahead = Ahead(self.source.scope)

    def __iter__(self) -> Iterator[Item]:
        """The artifacts that are new or changed. Problems are noted and the artifact passed over."""
        scope, stat_of = self.source.scope, stat_signal_of(self.source)
        ids = iter(scope)  # first: a folder is walked here, and can then say how long it is without another walk
        if self.listener is not None:
            ids = iter(self._ahead.begin(ids))
        ticker = Ticker(self.listener, "scan", length(scope), unit="items")
        for name in ids:
            ticker.tick()
            self._ahead.passed(name)
            # The source knows an item by its own name for it; everybody else by one that can be stored.
            artifact_id = self._admit(name)
            if artifact_id is None:
                continue
            known = self.known.get(artifact_id)
            # Before reading: a file written to while it is read then differs from its stat next time.
            stat = stat_of(name) if stat_of else None
            current = known is not None and known.decomposed and (known.embedded or self.apart)
            wanted = self.every or (self.links is not None and known is not None and known.links != self.links)
            if known and current and stat is not None and stat == known.stat and not wanted:
                self.unchanged.append(artifact_id)
                continue
            read = self._read(name)
            if read is None:
                continue
            raw, version = read
            changed = known is None or not current or known.version != version
            if not changed:
                self.unchanged.append(artifact_id)
                if not wanted and known is not None and stat == known.stat:
                    continue
            if changed and self.listener is not None:
                self._ahead.came(name)
            yield Item(artifact_id, raw, version, stat, known, changed)
        self._ahead.end()
        self._hear(omitted_by(scope))
        if isinstance(scope, WithRemarks):
            self.remarks = [Problem(storable(name), storable(told)) for name, told in scope.remarks()]
        ticker.end()

    def more(self) -> ToCome | None:
        """How much is still to be yielded, compared with what has been; ``None`` if that cannot be known."""
        return self._ahead.more(self._is_waiting)

    def _is_waiting(self, name: Any) -> bool:
        """Whether an item that was not looked at yet seems to have changed."""
        known = self.known.get(storable(name)) if isinstance(name, str) else None
        if known is None or self.every:
            return True
        stat_of = stat_signal_of(self.source)
        return not (known.decomposed and (known.embedded or self.apart)) or (
            stat_of is not None and stat_of(name) != known.stat
        )

    @property
    def left(self) -> list[str]:
        """Artifacts that are indexed but no longer in scope; what could not be looked at may still be there.

        Nor is in scope what a rule refused once its content was read.
        """
        unread, refused = unread_in(self.source.scope), _refused_in(self.source.scope)
        here = self.seen - refused
        return [artifact_id for artifact_id in self.known if artifact_id not in here and not unread(artifact_id)]

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

    def _hear(self, omitted: Iterable[Omission]) -> None:
        """Take over what the scope itself says it left out; it knows better why than the error it raised."""
        said = {storable(str(one.id)): storable(str(one.reason)) for one in omitted}
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


def stat_signal_of(source: Source) -> Callable[[str], str | None] | None:
    """The cheap change test of a source, if it has one; it stands in for the hash of the content and for no other."""
    from ir.sources import content_hash_signal

    if isinstance(source.scope, WithStat) and source.change_signal is content_hash_signal:
        return source.scope.stat_signal
    return None


def omitted_by(scope: object) -> Iterable[Omission]:
    """What a scope left out when it was last gone through; nothing if it does not say."""
    return scope.skipped() if isinstance(scope, WithSkipped) else ()


def unread_in(scope: object) -> Callable[[str], bool]:
    """Whether an artifact is one that the scope may hold but could not look at when it was last gone through."""
    kept = [(str(item.id), below) for item in omitted_by(scope) if (below := _below(item)) is not None]
    names, beginnings = {storable(name) for name, _ in kept}, tuple(storable(below) for _, below in kept)
    return lambda artifact_id: artifact_id in names or artifact_id.startswith(beginnings)


def _refused_in(scope: object) -> set[str]:
    """What the scope turned away once it was read."""
    return {storable(str(item.id)) for item in omitted_by(scope) if isinstance(item, Refused) and item.refused}


def _below(omission: Omission) -> str | None:
    """A scope of somebody else's may say less than ours."""
    return omission.below if isinstance(omission, Unread) else None
