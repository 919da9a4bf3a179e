"""How far an index is from what its repository has checked out, without looking at a single file of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ir.errors import SourceError
from ir.sources.git import Repository, told_commit

__all__ = ["Revision", "revision"]


@dataclass(frozen=True)
class Revision:
    """What was checked out when a corpus was indexed, and what is now (``head``, on ``head_branch``).

    ``dirty``: files then differed from that commit; ``None`` if nobody could tell. ``behind`` counts the commits that
    ``head`` has and the index has not, ``ahead`` the others; both are ``None`` if that cannot be told: one of them may
    be gone since a rebase. Whether files differ now is not known by this. ``view`` if it is of a branch that is not
    checked out, of which a corpus has what is committed.
    """

    commit: str | None
    branch: str | None
    dirty: bool | None
    head: str | None
    head_branch: str | None
    behind: int | None = None
    ahead: int | None = None
    view: bool = False

    @property
    def at_head(self) -> bool:
        return self.commit == self.head

    def __str__(self) -> str:
        if self.view:
            return f"as committed on {self.branch}"
        if self.head is None:
            return "HEAD has no commit"
        if self.at_head:
            told = "at HEAD"
        elif self.behind is None:
            told = f"at {told_commit(self.commit)}, which has nothing to do with HEAD or is gone"
        else:
            counts = [(self.behind, "behind"), (self.ahead or 0, "ahead of")]
            said = " and ".join(f"{_commits(number)} {word}" for number, word in counts if number)
            told = f"{said} HEAD" if self.ahead else f"{_commits(self.behind)} behind HEAD"
        if self.branch != self.head_branch:
            now = "detached" if self.head_branch is None else f"on {self.head_branch}"
            told += f" (indexed {'with HEAD detached' if self.branch is None else f'on {self.branch}'}, HEAD is {now})"
        return told

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "told": str(self)}


def revision(config: Mapping[str, Any], root: Path | None = None) -> Revision | None:
    """How a corpus with these settings stands to HEAD; ``None`` if it was not made in a repository, or that is gone.

    ``root`` is its folder, if that is not where it was when it was indexed.
    """
    told = config.get("git")
    if told is not None and config.get("view") is not None:
        at = (told.get("commit"), told.get("branch"))
        return Revision(*at, False, *at, 0, 0, view=True)
    place = root or (Path(told["root"]) if told and told.get("root") else None)
    repository = Repository.of(place) if told and place is not None else None
    if told is None or repository is None:
        return None
    try:
        head = repository.head()
        apart = repository.apart(told["commit"], head.commit) if told.get("commit") and head.commit else None
    except SourceError:
        return None
    behind, ahead = apart or (None, None)
    return Revision(told.get("commit"), told.get("branch"), told.get("dirty"), *head, behind, ahead)


def _commits(number: int) -> str:
    return "1 commit" if number == 1 else f"{number:,} commits"
