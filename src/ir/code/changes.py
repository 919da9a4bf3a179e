"""Which definitions differ between a revision and the work tree of a git repository.

Both versions of each changed file are parsed and compared definition by definition, so it does not matter where in the
file they are, nor how old the index is.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ir.code.definitions import Definition, qualified
from ir.code.facts import Facts
from ir.code.languages import Language, language_of
from ir.code.linking import symbol_key
from ir.errors import InvalidInput

__all__ = ["Changes", "changes_since"]

#: A diff of more files is read in part.
_FILES = 500
_LARGEST = 1_000_000
_TIMEOUT_S = 30.0
_CAREFUL = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager", "--literal-pathspecs")


@dataclass
class Changes:
    """``kept`` are there in both versions or new, ``gone`` are no more where they were; each as the files say it now.

    ``loose`` are files that changed outside of any definition, ``unread`` those of which nobody can tell the parts.
    """

    kept: list[Definition] = field(default_factory=list)
    gone: list[Definition] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    files: int = 0


def changes_since(root: Path, revision: str) -> Changes:
    """What differs from a revision, below a folder; files that git does not know yet are new."""
    folder = root if root.is_dir() else root.parent
    git = _Git(folder)
    commit = git.commit(revision)
    found = Changes()
    pairs = [*git.changed(commit), *((None, path) for path in git.untracked())]
    found.files = len(pairs)
    found.unread += [str(new or old) for old, new in pairs[_FILES:]]
    before = git.texts(commit, [old for old, _ in pairs[:_FILES] if old is not None])
    for old, new in pairs[:_FILES]:
        now = None if new is None else _text(folder / new)
        _compare(old, before.get(old) if old is not None else None, new, now, found)
    return found


def _compare(old: str | None, before: str | None, new: str | None, now: str | None, found: Changes) -> None:
    path = str(new or old)
    language = language_of(path.rpartition(".")[2])
    if language is None or language.missing() is not None or (before is None and now is None):
        found.unread.append(path)
        return
    earlier = _parts(language, before, str(old)) if before is not None else {}
    later = _parts(language, now, str(new)) if now is not None else {}
    moved = old is not None and new is not None and old != new
    for symbol, (definition, text) in later.items():
        if symbol in earlier and earlier[symbol][1] == text:
            continue
        if definition.kind != "module":
            found.kept.append(definition)
        elif before is not None and text.strip() != earlier.get(symbol, (definition, ""))[1].strip():
            found.loose.append(path)
    for symbol, (definition, _) in earlier.items():
        if symbol not in later or moved:
            found.gone.append(definition)


def _parts(language: Language, text: str, path: str) -> dict[str, tuple[Definition, str]]:
    """Each definition of a file with its own text, which is not that of the definitions inside it."""
    facts = language.read(text, path)
    source = text.encode("utf-8", "replace")
    inner: dict[int, list[tuple[int, int]]] = {}
    for one in facts.definitions[1:]:
        inner.setdefault(one.owner, []).append((one.start, one.end))
    return {
        one.symbol: (_definition(facts, number, language), _without(source, one.start, one.end, inner.get(number, ())))
        for number, one in enumerate(facts.definitions)
    }


def _definition(facts: Facts, number: int, language: Language) -> Definition:
    one = facts.definitions[number]
    key = symbol_key(language.family, facts.path, one.symbol)
    name = qualified(one.symbol) or one.name
    return Definition(
        key, one.kind, name, facts.path, one.line_start, one.line_end, one.signature, one.doc, language.name
    )


def _without(source: bytes, start: int, end: int, inner: Sequence[tuple[int, int]]) -> str:
    kept, at = [], start
    for low, high in sorted(inner):
        if low >= at:
            kept.append(source[at:low])
            at = high
    kept.append(source[at:end])
    return b"".join(kept).decode("utf-8", "replace")


def _text(path: Path) -> str | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None


class _Git:
    """Git in one folder: nothing is written, and nothing that a repository's settings name is run for a diff."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            inside = self._run("rev-parse", "--is-inside-work-tree")
        except FileNotFoundError:
            raise InvalidInput(
                "A diff is read by git, which is not installed.", remedy="Install git, or name a symbol instead."
            ) from None
        if inside.returncode or inside.stdout.strip() != b"true":
            raise InvalidInput(
                f"{folder} is not the work tree of a git repository, so there is no diff.{_said(inside)}",
                remedy="Name a symbol instead.",
            )

    def commit(self, revision: str) -> str:
        """The commit that a word means; an option of git is none."""
        known = None
        if revision and not revision.startswith("-") and "\0" not in revision:
            known = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if known is None or known.returncode:
            shown = revision[:80]
            none = self._run("rev-parse", "--verify", "--quiet", "HEAD").returncode
            raise InvalidInput(
                f"git knows no commit {shown!r} here.",
                remedy="The repository has no commit yet." if none else "Name a commit, branch or tag, such as HEAD~1.",
            )
        return known.stdout.decode().strip()

    def changed(self, commit: str) -> Iterator[tuple[str | None, str | None]]:
        """The old and the new path of each file that differs."""
        asked = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "-M", "--name-status", "-z")
        words = iter(self._told(*asked, "--relative", commit, "--"))
        for status in words:
            if status[:1] in "RC":
                old, new = next(words), next(words)
                yield (old if status[0] == "R" else None), new
            else:
                path = next(words)
                yield (None if status[0] == "A" else path), (None if status[0] == "D" else path)

    def untracked(self) -> list[str]:
        return self._told("ls-files", "--others", "--exclude-standard", "-z")

    def texts(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """What files held in a commit."""
        asked = [path for path in paths if "\n" not in path]
        lines = "".join(f"{commit}:./{path}\n" for path in asked)
        done = self._run("cat-file", "--batch", given=lines.encode("utf-8", "surrogateescape"))
        found, at = {}, 0
        for path in asked:
            end = done.stdout.find(b"\n", at)
            if end < 0:
                break
            words = done.stdout[at:end].rsplit(b" ", 2)
            at = end + 1
            if len(words) != 3 or not words[2].isdigit():  # "… missing"
                continue
            size = int(words[2])
            if words[1] == b"blob" and size <= _LARGEST:
                found[path] = done.stdout[at : at + size].decode("utf-8", "replace")
            at += size + 1
        return found

    def _told(self, *words: str) -> list[str]:
        done = self._run(*words)
        if done.returncode:
            raise InvalidInput(f"git could not say what changed in {self._folder}.{_said(done)}")
        return [os.fsdecode(one) for one in done.stdout.split(b"\0") if one]

    def _run(self, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", str(self._folder), *_CAREFUL, *words]
        around = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        around = {name: value for name, value in around.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
        try:
            return subprocess.run(
                command, input=given, capture_output=True, timeout=_TIMEOUT_S, check=False, env=around
            )
        except subprocess.TimeoutExpired:
            raise InvalidInput(
                f"git took more than {_TIMEOUT_S:.0f} s to say what changed in {self._folder}.",
                remedy="Name a symbol instead.",
            ) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """The first line of what git said."""
    told = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
    return f" git says: {told}" if told and "not a git repository" not in told else ""
