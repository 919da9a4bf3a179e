"""Which corpora does this user have?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ir.registry.entries import (
    KINDS,
    PRESETS,
    check_entry,
    check_name,
    default_store,
    elsewhere,
    enter_preset,
    entered,
    existing_path,
    get,
    keep_at,
    look_after,
    looks_like_path,
    name_for_path,
    policy_of,
    prefer_embedder,
    presets,
    register,
    registered,
    restore,
    source_for,
    source_from_entry,
    state,
    store_of,
    unregister,
)
from ir.registry.shared import one_look

if TYPE_CHECKING:
    from ir.registry.retrieval import retriever_for, retrievers

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
    "one_look",
    "policy_of",
    "prefer_embedder",
    "presets",
    "register",
    "registered",
    "restore",
    "retriever_for",
    "retrievers",
    "source_for",
    "source_from_entry",
    "state",
    "store_of",
    "unregister",
]


def __getattr__(name: str) -> Any:
    # Who looks up a name needs nothing of what searches; and what opens a corpus to search it looks up its name here.
    if name not in ("retriever_for", "retrievers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.retrieval"), name)
    return value
