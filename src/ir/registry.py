"""Which corpora does this user have: named recipes for building them, kept in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.config import registry_path
from ir.config.files import file_lock, write_atomic
from ir.errors import CorpusCorrupt, CorpusNotBuilt, InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from ir.sources import CorpusSource

__all__ = [
    "KINDS",
    "PRESETS",
    "check_entry",
    "check_name",
    "get",
    "keep_at",
    "looks_like_path",
    "prefer_embedder",
    "register",
    "registered",
    "retriever_for",
    "retrievers",
    "source_for",
    "source_from_entry",
    "store_of",
    "unregister",
]

#: Names that can be built without being registered.
PRESETS = ("skills", "packages", "reports", "sessions")

_FORMAT = 1


class _Kind(NamedTuple):
    """How a kind of corpus is made: the constructor of ``CorpusSource`` and the parameter it cannot do without."""

    factory: str
    required: str | None = None


KINDS: Mapping[str, _Kind] = {
    "files": _Kind("from_files", "root"),
    "skills": _Kind("from_skills"),
    "packages": _Kind("from_packages"),
    "reports": _Kind("from_md_reports"),
    "sessions": _Kind("from_claude_sessions"),
    "records": _Kind("from_records", "fetcher"),
    "jsonl": _Kind("from_jsonl", "path"),
    "mcp": _Kind("from_mcp_tools", "tools"),
}

#: Parameters of the constructors that a registry entry says elsewhere, or that no file can hold.
_NOT_PARAMS = frozenset(
    {"name", "embedder", "strategy", "indexing_strategy", "exclude", "change_signal", "metadata_of"}
)
#: Parameters that name a file or folder.
_PATHS = frozenset({"root", "path", "manifest", "projects_root", "roots", "tools"})


def register(
    name: str,
    kind: str,
    *,
    embedder: str = "default",
    strategy: str | Mapping[str, Any] | None = None,
    store: str | None = None,
    **params: Any,
) -> dict[str, Any]:
    """Register a corpus under ``name``, in place of one that was; the entry that was written.

    ``store`` is the address of a server that keeps the corpus; without one it is kept on this machine.
    ``strategy`` is a name or a mapping such as ``{"type": "Chunked", "chunk_size": 800}``. The parameters are those
    of the source's constructor, in JSON's types; a relative path is kept as an absolute one.
    """
    given = {key: _absolute(value) if key in _PATHS else value for key, value in params.items() if value is not None}
    asked = {"kind": kind, "embedder": embedder, "strategy": strategy, "params": given, "store": store}
    entry = check_entry(check_name(name), asked)
    _change(lambda entries: entries.__setitem__(name, entry))
    return entry


def check_name(name: object) -> str:
    """``name`` if a corpus can be called so and be found by it: what looks like something else is taken for that."""
    from ir.store.opening import names_server

    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidInput(f"A corpus needs a name that can be printed, not {name!r}.")
    if looks_like_path(name) or names_server(name):
        what = "a path" if looks_like_path(name) else "an address"
        raise InvalidInput(
            f"A corpus cannot be called {name!r}: that is taken for {what}.",
            remedy="Choose a name without / and \\ that does not begin with . or ~.",
        )
    return name


def looks_like_path(word: str) -> bool:
    """Whether a word is taken for a path wherever a corpus or a path can be given.

    >>> [looks_like_path(word) for word in ("notes", "./notes", "~/notes", "my/notes", "v1.2")]
    [False, True, True, True, False]
    """
    return word.startswith((".", "~")) or "/" in word or "\\" in word


def registered() -> dict[str, dict[str, Any]]:
    """All registered corpora, by name."""
    return _load()


def get(name: str) -> dict[str, Any] | None:
    """The entry of a registered corpus, ``None`` if there is none."""
    return _load().get(name)


def unregister(name: str) -> bool:
    """Forget a corpus; whether it was registered. What was built of it stays on disk."""
    found = []
    if name in _load():
        _change(lambda entries: found.append(entries.pop(name, None)))
    return any(entry is not None for entry in found)


def store_of(name: str) -> str | None:
    """The address of the server that keeps a corpus; ``None`` for one that is kept on this machine."""
    address = (get(name) or {}).get("store")
    return str(address) if address else None


def keep_at(name: str, address: str | None) -> dict[str, Any]:
    """Change where a registered or preset corpus is kept, not what is kept there already; its entry."""
    entry = get(name) or ({"kind": name} if name in PRESETS else None)
    if entry is None:
        raise _unknown(name)
    checked = check_entry(name, {**entry, "store": address})
    _change(lambda entries: entries.__setitem__(name, checked))
    return checked


def prefer_embedder(name: str, embedder: str) -> None:
    """Change the embedder that a corpus was registered with on purpose; one that was not keeps whatever built it."""
    entry = get(name)
    if entry is not None and entry.get("embedder", "default") not in ("default", embedder):
        checked = check_entry(name, {**entry, "embedder": embedder})
        _change(lambda entries: entries.__setitem__(name, checked))


def source_from_entry(name: str, entry: Mapping[str, Any]) -> CorpusSource:
    """The source that an entry describes."""
    from ir.sources import CorpusSource
    from ir.strategy import strategy_from_spec

    checked = check_entry(name, entry)
    given = dict(checked["params"])
    if checked["strategy"] is not None:
        given["strategy"] = strategy_from_spec(checked["strategy"])
    make = getattr(CorpusSource, KINDS[checked["kind"]].factory)
    source: CorpusSource = make(name=name, embedder=checked["embedder"], **given)
    return source


def source_for(name: str) -> CorpusSource:
    """The source of a registered corpus, or of a preset."""
    entries = _load()
    if name in entries:
        return source_from_entry(name, entries[name])
    if name in PRESETS:
        return source_from_entry(name, {"kind": name})
    raise _unknown(name)


def _unknown(name: str) -> CorpusNotBuilt:
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(name, [*_load(), *PRESETS], n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return CorpusNotBuilt(
        f"No corpus named {name!r} is registered.",
        remedy=f"{hint}Register it with: ir register {name} PATH; `ir ls` lists those that are.",
    )


def retriever_for(name: str, **search_defaults: Any) -> Any:
    """A retriever over the built corpus ``name``; the keywords hold for every call."""
    from ir.retrieve import as_retriever

    return as_retriever(name, **search_defaults)


def retrievers(**search_defaults: Any) -> Mapping[str, Any]:
    """The registered corpora as retrievers, by name. A corpus is opened when its key is asked for."""
    return _Retrievers(search_defaults)


class _Retrievers(Mapping[str, Any]):
    def __init__(self, search_defaults: Mapping[str, Any]) -> None:
        self._search_defaults = dict(search_defaults)

    def __getitem__(self, name: str) -> Any:
        if name not in _load():
            raise KeyError(name)
        return retriever_for(name, **self._search_defaults)

    def __contains__(self, name: object) -> bool:
        return name in _load()

    def __iter__(self) -> Iterator[str]:
        return iter(_load())

    def __len__(self) -> int:
        return len(_load())


def check_entry(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry whose kind, parameters, embedder and strategy can be used, or an error that says what cannot."""
    kind = choice("kind of corpus", entry.get("kind"), KINDS)
    params = dict(entry.get("params") or {})
    allowed = _parameters(kind)
    for param in params:
        choice(f"parameter of {kind!r}", param, allowed)
    required = KINDS[kind].required
    if required and params.get(required) is None:
        raise InvalidInput(f"A corpus of kind {kind!r} needs {required!r}.", remedy=f"Give {required}=…")
    embedder = entry.get("embedder", "default")
    if not isinstance(embedder, str) or not embedder.strip():
        raise InvalidInput(
            f"The embedder of a registered corpus is a name, not {embedder!r}.",
            remedy="Pass a callable to build() instead.",
        )
    strategy = entry.get("strategy")
    if not (strategy is None or isinstance(strategy, (str, Mapping))):
        raise InvalidInput(f"The strategy of a registered corpus is a name or a mapping, not {strategy!r}.")
    if strategy is not None:
        from ir.strategy import strategy_from_spec

        strategy_from_spec(strategy)
    checked = {"kind": kind, "embedder": embedder, "strategy": strategy, "params": params}
    if entry.get("store"):
        checked["store"] = _checked_store(name, entry["store"])
    for label, value in (*params.items(), ("strategy", strategy)):
        _check_json(label, value)
    return checked


def _checked_store(name: str, address: Any) -> str:
    """A server's address with the corpus in it, fit to be written down."""
    from ir.store.opening import for_corpus, names_server, without_password

    if not isinstance(address, str) or not names_server(address):
        raise InvalidInput(
            f"A corpus is kept at a server's address such as postgresql://host/database, not {address!r}.",
            remedy="Leave the store out to keep it on this machine.",
        )
    if without_password(address) != address:
        raise InvalidInput(
            f"The address {without_password(address)} was given with a password, which would be written down.",
            remedy="Leave it out, and put it where the client looks: ~/.pgpass or PGPASSWORD, MILVUS_TOKEN.",
        )
    return for_corpus(address, name)


def _absolute(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_absolute(item) for item in value]
    if not isinstance(value, (str, os.PathLike)):
        return value
    return str(Path(value).expanduser().absolute())


def _check_json(label: str, value: Any) -> None:
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        same = False
    if not same:
        raise InvalidInput(
            f"{label}={value!r} cannot be kept in a file.",
            remedy="Use texts, numbers, true, false, lists and mappings.",
        )


def _parameters(kind: str) -> list[str]:
    import inspect

    from ir.sources import CorpusSource

    make = getattr(CorpusSource, KINDS[kind].factory)
    named = [item.name for item in inspect.signature(make).parameters.values() if item.kind is not item.VAR_KEYWORD]
    return [name for name in named if name not in _NOT_PARAMS]


def _load() -> dict[str, dict[str, Any]]:
    path = registry_path()
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise _corrupt(str(error)) from error
    entries = found.get("corpora") if isinstance(found, dict) else None
    if not isinstance(entries, dict) or found.get("format") != _FORMAT:
        raise _corrupt("it does not have the form of a registry")
    if not all(isinstance(entry, dict) for entry in entries.values()):
        raise _corrupt("an entry is not a mapping")
    for name, entry in entries.items():
        if not isinstance(entry.get("params", {}), dict):
            raise _corrupt(f"the params of {name!r} are not a mapping")
    return entries


def _corrupt(why: str) -> CorpusCorrupt:
    return CorpusCorrupt(
        f"The registry {registry_path()} cannot be read: {why}.",
        remedy="Correct it by hand, or move it away and register your corpora again. It was not changed.",
    )


def _change(edit: Callable[[dict[str, dict[str, Any]]], object]) -> None:
    path = registry_path()
    with file_lock(path):
        entries = _load()
        edit(entries)
        whole = {"format": _FORMAT, "corpora": dict(sorted(entries.items()))}
        write_atomic(path, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
