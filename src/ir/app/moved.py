"""A folder that was moved or renamed: its index goes along, and nothing is embedded again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.building import build_target
from ir.app.embedders import embedder_for
from ir.app.targets import Target, is_built, takes_all
from ir.config import corpus_dir
from ir.errors import IrError

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.store.base import BaseStore

__all__ = ["take_over"]

#: So many files, from all over the corpus, are compared.
_SAMPLE = 24
#: The share of them that must be the same.
_SAME = 0.5


def take_over(target: Target, ctx: Context) -> Target | None:
    """The corpus of the folder that ``target`` was before, now of this one; ``None`` if there is no such.

    Only a corpus whose folder is gone can be taken over, so that a copy never takes the index of what it is a copy of.
    """
    from ir.registry import entered

    path = target.path
    if path is None:
        return None
    for name, entry in entered().items():
        root = entry.get("params", {}).get("root")
        if not takes_all(entry) or entry.get("store") or not root or Path(root).exists():
            continue
        if Path(root).suffix != path.suffix and path.is_file():
            continue
        try:
            if is_built(name) and _same_files(name, Path(root), path, ctx):
                return _moved(name, entry, target, ctx)
        except IrError as error:
            ctx.note(f"{name} may be the index of {path} from before a move, but cannot be used: {error.message}")
    return None


def _same_files(name: str, before: Path, now: Path, ctx: Context) -> bool:
    """Whether the files that were indexed are in the new place as they were."""
    from ir.base import ledger_key
    from ir.sources import FileScope, content_hash_signal
    from ir.sources.walk import displayable

    one_file = now.is_file()
    scope = FileScope(now, pattern=None, max_bytes=int(ctx.settings["max_file_mb"] * 1_000_000))
    with ctx.store(name) as store:
        ids = [str(one) for (one,) in store.ledger_fields("artifact_id")]
        sample = ids[:: max(1, len(ids) // _SAMPLE)]
        same = 0
        for artifact_id in sample:
            entry = store.get_ledger_entry(ledger_key(artifact_id)) or {}
            try:
                raw = scope[now.name if one_file else artifact_id]
            except KeyError:
                continue
            raw["path"] = displayable(str(before if one_file else before / artifact_id))
            same += content_hash_signal(artifact_id, raw) == entry.get("version")
    return bool(sample) and same >= _SAME * len(sample)


def _moved(name: str, entry: Mapping[str, Any], target: Target, ctx: Context) -> Target:
    """Give the index to the new place: under the name of that, or under the one that the user gave."""
    from ir.registry import check_entry, name_for_path, restore, unregister
    from ir.store.local import LocalStore

    before = Path(entry["params"]["root"])
    own_name = name != name_for_path(before)
    kept = name if own_name else target.name
    with ctx.store(name) as store:
        _read_all_again(store)
    if not own_name:
        with LocalStore(corpus_dir(name), lock_timeout=ctx.settings["lock_timeout_s"]) as local:
            local.move(corpus_dir(kept))
    params = {**entry["params"], "root": str(target.path)}
    restore(kept, check_entry(kept, {**entry, "params": params}))
    if not own_name:
        unregister(name)
    ctx.note(f"{before} is gone and {target.path} holds its files: the index goes along")
    found = Target(kept) if own_name else target
    build_target(found, found.source(ctx.settings), embedder_for(found, None, ctx), ctx)
    return found


def _read_all_again(store: BaseStore) -> None:
    """Let the next build look at every file: where it lies is part of what is stored of it."""
    with store.transaction():
        for entries in store.iter_entries("ledger"):
            changed = {key: {**entry, "stat": None} for key, entry in entries if isinstance(entry, dict)}
            store.set_ledger_entries(changed)
