"""A corpus that was built before, by its name or its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.index.corpus import Corpus
from ir.index.embedder import embedder_for

if TYPE_CHECKING:
    from ir.protocols import Store
    from ir.store import CorpusStore

__all__ = ["build_corpus", "is_built", "not_built", "open_corpus", "open_store", "store_for"]

#: The file that makes a folder a corpus.
_DATABASE = "corpus.db"


def open_corpus(name: str | os.PathLike[str], *, embedder: Any = None) -> Corpus:
    """Open a built corpus by name, or by the path of its folder.

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


def open_store(name: str | os.PathLike[str]) -> CorpusStore:
    """The store of a built corpus, without its embedder; ``name`` may also be a server's address."""
    store = _store(name)
    try:
        if not is_built(store):
            raise not_built(os.fspath(name))
    except BaseException:
        store.close()
        raise
    return store


def is_built(store: Store) -> bool:
    """Whether a build into the store ever came to its end; the database alone is made when the first one begins."""
    return "embedder_id" in store.get_config()


def _store(name: str | os.PathLike[str]) -> CorpusStore:
    from ir.registry import store_of
    from ir.store.local import LocalStore
    from ir.store.opening import names_server
    from ir.store.opening import open_store as open_address

    if isinstance(name, str):
        address = name if names_server(name) else store_of(name)
        if address is not None:
            store: CorpusStore = open_address(address)
            return store
    return LocalStore(corpus_folder(name))


def store_for(name: str, *, lock_timeout: float | None = None) -> CorpusStore:
    """Where a corpus of this name is kept or would be: on the server that it is registered with, or on this machine."""
    from ir.registry import store_of
    from ir.store.local import LocalStore
    from ir.store.opening import open_store as open_address

    address = store_of(name)
    store: CorpusStore = LocalStore(corpus_dir(name)) if address is None else open_address(address)
    if lock_timeout is not None and hasattr(store, "lock_timeout"):
        store.lock_timeout = lock_timeout
    return store


def corpus_folder(name: str | os.PathLike[str]) -> Path:
    """The folder of a built corpus. A name wins over a folder that happens to be called the same."""
    word = os.fspath(name)
    if not word.strip():
        raise InvalidInput("The name of the corpus is empty.", remedy="Give the name or the folder of a corpus.")
    folder = corpus_dir(word)
    if isinstance(name, str) and (folder / _DATABASE).is_file():
        return folder
    path = Path(word).expanduser()
    if (path / _DATABASE).is_file():
        return path
    raise not_built(word)


def build_corpus(name: str, **kwargs: Any) -> Corpus:
    """Build or bring up to date a registered or preset corpus; the keywords are those of :func:`ir.build`."""
    from ir.index.builder import build
    from ir.registry import source_for

    return build(source_for(name), **kwargs)


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
