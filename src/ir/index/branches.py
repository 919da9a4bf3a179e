"""A corpus as it would be on another branch of its repository, without checking that out.

The view of a branch is a corpus of its own beside the first one. It begins as a copy of that, so that no text is read
or embedded which is the same on both; then a build brings it to what the branch has, read from git. So everything that
holds for a corpus that was changed holds for it: records, links and content version are those of a full build of the
branch, and what asks a corpus can ask it. It can be removed at any time, and is made again when somebody asks.
"""

from __future__ import annotations

import copy
import os
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ir.base import embedding_text, ledger_key, storable
from ir.config import safe_name
from ir.config.files import file_lock
from ir.config.paths import jobs_dir
from ir.errors import (
    CorpusCorrupt,
    CorpusError,
    CorpusNotBuilt,
    FormatMismatch,
    InvalidInput,
    Remedy,
    SourceError,
)
from ir.index.builder import build
from ir.index.corpus import Corpus
from ir.index.embedder import CUSTOM, embedder_for
from ir.index.opening import as_corpus
from ir.index.progress import Listener
from ir.index.scan import ledger_rows
from ir.index.spaces import parts
from ir.index.upgrade import built_by
from ir.protocols import CorpusOrName, Source, Store
from ir.sources.files import FileScope
from ir.sources.git import Repository
from ir.sources.tree import TreeScope
from ir.store import CorpusStore, LocalStore
from ir.store.local.copying import BRANCHES
from ir.transfer import copy_store

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.index.report import BuildReport
    from ir.protocols import Embedder

__all__ = ["branch_corpus", "branches_of", "indexed_branch"]

#: Where a view remembers what it was made from.
_KEY = "view"
#: What decides which vectors and pieces a corpus is made of; a view of anything else begins anew.
_RECIPE = ("embedder_id", "fingerprint", "strategy_id", "language")
_READ = 1000
#: Above so many records, what became of texts that moved is left to the cache of vectors.
_MOST_HELD = 50_000
#: How long to wait for another process that makes the same view, in seconds.
_PATIENCE_S = 120.0


class _Slot:
    """The place of one view in this process: who makes it has the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.corpus: Corpus | None = None


#: The views of the corpora that are open in this process, by branch.
_slots: weakref.WeakKeyDictionary[Store, dict[str, _Slot]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def branch_corpus(
    corpus: CorpusOrName,
    branch: str | None,
    *,
    source: Source | None = None,
    progress: Listener | None = None,
    most: int | None = None,
) -> Corpus:
    """The corpus as it is on ``branch``: a local one, one of a remote (``origin/x``), or ``HEAD`` as it is committed.

    The branch that is checked out, if the corpus was built from it, is the corpus itself, with what is not committed;
    so is ``None``. For any other the files are read from git: those that the branch shares with what is indexed are
    taken over with their vectors. The view is kept, and brought up to date when the branch has moved. It is closed
    with the process; do not close its store.

    ``source`` is what the corpus was built from, where nobody remembers it: one that was only opened and is not
    registered. With ``most``, a branch that differs in more files than that is an error instead of long work.
    """
    base = cast(Corpus, as_corpus(corpus))
    if branch is None:
        return base
    made = _source_of(base, source)
    folder = made.scope
    if not isinstance(folder, FileScope):
        raise InvalidInput(
            f"The corpus {base.name!r} is not made of the files of a folder, so it has no branches.",
            remedy="Leave the branch out.",
        )
    repository = Repository.at(folder.root)
    commit = repository.commit_of(branch)
    indexed = base.store.get_config().get("git") or {}
    if branch == indexed.get("branch") == repository.head().branch:
        return base
    with _lock:
        slot = _slots.setdefault(base.store, {}).setdefault(branch, _Slot())
    with slot.lock:
        slot.corpus = _View(base, made, folder, branch, commit, repository).view(slot.corpus, progress, most)
        return slot.corpus


def indexed_branch(corpus: CorpusOrName) -> str | None:
    """The branch that was checked out when a corpus was built; ``None`` outside of git, and where HEAD was detached."""
    found = (as_corpus(corpus).store.get_config().get("git") or {}).get("branch")
    return None if found is None else str(found)


def branches_of(store: Store, name: str) -> dict[str, int]:
    """The branches that a corpus has views of on the disk, with the bytes that each takes up for itself."""
    found = {}
    home = _home(store, name)
    for folder in sorted(home.iterdir()) if home is not None and home.is_dir() else ():
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        try:
            with LocalStore(folder) as view:
                told = view.get_config().get(_KEY) or {}
        except (CorpusCorrupt, FormatMismatch):
            told = {}
        # Derived files are shared with the corpus.
        sizes = (path.stat() for path in folder.rglob("*") if path.is_file())
        found[str(told.get("branch", folder.name))] = sum(size.st_size for size in sizes if size.st_nlink == 1)
    return found


class _View:
    """The view of one branch, brought to one commit."""

    def __init__(
        self,
        base: Corpus,
        source: Source,
        folder: FileScope,
        branch: str,
        commit: str,
        repository: Repository,
    ) -> None:
        self._base = base
        self._source = source
        self._folder = folder
        self._branch = branch
        self._commit = commit
        self._repository = repository
        config = base.store.get_config()
        #: What the view has in common with the corpus for as long as it may be kept.
        self._rules = folder.rules()
        self._recipe = {name: config.get(name) for name in _RECIPE}
        self._recipe |= {"space": base.store.default_space, "rules": self._rules, "root": str(folder.root)}
        self._recipe |= {"branch": branch}  # two may have one folder, where file names know no case

    def view(self, kept: Corpus | None, progress: Listener | None, most: int | None) -> Corpus:
        """The view at the commit; ``kept`` is the one that is open."""
        if kept is not None and self._is_current(kept.store):
            return kept
        folder = self._place()
        with nullcontext() if folder is None else file_lock(folder.with_name(f".{folder.name}"), timeout_s=_PATIENCE_S):
            try:
                store = self._store(None if kept is None else kept.store)
                report = None if self._is_current(store) else self._bring_up(store, progress, most)
            except (CorpusCorrupt, CorpusNotBuilt, FormatMismatch):
                # Nothing is lost with it: what it was made from is there.
                store = self._seeded()
                report = self._bring_up(store, progress, most)
        return Corpus(self._base.name, store, self._model(store), str(self._recipe["embedder_id"]), report)

    def _is_current(self, store: Store) -> bool:
        try:
            config = store.get_config()
        except CorpusError:  # damaged, or removed by somebody who cleaned up
            return False
        at = (config.get("git") or {}).get("commit")
        return self._rules is not None and at == self._commit and self._is_of_recipe(config)

    def _is_of_recipe(self, config: Mapping[str, Any]) -> bool:
        return bool((config.get(_KEY) or {}).get("recipe") == self._recipe)

    # -- where it is -------------------------------------------------------------------------------------------

    def _store(self, kept: Store | None) -> Store:
        """The view as it was left, if it has the models of the corpus; else a copy of the corpus."""
        folder = self._place()
        if kept is None and folder is not None and folder.is_dir():
            kept = LocalStore(folder)
        if kept is not None and self._is_of_recipe(kept.get_config()):
            if folder is not None:
                with suppress(OSError):
                    os.utime(folder)  # asked for today
            return kept
        return self._seeded()

    def _place(self) -> Path | None:
        home = _home(self._base.store, self._base.name)
        return None if home is None else home / safe_name(self._branch)

    def _seeded(self) -> Store:
        """A copy of the corpus, in the place of what is there."""
        base, folder = self._base.store, self._place()
        if folder is None:
            memory = CorpusStore.memory()
            copy_store(base, memory)
            return memory
        aside = folder.with_name(f".{folder.name}-{os.getpid()}")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            if isinstance(base, LocalStore):
                base.copy_to(aside)
            else:
                with LocalStore(aside) as target:
                    copy_store(base, target)
            _put_in_place(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return LocalStore(folder)

    # -- what is in it -----------------------------------------------------------------------------------------

    def _bring_up(self, store: Store, progress: Listener | None, most: int | None) -> BuildReport | None:
        """Let the view hold what the commit has; all of it or nothing."""
        scope = TreeScope(self._folder, self._repository, self._commit, branch=self._branch)
        try:
            with store.transaction():
                if _KEY not in store.get_config():
                    self._begin(store)
                    self._take_over(store, scope)
                apart = self._apart(store, scope)
                if most is not None and len(apart) > most:
                    raise InvalidInput(
                        f"The branch {self._branch!r} differs in {len(apart):,} files from what is indexed, "
                        f"more than the {most:,} that are read on the way to an answer.",
                        remedy=Remedy(
                            f"Look at it once at a terminal: ir search {self._base.name} --branch {self._branch} …",
                            agent="Ask the user to look at that branch once at a terminal.",
                        ),
                    )
                store.set_config({**store.get_config(), _KEY: {"branch": self._branch, "recipe": self._recipe}})
                built = build(
                    _with_scope(self._source, scope),
                    store=store,
                    embedder=self._embedder(),
                    language=str(self._recipe["language"] or "english"),
                    progress=progress,
                    floor=False,
                    held=_Moved(store, self._base.store, apart),
                )
                if scope.damaged is not None:  # what could not be read would be missing without a word
                    raise SourceError(scope.damaged.message, remedy=scope.damaged.remedy)
                return built.report
        finally:
            scope.close()

    def _model(self, store: Store) -> Embedder:
        """What queries are embedded by: that of the corpus, which is loaded already if it was asked before."""
        own = getattr(self._base, "embedder", None)
        if own is not None and getattr(own, "id", None) == self._recipe["embedder_id"]:
            return own  # type: ignore[no-any-return]
        return embedder_for(store.get_config(), None)

    def _embedder(self) -> Any:
        """The embedder that the corpus would be built with; it may be one of its user's own."""
        spec = built_by(self._base.store)
        if spec in (None, CUSTOM):
            return getattr(self._base, "embedder", None)
        return spec

    def _begin(self, store: Store) -> None:
        """Leave the copy with the default space alone: nobody fills another one here."""
        for space in store.spaces():
            if space != store.default_space:
                store.drop_space(space)
        config = store.get_config()
        store.set_config({name: value for name, value in config.items() if name not in ("spaces", "upgrade", "keep")})

    def _take_over(self, store: Store, scope: TreeScope) -> None:
        """Note of each file that the commit has it as it is indexed, where git knows that without reading it.

        That is so if the file is still what was indexed, git holds it for unchanged since it was checked out, and what
        was checked out is what the commit has. The others are read and compared.
        """
        try:
            unchanged = self._repository.unchanged()
        except SourceError:
            return
        ids = set(self._folder) & set(scope)
        for page in store.iter_entries("ledger", _READ):
            same = {}
            for key, entry in page:
                name = str(entry.get("artifact_id"))
                stat = entry.get("stat")
                if stat is None or name not in ids or stat != self._folder.stat_signal(name):
                    continue
                if unchanged.get(scope.path_of(name)) == scope.oid_of(name):
                    same[key] = {**entry, "stat": scope.stat_signal(name)}
            store.set_ledger_entries(same)

    def _apart(self, store: Store, scope: TreeScope) -> list[str]:
        """The files that are, or may be, other ones than the view holds, and those that left it."""
        held = {name: stat for name, stat in ledger_rows(store, "artifact_id", "stat") if name is not None}
        now = {storable(name): scope.stat_signal(name) for name in scope}
        return [name for name in dict.fromkeys((*held, *now)) if name not in held or held[name] != now.get(name)]


class _Moved:
    """The vectors of texts that are the same as before at another place: of what differs, here and in the corpus."""

    def __init__(self, view: Store, base: Store, artifact_ids: Sequence[str]) -> None:
        self._stores = (view, base)
        self._ids = artifact_ids
        self._known: dict[str, Vector] | None = None

    def __call__(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        if self._known is None:
            self._known = dict(self._read())
        known = self._known
        return {text: known[text] for text in texts if text in known}

    def _read(self) -> Iterator[tuple[str, Vector]]:
        for store in self._stores:
            left = _MOST_HELD
            for ids in parts(self._ids, _READ):
                entries = (store.get_ledger_entry(ledger_key(one)) for one in ids)
                record_ids = [record_id for entry in entries if entry for record_id in entry["record_ids"]][:left]
                left -= len(record_ids)
                for record in store.get_records(record_ids):
                    yield embedding_text(record.text, record.metadata), record.vector
                if left <= 0:
                    break


def _source_of(base: Corpus, given: Source | None) -> Source:
    source = given or getattr(base, "source", None)
    if source is not None:
        return source
    from ir.registry import entered, source_for

    if base.name in entered():
        return source_for(base.name)
    raise InvalidInput(
        f"Nobody remembers what the corpus {base.name!r} was built from.",
        remedy="Give it: branch_corpus(corpus, branch, source=…); or register the corpus.",
    )


def _with_scope(source: Any, scope: TreeScope) -> Source:
    """The same source over other files."""
    if is_dataclass(source) and not isinstance(source, type):
        return replace(source, scope=scope)  # type: ignore[return-value]
    other = copy.copy(source)
    other.scope = scope
    return other  # type: ignore[no-any-return]


def _home(store: Store, name: str) -> Path | None:
    """Where the views of a corpus are: beside it, or for a server's on this machine; ``None`` for one in memory."""
    if isinstance(store, LocalStore) and os.access(store.path, os.W_OK):
        return store.path / BRANCHES
    return None if type(store) is CorpusStore else jobs_dir(name) / BRANCHES


def _put_in_place(aside: Path, folder: Path) -> None:
    with _removed(folder):
        aside.rename(folder)


@contextmanager
def _removed(folder: Path) -> Iterator[None]:
    """What is in the way goes out of sight first; whoever has it open keeps it."""
    doomed = folder.with_name(f".{folder.name}-{os.getpid()}.removed")
    with suppress(FileNotFoundError):
        folder.rename(doomed)
    try:
        yield
    finally:
        shutil.rmtree(doomed, ignore_errors=True)
