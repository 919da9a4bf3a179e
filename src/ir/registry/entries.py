"""The entries of the registry: named recipes for building corpora, kept in one file.

Those of corpora that a PostgreSQL database keeps for several machines are kept there, if the setting `store` names it.
A preset is known without an entry; its first build writes one, so that from then on it is a corpus like the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.base import storage_key
from ir.config import corpus_dir, registry_path, safe_name
from ir.config.files import file_lock, write_atomic
from ir.errors import CorpusCorrupt, CorpusNotBuilt, InvalidInput
from ir.options import choice
from ir.policy import Policy
from ir.registry import shared

if TYPE_CHECKING:
    from ir.sources import CorpusSource

__all__ = [
    "KINDS",
    "PRESETS",
    "check_entry",
    "check_name",
    "default_store",
    "elsewhere",
    "enter_preset",
    "entered",
    "existing_path",
    "get",
    "keep_at",
    "look_after",
    "looks_like_path",
    "name_for_path",
    "policy_of",
    "prefer_embedder",
    "presets",
    "register",
    "registered",
    "restore",
    "source_for",
    "source_from_entry",
    "state",
    "store_of",
    "unregister",
]

#: Names that can be built without being registered.
PRESETS = ("skills", "packages", "reports", "sessions")

_FORMAT = 1


class _Kind(NamedTuple):
    """How a kind of corpus is made: a constructor of ``CorpusSource`` or ``module:function``, the parameter that it
    cannot do without, one that is a function and cannot be kept, and ``module:function`` that writes out what would
    depend on the moment."""

    factory: str
    required: str | None = None
    function: str | None = None
    settle: str | None = None


KINDS: Mapping[str, _Kind] = {
    "files": _Kind("from_files", "root", function="exclude"),
    "code": _Kind("ir.code.folder:code_files", "root", settle="ir.code.folder:settled"),
    "book": _Kind("ir.book.source:book_files", "paths"),
    "skills": _Kind("from_skills"),
    "packages": _Kind("from_packages"),
    "reports": _Kind("from_md_reports"),
    "sessions": _Kind("from_claude_sessions"),
    "records": _Kind("from_records", "fetcher"),
    "jsonl": _Kind("from_jsonl", "path"),
    "mcp": _Kind("from_mcp_tools", "tools"),
}

#: Parameters of the constructors that a registry entry says elsewhere, or that no file can hold.
_NOT_PARAMS = frozenset({"name", "embedder", "strategy", "indexing_strategy", "change_signal", "metadata_of"})
#: Parameters that name a file or folder.
_PATHS = frozenset({"root", "path", "paths", "manifest", "projects_root", "roots", "tools", "repos", "records"})


def register(
    name: str,
    kind: str,
    *,
    embedder: str = "default",
    strategy: str | Mapping[str, Any] | None = None,
    store: str | None = None,
    maintenance: Mapping[str, Any] | None = None,
    **params: Any,
) -> dict[str, Any]:
    """Register a corpus under ``name``, in place of one that was; the entry that was written.

    ``store`` is the address of a server that keeps the corpus, or ``"local"`` for this machine; without one it is kept
    where the setting `store` says.
    ``strategy`` is a name or a mapping such as ``{"type": "Chunked", "chunk_size": 800}``. The parameters are those
    of the source's constructor, in JSON's types; a relative path is kept as an absolute one. ``maintenance`` says how
    often the corpus is looked after, see :class:`ir.policy.Policy`.
    """
    given = {key: _written(key, value) for key, value in params.items() if value is not None}
    check_name(name)
    store = default_store(name) if store is None else None if store == "local" else store
    asked = {"kind": kind, "embedder": embedder, "strategy": strategy, "params": given, "store": store}
    asked["maintenance"] = maintenance
    entry = check_entry(check_name(name), asked)
    settle = KINDS[kind].settle
    if settle is not None:
        entry["params"] = _named(settle)(entry["params"])
    _change(lambda kept: kept.enter(name, entry))
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


def registered() -> dict[str, dict[str, Any]]:
    """All corpora that can be built by their name: those with an entry, and the presets."""
    kept = _load()
    return {**_presets_of(kept), **kept.corpora}


def entered() -> dict[str, dict[str, Any]]:
    """The corpora with an entry of their own: registered, or presets that were built. These are maintained."""
    return _load().corpora


def presets() -> dict[str, dict[str, Any]]:
    """The presets that wait to be built for the first time; one that was unregistered is not among them."""
    return _presets_of(_load())


def get(name: str) -> dict[str, Any] | None:
    """The entry of a registered corpus or of a preset, ``None`` if there is none."""
    return registered().get(name)


def unregister(name: str) -> bool:
    """Forget a corpus; whether it was registered. What was built of it stays on disk.

    A preset is not offered any more either; building or registering it by its name brings it back.
    """
    known = name in registered()
    if known:
        _change(lambda kept: kept.forget(name))
    return known


def enter_preset(name: str) -> dict[str, Any] | None:
    """Write an entry for a preset that has none, and return it; nothing happens to another name.

    Where a preset looks depends on the current folder unless it is said, so the entry says it: whoever builds the
    corpus again, from wherever, builds the same.
    """
    if name not in PRESETS or name in entered():
        return None
    entry = _placed_preset(name)
    _change(lambda kept: kept.enter(name, entry))
    return entry


def restore(name: str, entry: dict[str, Any] | None) -> None:
    """Put back the entry that :func:`entered` had for a corpus, or that it had none."""
    _change(lambda kept: kept.corpora.pop(name, None) if entry is None else kept.enter(name, entry))


def default_store(name: str) -> str | None:
    """The address where a corpus is kept that nobody said it of: that of the setting `store`; what this machine holds
    of it already stays here, and so do presets, which are made of what is a user's own."""
    address = shared.by_default()
    if address is None or name in PRESETS or (corpus_dir(name) / "corpus.db").is_file():
        return None
    return _checked_store(name, address)


def elsewhere(name: str) -> bool:
    """Whether another machine gave a corpus its name, so that only that one knows whether its folder is there."""
    found = shared.shared_entries()
    return found is not None and name in found.elsewhere


def state() -> tuple[Any, ...]:
    """What changes when the registry is written, here or by another machine."""
    try:
        found = registry_path().stat()
        here: Any = (found.st_mtime_ns, found.st_size, found.st_ino)
    except OSError:
        here = None
    there = shared.shared_entries()
    return here, None if there is None else there.version


def store_of(name: str) -> str | None:
    """The address of the server that keeps a corpus; ``None`` for one that is kept on this machine."""
    address = (get(name) or {}).get("store")
    return str(address) if address else None


def keep_at(name: str, address: str | None) -> dict[str, Any]:
    """Change where a registered or preset corpus is kept, not what is kept there already; its entry."""
    entry = entered().get(name) or (_placed_preset(name) if name in PRESETS else None)
    if entry is None:
        raise _unknown(name)
    checked = check_entry(name, {**entry, "store": address})
    _change(lambda kept: kept.enter(name, checked))
    return checked


def policy_of(name: str) -> Policy:
    """How often a corpus is looked after."""
    return Policy.of((get(name) or {}).get("maintenance"))


def look_after(name: str, policy: Policy) -> None:
    """Change how often a registered corpus or a preset is looked after."""
    entry = entered().get(name) or (_placed_preset(name) if name in PRESETS else None)
    if entry is None:
        raise _unknown(name)
    checked = check_entry(name, {**entry, "maintenance": policy.to_dict()})
    _change(lambda kept: kept.enter(name, checked))


def prefer_embedder(name: str, embedder: str) -> None:
    """Change the embedder that a corpus was registered with on purpose; one that was not keeps whatever built it."""
    entry = get(name)
    if entry is not None and entry.get("embedder", "default") not in ("default", embedder):
        checked = check_entry(name, {**entry, "embedder": embedder})
        _change(lambda kept: kept.enter(name, checked))


def source_from_entry(name: str, entry: Mapping[str, Any]) -> CorpusSource:
    """The source that an entry describes."""
    from ir.strategy import strategy_from_spec

    checked = check_entry(name, entry)
    given = dict(checked["params"])
    if checked["strategy"] is not None:
        given["strategy"] = strategy_from_spec(checked["strategy"])
    source: CorpusSource = _factory(checked["kind"])(name=name, embedder=checked["embedder"], **given)
    return source


def source_for(name: str) -> CorpusSource:
    """The source of a registered corpus, or of a preset."""
    entries = _load().corpora
    if name in entries:
        return source_from_entry(name, entries[name])
    if name in PRESETS:
        return source_from_entry(name, _preset(name))
    raise _unknown(name)


def _unknown(name: str) -> CorpusNotBuilt:
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(name, [*entered(), *PRESETS], n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return CorpusNotBuilt(
        f"No corpus named {name!r} is registered.",
        remedy=f"{hint}Register it with: ir register {name} PATH; `ir ls` lists those that are.",
    )


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
    policy = Policy.of(entry.get("maintenance")).to_dict()
    if policy:
        checked["maintenance"] = policy
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
            remedy="Leave it out, and put it where the client looks: ~/.pgpass or PGPASSWORD, MILVUS_TOKEN, "
            "MONGODB_PASSWORD.",
        )
    return for_corpus(address, name)


def _written(key: str, value: Any) -> Any:
    """A parameter as a file can hold it, and as it holds in every folder."""
    if key == "fetcher":
        from ir.sources.records import lasting_fetcher

        return lasting_fetcher(value)
    if key in _PATHS:
        return _absolute(value)
    return value.isoformat() if isinstance(value, date) else value


def _absolute(value: Any) -> Any:
    from ir.sources.records import names_function

    if isinstance(value, (list, tuple)):
        return [_absolute(item) for item in value]
    if not isinstance(value, (str, os.PathLike)) or names_function(value):
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

    named = [
        item.name for item in inspect.signature(_factory(kind)).parameters.values() if item.kind is not item.VAR_KEYWORD
    ]
    return [name for name in named if name not in (*_NOT_PARAMS, KINDS[kind].function)]


def _factory(kind: str) -> Callable[..., Any]:
    """What makes the source of a kind."""
    place = KINDS[kind].factory
    if ":" in place:
        return _named(place)
    from ir.sources import CorpusSource

    made: Callable[..., Any] = getattr(CorpusSource, place)
    return made


def _named(place: str) -> Callable[..., Any]:
    from importlib import import_module

    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


class _Kept(NamedTuple):
    """What the file holds: the entries by name, and the presets that the user does not want to be offered."""

    corpora: dict[str, dict[str, Any]]
    forgotten: set[str]

    def enter(self, name: str, entry: dict[str, Any]) -> None:
        self.corpora[name] = entry
        self.forgotten.discard(name)

    def forget(self, name: str) -> None:
        self.corpora.pop(name, None)
        if name in PRESETS:
            self.forgotten.add(name)


def _preset(name: str) -> dict[str, Any]:
    return {"kind": name, "embedder": "default", "strategy": None, "params": {}}


def _placed_preset(name: str) -> dict[str, Any]:
    """The entry of a preset with the folders where it looks from here."""
    params: dict[str, Any] = {}
    if name == "reports":
        params = {"projects_root": _absolute(Path.cwd())}
    if name == "skills":
        from ir.sources.skills import SKILL_ROOTS

        roots = [root for root in SKILL_ROOTS if Path(root).expanduser().is_dir()]
        params = {"roots": list(dict.fromkeys(_absolute(roots)))} if roots else {}
    return {**_preset(name), "params": params}


def _presets_of(kept: _Kept) -> dict[str, dict[str, Any]]:
    return {name: _preset(name) for name in PRESETS if name not in kept.corpora and name not in kept.forgotten}


def _load() -> _Kept:
    kept, found = _load_file(), shared.shared_entries()
    if found is not None:
        kept.corpora.update(found.entries)
        kept.forgotten.difference_update(found.entries)
    return kept


def _load_file() -> _Kept:
    path = registry_path()
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return _Kept({}, set())
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
    forgotten = found.get("forgotten", [])
    if not isinstance(forgotten, list) or not all(isinstance(name, str) for name in forgotten):
        raise _corrupt("what is forgotten is not a list of names")
    return _Kept(entries, set(forgotten))


def _corrupt(why: str) -> CorpusCorrupt:
    return CorpusCorrupt(
        f"The registry {registry_path()} cannot be read: {why}.",
        remedy="Correct it by hand, or move it away and register your corpora again. It was not changed.",
    )


def _change(edit: Callable[[_Kept], object]) -> None:
    path = registry_path()
    with file_lock(path):
        there = shared.shared_entries()
        if there is not None:
            edit = _shared_change(edit, there.entries)
        kept = _load_file()
        before = (dict(kept.corpora), set(kept.forgotten))
        edit(kept)
        if there is not None and before == (kept.corpora, kept.forgotten):
            return
        whole: dict[str, Any] = {"format": _FORMAT, "corpora": dict(sorted(kept.corpora.items()))}
        if kept.forgotten:
            whole["forgotten"] = sorted(kept.forgotten)
        write_atomic(path, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def _shared_change(edit: Callable[[_Kept], object], there: Mapping[str, dict[str, Any]]) -> Callable[[_Kept], object]:
    """The change of the file that is left once the database has its part: what a server keeps, all are to know."""

    def split(kept: _Kept) -> None:
        own = dict(kept.corpora)
        kept.corpora.update(there)
        edit(kept)
        ours = {name: entry for name, entry in kept.corpora.items() if entry.get("store")}
        entered = {name: entry for name, entry in ours.items() if entry != there.get(name, own.get(name))}
        removed = {name for name in there if name not in ours}
        if entered or removed:
            shared.change(entered, removed)
        for name in [*there, *entered]:
            if name in ours or name not in kept.corpora:
                kept.corpora.pop(name, None)
                if name in own and name not in entered and name not in removed:
                    kept.corpora[name] = own[name]  # it was hidden by the shared one, and still is

    return split
