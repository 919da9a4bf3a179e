"""From what somebody calls a corpus (a name, a path, a server's address, or the corpus itself) to the open corpus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.index.allowance import within_quota
from ir.index.corpus import Corpus
from ir.index.embedder import embedder_for
from ir.protocols import Corpus as AnyCorpus
from ir.protocols import CorpusOrName, Store, StoreOrName, WithLockTimeout, WithStore

if TYPE_CHECKING:
    from ir.store.base import BaseStore

__all__ = [
    "as_corpus",
    "as_store",
    "is_built",
    "not_built",
    "on_disk",
    "open_corpus",
    "open_store",
    "store_for",
]

#: The file that makes a folder a corpus.
_DATABASE = "corpus.db"


def as_corpus(given: CorpusOrName) -> AnyCorpus:
    """A corpus as it is; what names one, as :func:`open_corpus` opens it."""
    if isinstance(given, str | os.PathLike):
        return open_corpus(given)
    if not isinstance(given, WithStore):
        raise InvalidInput(
            f"{given!r} is not a corpus.", remedy="Give one that ir.build or ir.open_corpus returned, or its name."
        )
    return given


def as_store(given: StoreOrName) -> Store:
    """The store of a corpus, or of what names one; a store as it is. No embedder is made for it."""
    if isinstance(given, str | os.PathLike):
        return open_store(given)
    return given.store if isinstance(given, WithStore) else given


def open_corpus(name: str | os.PathLike[str], *, embedder: Any = None) -> Corpus:
    """Open a built corpus by name, by the folder or file that ``ir build PATH`` made it of, or by its own folder.

    No model is loaded before the first search needs one. ``embedder`` is needed for a corpus that was built with a
    callable of your own; one with another id than the index's is refused at once.
    """
    store = open_store(name)
    try:
        config = store.get_config()
        chosen = embedder_for(config, embedder)
    except BaseException:
        store.close()
        raise
    return Corpus(str(config.get("name") or os.fspath(name)), store, chosen, chosen.id)


def open_store(name: str | os.PathLike[str]) -> BaseStore:
    """The store of a built corpus, without its embedder; ``name`` may also be a server's address."""
    store = _store(name)
    try:
        if not is_built(store):
            raise _unbuilt(os.fspath(name))
    except BaseException:
        store.close()
        raise
    return store


def is_built(store: Store) -> bool:
    """Whether a build into the store ever came to its end; the database alone is made when the first one begins."""
    return "embedder_id" in store.get_config()


def _store(name: str | os.PathLike[str]) -> BaseStore:
    from ir.registry import store_of
    from ir.store.local import LocalStore
    from ir.store.opening import names_server

    word = os.fspath(name)
    if not word.strip():
        raise InvalidInput("The name of the corpus is empty.", remedy="Give the name or the folder of a corpus.")
    if isinstance(name, str) and names_server(name):
        return store_for(name)
    for known in _names(name):
        if store_of(known) is not None or on_disk(known):
            return store_for(known)
    folder = Path(word).expanduser()
    if not (folder / _DATABASE).is_file():
        raise _unbuilt(word)
    return LocalStore(folder)


def _names(name: str | os.PathLike[str]) -> list[str]:
    """What the corpus may be called: as it was given, or as the command line calls the corpus of that path.

    As there, a name that is registered or built wins over a path.
    """
    from ir.registry import existing_path, get, name_for_path

    word = os.fspath(name)
    if isinstance(name, str) and (on_disk(name) or get(name) is not None):
        return [name]
    path = existing_path(word)
    of_path = [] if path is None else [name_for_path(path)]
    return [name, *of_path] if isinstance(name, str) else of_path


def on_disk(name: str) -> bool:
    """Whether this machine holds anything of the corpus, be it only what an unfinished build left."""
    return (corpus_dir(name) / _DATABASE).is_file()


def _unbuilt(word: str) -> CorpusNotBuilt:
    """The error for a name, or for a path that the command line would make a corpus of."""
    from ir.registry import existing_path, get, name_for_path
    from ir.store.opening import names_server

    named = names_server(word) or on_disk(word) or get(word) is not None
    path = None if named else existing_path(word)
    return not_built(word) if path is None else not_built(name_for_path(path), path=path)


def store_for(name: str, *, lock_timeout: float | None = None) -> BaseStore:
    """Where a corpus of this name is kept or would be: on the server that it is registered with, or on this machine;
    one that is not registered, where the setting `store` says.

    ``name`` may also be a server's address.
    """
    from ir.registry import default_store, get, store_of
    from ir.store.local import LocalStore
    from ir.store.opening import names_server, without_password
    from ir.store.opening import open_store as open_address

    address = name if names_server(name) else store_of(name)
    if address is None and get(name) is None:
        address = default_store(name)
    store: BaseStore = LocalStore(corpus_dir(name)) if address is None else open_address(address)
    if lock_timeout is not None and isinstance(store, WithLockTimeout):
        store.lock_timeout = lock_timeout
    return within_quota(store, without_password(name), _is_there)


def _is_there(name: str) -> bool:
    with store_for(name) as store:
        return store.exists()


def not_built(name: str, *, path: Path | None = None) -> CorpusNotBuilt:
    """The error for a corpus that was never built to the end; ``path`` is what it is to be made from, if that is known.

    Who is told to build it while another process does would only wait for that one.
    """
    import shlex

    from ir.store.local import LocalStore
    from ir.store.opening import names_server, without_password

    word = without_password(name)
    what = f"The corpus {word!r}" if path is None else f"The corpus of {path}"
    builder = None if names_server(name) else LocalStore(corpus_dir(name)).writer()
    if builder is not None:
        return CorpusNotBuilt(
            f"{what} is being built just now by another process ({builder}), for the first time.",
            remedy="Wait until it is done, then try again.",
        )
    build = shlex.quote(word if path is None else str(path))
    return CorpusNotBuilt(f"{what} has not been built.", remedy=f"Build it with: ir build {build}")
