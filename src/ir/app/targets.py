"""What a user means by a word: a corpus that has a name, or a folder or file that becomes one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.config import corpora_dir, corpus_dir, safe_name
from ir.errors import CorpusNotBuilt, InvalidInput, IrError, OutsideCorpus, Remedy

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.sources import CorpusSource

__all__ = [
    "PATH_PARAMETERS",
    "Target",
    "built_corpora",
    "cut_as_text",
    "folder_gone",
    "is_built",
    "is_listed",
    "known_names",
    "may_see",
    "registered_target",
    "resolve",
    "takes_all",
    "visible_corpora",
]


#: Under which name each kind of corpus takes the path it is made from.
PATH_PARAMETERS = {
    "book": "paths",
    "code": "root",
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
    """A corpus by its name; ``path`` is the folder or file that the user gave instead of one.

    ``instead_of`` is the preset that the user may have meant, where a folder here is called as it is. With ``as_code``
    the folder is read as code from now on, whatever it was read as, and with ``params`` by these.
    """

    name: str
    path: Path | None = None
    instead_of: str | None = None
    as_code: bool = False
    params: Mapping[str, Any] | None = None

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
        from ir.registry import source_from_entry

        kind, params = self.recipe(settings)
        return source_from_entry(self.name, {"kind": kind, "params": params})

    def remember(self, embedder: str, settings: Mapping[str, Any]) -> None:
        """Register the folder under its name, so that it can be listed, rebuilt and refreshed.

        What was registered with another embedder is from now on with the one that it was built with.
        """
        from ir.registry import entered, prefer_embedder, register

        if self.path is None:
            prefer_embedder(self.name, embedder)
            return
        kind, params = self.recipe(settings)
        entry = entered().get(self.name, {})
        if (entry.get("kind"), entry.get("embedder"), entry.get("params")) != (kind, embedder, params):
            kept = {name: entry.get(name) for name in ("store", "maintenance")}
            register(self.name, kind, embedder=embedder, **kept, **params)

    @contextmanager
    def keeping_at(self, address: str | None, settings: Mapping[str, Any]) -> Iterator[None]:
        """Keep the corpus at a server's address from now on, or again on this machine; as before if the block fails."""
        from ir.registry import entered, keep_at, register, restore

        before = entered().get(self.name)
        if self.path is not None and before is None:
            kind, params = self.recipe(settings)
            register(self.name, kind, store=address, **params)
        else:
            keep_at(self.name, address)
        try:
            yield
        except BaseException:
            restore(self.name, before)
            raise

    def recipe(self, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The kind of corpus that a folder becomes, and its parameters.

        What was built once stays what it is; a new one is code if most of its files are.
        """
        from ir.registry import entered

        if self.params is not None:
            return "code", dict(self.params)
        entry = entered().get(self.name, {})
        params = {"root": str(self.path), "max_bytes": int(settings["max_file_mb"] * 1_000_000)}
        if entry.get("kind") == "code":
            return "code", {**entry["params"], **params}
        if self.as_code or (not entry and self._is_code()):
            from ir.code.folder import settled

            return "code", settled(params)
        return "files", {**params, "all_text": True}

    def _is_code(self) -> bool:
        """Whether it was built as code; if it was not built, whether most of it is."""
        if not self.built:
            return _mostly_code(self.path)
        from ir.index import open_store

        with open_store(self.name) as store:
            return store.get_config().get("source_kind") == "code"


def _mostly_code(path: Path | None) -> bool:
    from ir.code.folder import mostly_code

    return path is not None and mostly_code(path)


def cut_as_text(target: Target) -> Path | None:
    """The folder of code of a corpus that a command made before code was read as definitions; ``None`` for others.

    What the user gave a name of its own, or a kind, stays as it was asked for.
    """
    from ir.registry import entered, name_for_path

    entry = entered().get(target.name, {})
    root = entry.get("params", {}).get("root")
    if not takes_all(entry) or entry.get("kind") != "files" or entry.get("strategy") or not isinstance(root, str):
        return None
    path = Path(root)
    return path if name_for_path(path) == target.name and _there(path) and _mostly_code(path) else None


def takes_all(entry: Mapping[str, Any]) -> bool:
    """Whether a corpus is made of all text files of a folder."""
    params = entry.get("params", {})
    whole = entry.get("kind") == "code" and not params.get("pattern")
    return (whole or (entry.get("kind") == "files" and bool(params.get("all_text")))) and not params.get("hidden")


def folder_gone(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether nothing is left of the folders or files that a registered corpus is made from.

    Of one that another machine registered, only that one can say so.
    """
    from ir.registry import elsewhere
    from ir.sources.records import names_function

    given = entry.get("params", {}).get(PATH_PARAMETERS.get(str(entry.get("kind")), ""))
    places = given if isinstance(given, list) else [given]
    paths = [Path(place) for place in places if isinstance(place, str) and not names_function(place)]
    gone = bool(paths) and len(paths) == len(places) and not any(_there(path) for path in paths)
    return gone and not elsewhere(name)


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it may be there, and cannot be looked at now
        return True


def resolve(word: str) -> Target:
    """The corpus or path that ``word`` names.

    A corpus that was built or registered wins over a path unless the word looks like one, and a path wins over a
    preset that was never built: who has a folder `skills` and searches `skills` means what is there.
    """
    if not word.strip():
        raise InvalidInput("The name of the corpus is empty.", remedy="Give a corpus name or a path.")
    from ir.registry import PRESETS, existing_path, looks_like_path, name_for_path
    from ir.store.opening import names_server, without_password

    if names_server(word):
        if without_password(word) != word:
            raise InvalidInput(
                f"The address {without_password(word)} was given with a password, which others could see.",
                remedy="Leave it out, and put it where the client looks: ~/.pgpass or PGPASSWORD, MILVUS_TOKEN, "
                "MONGODB_PASSWORD.",
            )
        return Target(word)
    if not looks_like_path(word) and is_listed(word):
        return Target(word)
    path = existing_path(word)
    if path is not None:
        return Target(name_for_path(path), path, word if word in PRESETS else None)
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


def registered_target(word: str, ctx: Context) -> Target:
    """The corpus that an agent names: one that the user has and that the caller may see, by its name alone.

    ``"."`` is the corpus of the folder that the caller works in, or the only one that there is.
    """
    from ir.registry import existing_path, looks_like_path, name_for_path
    from ir.store.opening import names_server

    if word == ".":
        folder = existing_path(ctx.caller.folder) if ctx.caller is not None and ctx.caller.folder else None
        name = None if folder is None else name_for_path(folder)
        seen = visible_corpora(ctx)
        if name in seen:
            return Target(str(name))
        if len(seen) == 1:
            return Target(seen[0])
        raise InvalidInput("Say which corpus is meant.", remedy=_choose(seen))
    if looks_like_path(word) or names_server(word):
        raise OutsideCorpus(
            f"{word!r} is not the name of a corpus, and nothing else can be asked here.",
            remedy=_choose(visible_corpora(ctx)),
        )
    if may_see(word, ctx) and ((ctx.pool is not None and ctx.pool.holds(word)) or is_listed(word)):
        return Target(word)
    raise CorpusNotBuilt(f"There is no corpus named {word!r}.", remedy=_choose(visible_corpora(ctx), word))


def visible_corpora(ctx: Context) -> list[str]:
    """The corpora that the user registered or built and that whoever asks may see."""
    from ir.registry import entered

    return sorted(name for name in {*entered(), *built_corpora()} if may_see(name, ctx))


def may_see(name: str, ctx: Context) -> bool:
    """Whether whoever asks may know that there is a corpus, or a vocabulary, of that name."""
    return ctx.caller is None or ctx.caller.corpora is None or name in ctx.caller.corpora


def _choose(names: list[str], word: str = "") -> Remedy:
    near = get_close_matches(word, names, n=1)
    if not names:
        told = "There is none yet; ask the user to build one."
        return Remedy("`ir build PATH` makes one.", agent=told)
    told = f"Did you mean {near[0]!r}? " if near else ""
    return Remedy(f"{told}`ir ls` lists the corpora.", agent=f"{told}The corpora are: {', '.join(names[:20])}.")


def known_names() -> set[str]:
    """Every name that can be built or searched: registered, preset or built."""
    from ir.registry import registered

    return {*registered(), *built_corpora()}


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
    """Whether `ir ls` shows the name as that of a corpus, not only of a preset that could be built."""
    from ir.registry import entered

    return name in entered() or _was_built(name)


def _was_built(name: str) -> bool:
    try:
        return _is_built_here(name)
    except IrError:
        return True  # it cannot be read now, so it has to be shown as broken


def is_built(name: str) -> bool:
    """Whether the corpus has an index, on this machine or on the server that keeps it."""
    from ir.index import is_built as holds_index
    from ir.index import store_for
    from ir.registry import store_of
    from ir.store.opening import names_server

    if not names_server(name) and store_of(name) is None:
        return _is_built_here(name)
    with store_for(name) as store:
        return holds_index(store)


def _is_built_here(name: str) -> bool:
    from ir.index import is_built as holds_index
    from ir.index import on_disk

    if not on_disk(name):
        return False
    from ir.store import LocalStore

    with LocalStore(corpus_dir(name)) as store:
        return holds_index(store)
