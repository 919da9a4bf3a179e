"""Git asked what it knows: commits, branches and the files in them. Nothing is ever changed, fetched or run.

Every call is a list of arguments. Hooks, filters, monitors and pagers that a repository's settings name are switched
off, nothing is fetched over a network, and no name that somebody typed is passed on before it was found among those
that git itself listed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.errors import InvalidInput, SourceError
from ir.sources.walk import displayable

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = [
    "Blobs",
    "Entry",
    "Head",
    "Repository",
    "revision_of",
    "told_commit",
]

#: So long git may take for an answer, in seconds; for reading one file; for a look at the work tree at a build.
_PATIENCE_S = 60.0
_BLOB_S = 30.0
_LOOK_S = 5.0
_QUIET = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"),
    *("-c", "core.quotePath=false", "-c", "log.showSignature=false"),
)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: The beginning of the id of a commit, and a name with some steps back from it.
_BEGINNING = re.compile(r"[0-9a-f]{4,64}")
_REVISION = re.compile(r"(?P<base>[^~^]+)(?P<steps>(?:~\d{0,6}|\^\d{0,3})*)")
#: What no branch can be called; see git-check-ref-format.
_UNFIT = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|\.lock(?:/|$)|[/.]$|^@$")
#: So many names are told to somebody who asked for one that is not there.
_NAMED = 10
_LARGEST_REF = 1000


class Head(NamedTuple):
    """What is checked out: a commit, ``None`` before the first; and its branch, ``None`` if there is none."""

    commit: str | None
    branch: str | None


class Entry(NamedTuple):
    """A file as a commit has it. ``size`` is ``None`` for what is no file of this repository: a submodule."""

    path: bytes
    mode: str
    oid: str
    size: int | None

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


@dataclass(frozen=True)
class Repository:
    """The repository that a folder lies in. ``top`` is the folder of its work tree, ``home`` what git keeps of it."""

    top: Path
    home: Path

    @classmethod
    def of(cls, place: Path) -> Repository | None:
        """The repository of a file or folder; git is not asked for that. ``None`` if there is none."""
        place = Path(os.path.realpath(place))
        for folder in (place, *place.parents):
            git = folder / ".git"
            try:
                if git.is_dir():
                    return cls(folder, git) if (git / "HEAD").is_file() else None
                if git.is_file():
                    word, _, home = git.read_text("utf-8").strip().partition(": ")
                    return cls(folder, folder / home) if word == "gitdir" else None
            except (OSError, ValueError):
                return None
        return None

    @classmethod
    def at(cls, place: Path) -> Repository:
        """The same, or an error that says what is missing."""
        found = cls.of(place)
        if found is None:
            bare = (place / "HEAD").is_file() and (place / "objects").is_dir()
            why = "a bare git repository, which has no files of its own" if bare else "not in a git repository"
            raise InvalidInput(
                f"{place} is {why}, so it has no branches to look at.",
                remedy="Build the corpus from a folder that is a clone or a work tree of the repository."
                if bare
                else "Leave the branch out.",
            )
        return found

    # -- what is checked out -----------------------------------------------------------------------------------

    def head(self) -> Head:
        """What is checked out; read from git's own small files where they say it, as every search may ask."""
        try:
            said = _line(self.home / "HEAD")
        except (OSError, ValueError):
            return self._asked_head()
        if _COMMIT.fullmatch(said):
            return Head(said, None)
        word, _, name = said.partition(": ")
        if word != "ref" or not name.startswith("refs/heads/") or _UNFIT.search(name):
            return self._asked_head()
        commit = self._commit_of(name)
        return Head(commit, name.removeprefix("refs/heads/")) if commit else self._asked_head()

    def _commit_of(self, name: str) -> str | None:
        for home in dict.fromkeys((self.home, self._shared())):
            with suppress(OSError, ValueError):
                said = _line(home / name)
                if _COMMIT.fullmatch(said):
                    return said
        with suppress(OSError, ValueError):
            file = self._shared() / "packed-refs"
            status = file.stat()
            return _packed(file, status.st_mtime_ns, status.st_size).get(name)
        return None

    def _shared(self) -> Path:
        """What all work trees of a repository have in common."""
        with suppress(OSError, ValueError):
            return self.home / _line(self.home / "commondir")
        return self.home

    def _asked_head(self) -> Head:
        commit = self._text("rev-parse", "--quiet", "--verify", "HEAD^{commit}", missing=True).strip()
        branch = self._text("symbolic-ref", "--quiet", "HEAD", missing=True).strip()
        on = branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else None
        return Head(commit if _COMMIT.fullmatch(commit) else None, on)

    def is_dirty(self, place: Path) -> bool | None:
        """Whether files below ``place`` differ from what is checked out; ``None`` if that takes too long to tell."""
        asked = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal")
        try:
            found = self._run(self._unfiltered(), *asked, "--", self._inside(place) or ".", patience=_LOOK_S)
        except SourceError:
            return None
        return bool(found.strip(b"\0"))

    def _unfiltered(self) -> tuple[str, ...]:
        """Settings that take every filter out: to compare a file git would run the program that one names."""
        asked = ("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")
        names = self._text(*asked, missing=True).split("\0")
        none = {"required": "false"}
        settings = (f"{name}={none.get(name.rpartition('.')[2], '')}" for name in names if name)
        return tuple(word for setting in settings for word in ("-c", setting))

    # -- commits -----------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """The commit of each branch by its name: those here, then those of remotes (``origin/main``)."""
        wanted = ("refs/heads", "refs/remotes")
        told = self._text("for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", *wanted)
        here: dict[str, str] = {}
        remote: dict[str, str] = {}
        for line in told.splitlines():
            name, commit, points = line.split("\0")
            if not points and _COMMIT.fullmatch(commit):
                (here if name.startswith("refs/heads/") else remote)[name.split("/", 2)[2]] = commit
        return {**remote, **here}

    def commit_of(self, branch: str) -> str:
        """The commit that a branch is at, ``HEAD`` for what is checked out; an error names those that there are.

        A branch that is only on one remote is found without the remote's name too. The name is looked up in what git
        lists: it never gets to git.
        """
        if branch == "HEAD":
            commit = self.head().commit
            if commit is None:
                raise InvalidInput(f"The repository in {self.top} has no commit yet.")
            return commit
        known = self.branches()
        if branch in known:
            return known[branch]
        remote = {commit for name, commit in known.items() if name.partition("/")[2] == branch and branch}
        if len(remote) == 1 and not _UNFIT.search(branch):
            return remote.pop()
        raise self._unknown(branch, known)

    def commit_named(self, word: str) -> str:
        """The commit that a word means: a branch, a tag, the beginning of a commit's id, or some steps before one.

        The word is taken apart here: a name is looked up in what git lists, so that git gets ids and steps alone.
        """
        said = _REVISION.fullmatch(word)
        base = said["base"] if said else ""
        found = self._commit_by(base) if base else None
        if found and said and said["steps"]:
            found = self._text("rev-parse", "--quiet", "--verify", f"{found}{said['steps']}^{{commit}}", missing=True)
        if found and _COMMIT.fullmatch(found.strip()):
            return found.strip()
        none = self.head().commit is None
        raise InvalidInput(
            f"git knows no commit {word[:80]!r} in {self.top}.",
            remedy="The repository has no commit yet." if none else "Name a commit, branch or tag, such as HEAD~1.",
        )

    def _commit_by(self, name: str) -> str | None:
        if name in ("HEAD", "@"):
            return self.head().commit
        known = self.branches()
        if name in known:
            return known[name]
        told = self._text("for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)", "refs/tags")
        for line in told.splitlines():
            ref, own, leads_to = line.split("\0")
            if ref.removeprefix("refs/tags/") == name:
                return leads_to or own
        if _BEGINNING.fullmatch(name):
            return self._text("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", missing=True).strip() or None
        return None

    def _unknown(self, branch: str, known: Mapping[str, str]) -> InvalidInput:
        from difflib import get_close_matches  # for those who err

        near = get_close_matches(branch, known, n=_NAMED, cutoff=0.5)
        names = list(dict.fromkeys((*near, *sorted(known))))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        shallow = (self._shared() / "shallow").is_file()
        told = f"The branches are: {', '.join(names[:_NAMED])}{more}." if names else "It has no branch with a commit."
        if shallow:
            told += " The clone is shallow and may lack some: git fetch --unshallow"
        shown = branch if len(branch) <= 100 else f"{branch[:100]}…"
        return InvalidInput(f"There is no branch {shown!r} in {self.top}.", remedy=told)

    def apart(self, one: str, other: str) -> tuple[int, int] | None:
        """How many commits only ``other`` has, and how many only ``one``; ``None`` if that cannot be told."""
        if one == other:
            return 0, 0
        if not (_COMMIT.fullmatch(one) and _COMMIT.fullmatch(other)):
            return None
        return _apart(self, one, other)

    # -- files of a commit -------------------------------------------------------------------------------------

    def tree(self, commit: str) -> list[Entry]:
        """Every file of a commit, by its path from the top."""
        if not _COMMIT.fullmatch(commit):
            raise InvalidInput(f"{commit!r} is not a commit.")
        told = self._run((), "ls-tree", "-r", "-z", "--full-tree", commit)
        lines = [line.partition(b"\t") for line in told.split(b"\0") if line]
        found = [(path, about.decode("ascii").split()) for about, _, path in lines]
        sizes = self._sizes(dict.fromkeys(oid for _, (_, kind, oid) in found if kind == "blob"))
        return [Entry(path, mode, oid, sizes.get(oid)) for path, (mode, _, oid) in found]

    def _sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """How large files are, by their ids. One that is missing is nothing long; whoever reads it is told."""
        asked = "".join(f"{oid}\n" for oid in oids).encode("ascii")
        told = self._run((), "cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", given=asked)
        words = (line.split(" ") for line in told.decode("ascii").splitlines())
        return {oid: int(size) if size.isdecimal() else 0 for oid, size in words}

    def unchanged(self) -> dict[bytes, str]:
        """What git knows to be in the work tree as it was checked out: path → the id of its content.

        Git tells by size and time, and reads what was written too lately for that; never through a filter.
        """
        held = {}
        for line in self._run((), "ls-files", "--stage", "-v", "-z").split(b"\0"):
            about, _, path = line.partition(b"\t")
            words = about.split()
            # Neither in the middle of a merge, nor one that git was told not to look at.
            if path and words[0] == b"H" and words[-1] == b"0":
                held[path] = words[2].decode("ascii")
        asked = ("diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z")
        for path in self._run(self._unfiltered(), *asked).split(b"\0"):
            held.pop(path, None)
        return held

    def changed_since(self, commit: str, place: Path) -> list[tuple[str | None, str | None]]:
        """What differs between a commit and the files below ``place``: the old and the new path of each, from there.

        What is new has no old path, what is gone no new one; files that git does not know yet are new.
        """
        inside = self._inside(place)
        below = ("--", inside) if inside else ("--",)
        asked = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "-M", "--name-status", "-z")
        relative = f"--relative={inside}/" if inside else "--relative"
        words = iter(_paths(self._run(self._unfiltered(), *asked, relative, commit, *below)))
        found: list[tuple[str | None, str | None]] = []
        for status in words:
            path = next(words)
            if status[0] in "RC":
                found.append((path if status[0] == "R" else None, next(words)))
            else:
                found.append((None if status[0] == "A" else path, None if status[0] == "D" else path))
        lead = f"{inside}/" if inside else ""
        others = _paths(self._run((), "ls-files", "--others", "--exclude-standard", "-z", *below))
        return found + [(None, path.removeprefix(lead)) for path in others]

    def contents(self, commit: str, place: Path, paths: Sequence[str], *, largest: int) -> dict[str, bytes]:
        """What files below ``place`` held in a commit; not those that are longer than ``largest``."""
        lead = f"{inside}/" if (inside := self._inside(place)) else ""
        asked = [path for path in paths if "\n" not in path]
        given = b"".join(commit.encode() + b":" + os.fsencode(f"{lead}{path}") + b"\n" for path in asked)
        told = self._run((), "cat-file", "--batch", given=given)
        found, at = {}, 0
        for path in asked:
            end = told.find(b"\n", at)
            if end < 0:
                break
            words = told[at:end].rsplit(b" ", 2)
            at = end + 1
            if len(words) != 3 or not words[2].isdigit():  # "... missing"
                continue
            size = int(words[2])
            if words[1] == b"blob" and size <= largest:
                found[path] = told[at : at + size]
            at += size + 1
        return found

    def blobs(self) -> Blobs:
        return Blobs(self)

    # -- asking ------------------------------------------------------------------------------------------------

    def _inside(self, place: Path) -> str:
        try:
            inside = place.resolve().relative_to(self.top.resolve()).as_posix()
        except (OSError, ValueError):
            return ""
        return "" if inside == "." else inside

    def _text(self, *arguments: str, missing: bool = False) -> str:
        return self._run((), *arguments, missing=missing).decode("utf-8", "surrogateescape")

    def _run(
        self,
        settings: Sequence[str],
        *arguments: str,
        missing: bool = False,
        patience: float = _PATIENCE_S,
        given: bytes = b"",
    ) -> bytes:
        """What git answers; with ``missing`` nothing, where it says by its exit code alone that there is nothing."""
        import subprocess  # what is checked out is mostly known without asking

        try:
            done = subprocess.run(
                _command(self.top, *settings, *arguments),
                input=given,
                capture_output=True,
                env=_environment(),
                timeout=patience,
                check=False,
            )
        except FileNotFoundError as error:
            raise _not_installed() from error
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"git took more than {patience:g} s to answer about {self.top}.") from error
        except OSError as error:
            raise SourceError(f"git cannot be run: {error.strerror}.") from error
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.decode("utf-8", "replace").strip()
        if missing and not said:
            return b""
        raise _refused(self.top, said)


class Blobs:
    """The contents of files as commits have them, by their ids; one process of git for any number of them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._process: Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __call__(self, oid: str) -> bytes:
        """The bytes of one; ask only for what is not too large, by :class:`Entry`."""
        if not _COMMIT.fullmatch(oid):
            raise InvalidInput(f"{oid!r} is not the id of a file.")
        with self._lock:
            process = self._process or self._started()
            late = threading.Timer(_BLOB_S, process.kill)
            late.start()
            try:
                return _asked(process, oid)
            except (OSError, ValueError) as error:
                self._end()
                raise SourceError(
                    f"git cannot read {oid[:12]} in {self._repository.top}.",
                    remedy="The repository may be damaged, or a part of it was never fetched: try git fsck",
                ) from error
            finally:
                late.cancel()

    def close(self) -> None:
        with self._lock:
            self._end()

    def __del__(self) -> None:
        self._end()

    def _started(self) -> Popen[bytes]:
        import subprocess

        try:
            self._process = subprocess.Popen(
                _command(self._repository.top, "cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except FileNotFoundError as error:
            raise _not_installed() from error
        except OSError as error:
            raise SourceError(f"git cannot be run: {error.strerror}.") from error
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.kill()
        process.wait()


def revision_of(place: Path) -> dict[str, Any] | None:
    """What is checked out at a place, its ``root``: ``commit``, ``branch``, and whether files are ``dirty``.

    ``None`` outside of a repository, and where git cannot be asked: a build goes on without knowing.
    """
    repository = Repository.of(place)
    if repository is None:
        return None
    try:
        head = repository.head()
        dirty = repository.is_dirty(place)
        return {"commit": head.commit, "branch": head.branch, "dirty": dirty, "root": displayable(os.fspath(place))}
    except SourceError:
        return None


def told_commit(commit: str | None) -> str:
    """A commit as it is shown.

    >>> told_commit("0123456789" * 4), told_commit(None)
    ('0123456789', 'no commit')
    """
    return commit[:10] if commit else "no commit"


def _asked(process: Popen[bytes], oid: str) -> bytes:
    to, back = process.stdin, process.stdout
    if to is None or back is None:
        raise ValueError(oid)
    to.write(f"{oid}\n".encode("ascii"))
    to.flush()
    header = back.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise ValueError(oid)
    size = int(header[2])
    data = back.read(size)
    if len(data) != size or back.read(1) != b"\n":
        raise ValueError(oid)
    return data


@lru_cache(maxsize=8)
def _packed(file: Path, modified: int, size: int) -> dict[str, str]:
    """The commits that git wrote down together, as of a version of the file."""
    found = {}
    for line in file.read_text("utf-8").splitlines():
        commit, _, name = line.partition(" ")
        if _COMMIT.fullmatch(commit):
            found[name] = commit
    return found


@lru_cache(maxsize=256)
def _apart(repository: Repository, one: str, other: str) -> tuple[int, int] | None:
    """Commits never change, so neither does this."""
    try:
        told = repository._text("rev-list", "--count", "--left-right", f"{one}...{other}", "--")
        only_one, only_other = map(int, told.split())
    except (SourceError, ValueError):  # one was never fetched, or is gone since a rebase
        return None
    return only_other, only_one


def _command(top: Path, *arguments: str) -> list[str]:
    return ["git", "--no-pager", "--literal-pathspecs", *_QUIET, "-C", os.fspath(top), *arguments]


def _environment() -> dict[str, str]:
    """The user's, without what would turn git to another repository or make it ask somebody."""
    own = ("GIT_CONFIG_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(own)}
    return {
        **kept,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
    }


def _not_installed() -> SourceError:
    return SourceError(
        "git is not installed, or not on the PATH.", remedy="Install it to look at branches: https://git-scm.com"
    )


def _refused(top: Path, said: str) -> SourceError:
    why = said.splitlines()[0].removeprefix("fatal: ") if said else "it gave no reason"
    if "dubious ownership" in said:
        return SourceError(
            f"git does not read the repository in {top}, because it belongs to another user.",
            remedy=f"If you trust it: git config --global --add safe.directory {top}",
        )
    if "lazy fetching" in said or "promisor" in said or "not allowed" in said:
        return SourceError(
            f"Parts of the repository in {top} were never fetched, and nothing is fetched now.",
            remedy="Check the branch out once, so that git fetches it.",
        )
    return SourceError(
        f"git cannot read the repository in {top}: {why}.", remedy="See what git says there: git status; git fsck"
    )


def _paths(told: bytes) -> list[str]:
    return [os.fsdecode(one) for one in told.split(b"\0") if one]


def _line(file: Path) -> str:
    """The one line of a small file of git's."""
    if not file.is_file():  # reading a pipe could block forever
        raise FileNotFoundError(file)
    with open(file, "rb") as stream:
        return stream.read(_LARGEST_REF).decode("utf-8").strip()
