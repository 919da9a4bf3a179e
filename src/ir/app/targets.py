"""What a user means by a word: a corpus that has a name, or a folder or file that becomes one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.base import storage_key
from ir.config import corpora_dir, corpus_dir, safe_name
from ir.errors import CorpusNotBuilt, InvalidInput, IrError

if TYPE_CHECKING:
    from ir.sources import CorpusSource

__all__ = [
    "PATH_PARAMETERS",
    "Target",
    "built_corpora",
    "existing_path",
    "is_built",
    "is_listed",
    "known_names",
    "name_for_path",
    "on_disk",
    "resolve",
]


#: Under which name each kind of corpus takes the path it is made from.
PATH_PARAMETERS = {
    "files": "root",
    "jsonl": "path",
    "mcp": "tools",
    "packages": "manifest",
    "reports": "projects_root",
    "sessions": "root",
    "skills": "roots",
}


@dataclass(frozen=True)
class Target:
    """A corpus by its name; ``path`` is the folder or file that the user gave instead of one."""

    name: str
    path: Path | None = None

    @property
    def built(self) -> bool:
        return is_built(self.name)

    def require_built(self) -> None:
        """An error that says what to do if the corpus was never built."""
        if not self.built:
            from ir.index import not_built

            raise not_built(self.name, path=self.path)

    def source(self, settings: Mapping[str, Any]) -> CorpusSource:
        """What the corpus is made from; an error for a corpus that was built from data in memory."""
        if self.path is None:
            from ir.registry import source_for

            return source_for(self.name)
        from ir.sources import CorpusSource

        return CorpusSource.from_files(name=self.name, **self._params(settings))

    def remember(self, embedder: str, settings: Mapping[str, Any]) -> None:
        """Register the folder under its name, so that it can be listed, rebuilt and refreshed.

        What was registered with another embedder is from now on with the one that it was built with.
        """
        from ir.registry import prefer_embedder, register, registered

        if self.path is None:
            prefer_embedder(self.name, embedder)
            return
        params = self._params(settings)
        entry = registered().get(self.name, {})
        if (entry.get("embedder"), entry.get("params")) != (embedder, params):
            register(self.name, "files", embedder=embedder, store=entry.get("store"), **params)

    @contextmanager
    def keeping_at(self, address: str | None, settings: Mapping[str, Any]) -> Iterator[None]:
        """Keep the corpus at a server's address from now on, or again on this machine; as before if the block fails."""
        from ir.registry import get, keep_at, register, unregister

        before = get(self.name)
        if self.path is not None and before is None:
            register(self.name, "files", store=address, **self._params(settings))
        else:
            keep_at(self.name, address)
        try:
            yield
        except BaseException:
            if before is None:
                unregister(self.name)
            else:
                keep_at(self.name, before.get("store"))
            raise

    def _params(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"root": str(self.path), "all_text": True, "max_bytes": int(settings["max_file_mb"] * 1_000_000)}


def resolve(word: str) -> Target:
    """The corpus or path that ``word`` names; a listed corpus wins over a path unless the word looks like one."""
    if not word.strip():
        raise InvalidInput("The name of the corpus is empty.", remedy="Give a corpus name or a path.")
    from ir.registry import PRESETS, looks_like_path
    from ir.store.opening import names_server, without_password

    if names_server(word):
        if without_password(word) != word:
            raise InvalidInput(
                f"The address {without_password(word)} was given with a password, which others could see.",
                remedy="Leave it out, and put it where the client looks: ~/.pgpass or PGPASSWORD, MILVUS_TOKEN.",
            )
        return Target(word)
    if not looks_like_path(word) and is_listed(word):
        return Target(word)
    path = existing_path(word)
    if path is not None:
        return Target(name_for_path(path), path)
    if word in PRESETS:
        return Target(word)
    if looks_like_path(word):
        raise InvalidInput(f"There is no file or folder {word!r}.", remedy="Check the path; `ir ls` lists corpora.")
    near = get_close_matches(word, known_names(), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise CorpusNotBuilt(
        f"There is no corpus, file or folder named {word!r}.",
        remedy=f"{hint}`ir ls` lists the corpora; `ir build PATH` makes one.",
    )


def existing_path(word: str) -> Path | None:
    """The whole path of the file or folder that a word names; ``None`` if there is none."""
    path = Path(os.path.expanduser(word))  # noqa: PTH111 - a Path would take ./~x for the home of a user called x
    try:
        return path.resolve() if path.exists() else None
    except (OSError, ValueError):  # no file can be called so: a query may be longer than any name
        return None


def name_for_path(path: Path) -> str:
    """The name of the corpus of a path: its last part and a hash of the whole, so that two `docs` stay apart."""
    label = safe_name(path.name or "root")[:60]
    return f"{label}-{storage_key(str(path))[:6]}"


def known_names() -> set[str]:
    """Every name that can be built or searched: registered, preset or built."""
    from ir.registry import PRESETS, registered

    return {*registered(), *PRESETS, *built_corpora()}


def built_corpora() -> list[str]:
    """The names of the corpora that were built on this machine; a name that is no file name is found by its
    registration. A corpus that cannot be read is among them, one whose first build came to no end is not."""
    from ir.registry import registered

    folder = corpora_dir()
    if not folder.is_dir():
        return []
    names = {safe_name(name): name for name in registered()}
    found = (names.get(path.parent.name, path.parent.name) for path in folder.glob("[!.]*/corpus.db"))
    return sorted(name for name in found if _was_built(name))


def is_listed(name: str) -> bool:
    """Whether `ir ls` shows the name."""
    from ir.registry import registered

    return name in registered() or _was_built(name)


def _was_built(name: str) -> bool:
    try:
        return _is_built_here(name)
    except IrError:
        return True  # it cannot be read now, so it has to be shown as broken


def is_built(name: str) -> bool:
    """Whether the corpus has an index, on this machine or on the server that keeps it."""
    from ir.index import is_built as holds_index
    from ir.registry import store_of
    from ir.store.opening import names_server, open_store

    address = name if names_server(name) else store_of(name)
    if address is None:
        return _is_built_here(name)
    with open_store(address) as store:
        return holds_index(store)


def _is_built_here(name: str) -> bool:
    if not on_disk(name):
        return False
    from ir.index import is_built as holds_index
    from ir.store import LocalStore

    with LocalStore(corpus_dir(name)) as store:
        return holds_index(store)


def on_disk(name: str) -> bool:
    """Whether this machine holds anything of the corpus, be it only what an unfinished build left."""
    return (corpus_dir(name) / "corpus.db").is_file()
