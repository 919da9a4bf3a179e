"""Whether the workspace of a store may hold what is about to be written: asked by every store that has a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from ir.config import config_dir
from ir.config.settings import user_setting
from ir.config.workspace import current_workspace, in_workspace
from ir.errors import IrError, QuotaExceeded

if TYPE_CHECKING:
    from ir.access import Access
    from ir.store.base import BaseStore

__all__ = ["forget_usage", "note_usage", "within_quota"]

#: Whether a corpus of the current workspace is there.
IsThere = Callable[[str], bool]


def within_quota(store: BaseStore, corpus: str, is_there: IsThere | None = None) -> BaseStore:
    """The store of a corpus of the current workspace; writes that the workspace's quota does not allow are undone."""
    workspace = current_workspace()
    store.before_commit = lambda records, size: _check(workspace, corpus, records, size, is_there)
    return store


def note_usage(store: BaseStore, corpus: str) -> None:
    """Note anew what a corpus of the current workspace takes up, after something other than a build changed that."""
    from ir.access import Usage

    access = _limiting(current_workspace())
    if access is not None:
        access.note_usage(current_workspace(), {corpus: Usage(len(store), store.taken_up())})


def forget_usage(corpus: str) -> None:
    """Note that a corpus of the current workspace is gone."""
    access = _limiting(current_workspace())
    if access is not None:
        access.note_usage(current_workspace(), {corpus: None})


def _check(workspace: str, corpus: str, records: int, size: int, is_there: IsThere | None) -> None:
    access = _limiting(workspace)
    if access is None:
        return
    try:
        access.check_quota(workspace, corpus, records=records, bytes=size)
    except QuotaExceeded:
        # What was removed in a way that was not noted holds nothing any more.
        others = [name for name in access.usage_of_corpora(workspace) if name != corpus]
        gone = [] if is_there is None else [name for name in others if _is_gone(workspace, name, is_there)]
        if not gone:
            raise
        access.note_usage(workspace, dict.fromkeys(gone))
        access.check_quota(workspace, corpus, records=records, bytes=size)


def _limiting(workspace: str) -> Access | None:
    """Where the quota of a workspace is kept, if it has one that limits what it holds."""
    access = _access(str(config_dir()), user_setting("serve.access"))
    if not access.exists():
        return None
    quota = access.quota(workspace)
    return access if quota.records is not None or quota.bytes is not None else None


@lru_cache(maxsize=8)
def _access(home: str, address: str | None) -> Access:
    """Kept open, since every write asks; ``home`` is where the file is if there is no address."""
    from ir.access import open_access

    return open_access(address)


def _is_gone(workspace: str, corpus: str, is_there: IsThere) -> bool:
    with in_workspace(workspace):
        try:
            return not is_there(corpus)
        except IrError:
            return False  # nobody can tell now
