"""The files of a folder as a commit has them: read from git, by the rules that hold for the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ir.errors import SourceError
from ir.sources.decode import NotText
from ir.sources.files import FileScope
from ir.sources.git import Entry, Repository, told_commit
from ir.sources.ignore import IGNORE_FILES, IgnoreRules, read_rules
from ir.sources.skipped import Skipped
from ir.sources.walk import NEVER, Found, displayable

__all__ = ["TreeScope"]

#: A chain of links that is longer leads round in a circle.
_MOST_LINKS = 40


class TreeScope(FileScope):
    """What ``folder`` would hold if a commit were checked out; ids and paths are those of the folder.

    Nothing is checked out, and no filter is run: a file is what git keeps of it. Ignore files count as the commit has
    them. A link is followed to a file of the same commit below the folder's root, and nowhere else.
    """

    def __init__(self, folder: FileScope, repository: Repository, commit: str, *, branch: str | None = None) -> None:
        self.__dict__.update(folder.__dict__)
        self._folder = folder
        self._repository = repository
        self._commit = commit
        self._branch = branch
        self._found = None
        self._skipped, self._remarks = {}, {}
        self.passed_over = 0
        self._blobs = repository.blobs()
        self._oids: dict[str, str] = {}
        #: Set if git could not read a file of the commit.
        self.damaged: SourceError | None = None
        real = Path(os.path.realpath(folder.root))
        #: A folder that is one file is that file in the folder above it.
        self._single = os.fsencode(real.name) if folder.root.is_file() else None
        self._real = real.parent if self._single is not None else real
        inside = os.fsencode(os.path.relpath(self._real, repository.top))
        self._prefix = b"" if inside == b"." else inside + b"/"
        self._entries = {entry.path: entry for entry in repository.tree(commit)}
        self._folders: dict[bytes, list[tuple[bytes, Entry | None]]] = {}
        for entry in self._entries.values():
            self._place(entry)

    def __del__(self) -> None:
        blobs = self.__dict__.get("_blobs")
        if blobs is not None:
            blobs.close()

    def close(self) -> None:
        """Let go of git."""
        self._blobs.close()

    def enter(self, folder: str) -> bool:
        return self._folder.enter(folder)

    def wanted(self, path: str) -> bool:
        return self._folder.wanted(path)

    def revision(self) -> dict[str, Any] | None:
        return {"commit": self._commit, "branch": self._branch, "dirty": False}

    def stat_signal(self, key: str) -> str | None:
        """The id of the content, which is the same for the same content and no other."""
        oid = self.oid_of(key)
        if oid is None:
            return None
        secret, generated = self._include_secrets, self._include_generated
        return f"git:{oid}{':any' if secret else ''}{':generated' if generated else ''}"

    def oid_of(self, key: str) -> str | None:
        """By what git knows the content of a file."""
        self._known()
        return self._oids.get(key)

    def path_of(self, key: str) -> bytes:
        """Where git has a file, from the top of its work tree."""
        return self._prefix + os.fsencode(os.path.relpath(self._known()[key].path, self._base()))

    def _check_root(self) -> None:
        """There may be no such folder now: it is the commit's."""

    def _base(self) -> Path:
        return self.root.parent if self._single is not None else self.root

    def _place(self, entry: Entry) -> None:
        """Enter a file with the folders that lead to it."""
        child: tuple[bytes, Entry | None] = (entry.path.rpartition(b"/")[2], entry)
        folder = entry.path.rpartition(b"/")[0]
        while True:
            known = folder in self._folders
            self._folders.setdefault(folder, []).append(child)
            if known or not folder:
                return
            child, folder = (folder.rpartition(b"/")[2], None), folder.rpartition(b"/")[0]

    # -- the walk ----------------------------------------------------------------------------------------------

    def _candidates(self, problems: dict[str, Skipped]) -> Iterator[Found]:
        self._oids = {}
        if self._single is not None:
            entry = self._entries.get(self._prefix + self._single)
            found = None if entry is None else self._file(entry, os.fsdecode(self._single), problems)
            if found is not None:
                yield found
            return
        for item in self._walked(problems):
            if self.wanted(item.id):
                yield item
            else:
                self.passed_over += 1

    def _walked(self, problems: dict[str, Skipped]) -> Iterator[Found]:
        """As :func:`ir.sources.walk.walk` goes through a folder."""
        pending = [("", IgnoreRules.above_root(self._real, self._rules))]
        while pending:
            prefix, rules = pending.pop()
            folder = (self._prefix + os.fsencode(prefix)).rstrip(b"/")
            entries = sorted((os.fsdecode(name), entry) for name, entry in self._folders.get(folder, ()))
            names = [name for name, _ in entries]
            if "pyvenv.cfg" in names:
                continue
            top = [".git"] if not folder else []
            rules = rules.inside(self._real / prefix, prefix, [*names, *top], self._rules)
            below = []
            for name, entry in entries:
                if name in NEVER or (not self._hidden and name.startswith(".")):
                    continue
                path = prefix + name
                if entry is None or entry.is_submodule:
                    if rules.ignores(path, folder=True) or not self.enter(path):
                        continue
                    if entry is None:
                        below.append((f"{path}/", rules))
                    else:
                        id = f"{displayable(path)}/"
                        problems[id] = Skipped(id, "a submodule is a repository of its own; index it by itself")
                elif not rules.ignores(path, folder=False):
                    found = self._file(entry, path, problems)
                    if found is not None:
                        yield found
            pending.extend(reversed(below))

    def _file(self, entry: Entry, path: str, problems: dict[str, Skipped]) -> Found | None:
        id = displayable(path)
        if entry.is_link:
            target = self._target(entry)
            if not isinstance(target, Entry):
                if self.wanted(id) and target:
                    problems[id] = Skipped(id, target)
                return None
            entry = target
        if entry.size is None:
            return None
        self._oids.setdefault(id, entry.oid)
        return Found(id, os.fspath(self._base() / path), entry.size, 0)

    def _target(self, entry: Entry) -> Entry | str:
        """The file that a link leads to, or why it leads to none; nothing need be said of a link to a folder."""
        steps = entry.path.split(b"/")
        walked: list[bytes] = []
        links = 0
        while steps:
            step = steps.pop(0)
            if step in (b"", b"."):
                continue
            if step == b"..":
                if not walked:
                    return "link leads out of the folder"
                walked.pop()
                continue
            walked.append(step)
            found = self._entries.get(b"/".join(walked))
            if found is not None and found.is_link:
                links += 1
                if links > _MOST_LINKS or (found.size or 0) > 4096:
                    return "link leads nowhere"
                said = self._blobs(found.oid)
                walked.pop()
                if said.startswith(b"/"):
                    top = os.fsencode(self._repository.top) + b"/"
                    if not said.startswith(top):
                        return "link leads out of the folder"
                    walked, said = [], said[len(top) :]
                steps = [*said.split(b"/"), *steps]
        path = b"/".join(walked)
        if not path.startswith(self._prefix):
            return "link leads out of the folder"
        found = self._entries.get(path)
        if found is not None:
            return found
        return "" if path in self._folders else "link leads nowhere"

    def _rules(self, file: Path) -> bytes | None:
        """An ignore file as the commit has it; what belongs to the user or to the clone is on the disk."""
        if file.name not in IGNORE_FILES:
            return read_rules(file)
        try:
            path = os.fsencode(os.path.relpath(file, self._repository.top))
        except ValueError:  # on another drive
            return None
        entry = self._entries.get(path)
        if entry is None or entry.is_link or entry.size is None or entry.size > self._max_bytes:
            return None
        return self._blobs(entry.oid)

    # -- reading -----------------------------------------------------------------------------------------------

    def _bytes(self, item: Found, head: int | None = None) -> bytes:
        if item.size > self._max_bytes:
            raise NotText(f"larger than {self._max_bytes:,} bytes")
        oid = self._oids.get(item.id)
        if oid is None:
            raise NotText(f"not in {told_commit(self._commit)}")
        try:
            return self._blobs(oid)[:head]
        except SourceError as error:
            self.damaged = error
            raise NotText(error.message) from error

    def _unread(self, id: str, reason: str) -> Skipped:
        """What a commit has never changes, so it will not be readable another time: nothing is kept for it."""
        return Skipped(id, reason, refused=True)
