"""A folder of code as a corpus: which folders are that, which branch they are on, and what is read beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ir.code.authored import RECORD_FORMATS
from ir.code.languages import language_of
from ir.code.strategy import Code
from ir.errors import InvalidInput, SourceError
from ir.protocols import IndexingStrategy
from ir.sources import CorpusSource
from ir.sources.files import MAX_BYTES, FileScope
from ir.sources.formats import format_of
from ir.sources.git import Repository
from ir.sources.skipped import Skipped
from ir.sources.walk import Found, displayable, walk
from ir.strategy.text import is_source

__all__ = ["CodeFolder", "branch_of", "code_files", "is_code", "mostly_code", "settled"]

#: The branch of a folder that is in no repository.
MAIN = "main"
#: So many files are looked at to tell what a folder is.
_LOOKED_AT = 20_000
_PROSE = frozenset({"markdown", "rst", "adoc", "org", "tex", "pdf", "html", "htm", "text", "txt", "ipynb"})
#: Where there is one of these, a folder is a project, and its documents are about its code.
_PROJECT = frozenset(
    "pyproject.toml setup.py setup.cfg package.json tsconfig.json go.mod Cargo.toml pom.xml build.gradle".split()  # noqa: SIM905
)
_PROJECT_SUFFIXES = (".csproj", ".sln", ".gemspec")


# -- what a folder is ------------------------------------------------------------------------------------------------


def mostly_code(root: str | Path) -> bool:
    """Whether a folder, or a file, is mostly source code, by the names of its files alone."""
    root = Path(root).expanduser().absolute()
    if root.is_file():
        return language_of(format_of(root.name)) is not None
    try:
        return is_code(found.id for found in islice(walk(root, hidden=False, enter=None, skip=_nobody), _LOOKED_AT))
    except (OSError, SourceError):
        return False


def is_code(names: Iterable[str]) -> bool:
    """Whether files are mostly source code: more of them than there are texts, in a project at least a fifth.

    Data and settings do not count. At least one file has to be in a language that can be read as definitions.

    >>> is_code(["a.py", "b.py", "README.md", "data.json"]), is_code(["a.md", "b.py", "c.txt"])
    (True, False)
    >>> is_code(["pyproject.toml", "a.py", "docs/a.md", "docs/b.md"])
    True
    """
    code = read = prose = 0
    project = False
    for name in names:
        format = format_of(name)
        if is_source(format):
            code += 1
            read += language_of(format) is not None
        elif format in _PROSE:
            prose += 1
        if "/" not in name:
            project = project or name in _PROJECT or name.endswith(_PROJECT_SUFFIXES)
    return read > 0 and (code > prose or (project and 5 * code >= code + prose))


def _nobody(id: str, reason: str, below: str | None = None) -> None:
    """Who only looks what a folder is has nothing to say about what cannot be read."""


def branch_of(root: str | Path) -> str:
    """The branch that the repository of a folder is on, the commit if it is on none; ``main`` without a repository."""
    repository = Repository.of(Path(root).expanduser().absolute())
    try:
        head = None if repository is None else repository.head()
    except SourceError:  # git cannot be asked
        return MAIN
    return MAIN if head is None else head.branch or (head.commit or MAIN)[:12]


# -- its files -------------------------------------------------------------------------------------------------------


class CodeFolder(FileScope):
    """The text files of a folder, and the files of records that somebody wrote about it, wherever those are.

    A file of records inside the folder keeps its id; one outside has ``records/`` before its name.
    """

    def __init__(self, root: str | Path, *, records: Sequence[str | Path] = (), **options: Any) -> None:
        super().__init__(root, **options)
        self._records = [Path(one).expanduser().absolute() for one in records]
        self._authored: dict[str, Found] = {}

    def __getitem__(self, key: str) -> dict[str, Any]:
        raw = super().__getitem__(key)
        return {**raw, "_authored": True} if key in self._authored else raw

    def stat_signal(self, key: str) -> str | None:
        signal = super().stat_signal(key)
        # A file that is read as records from now on, or no longer, is another one.
        return f"{signal}:records" if signal is not None and key in self._authored else signal

    def _candidates(self, problems: dict[str, Skipped]) -> Iterator[Found]:
        self._authored = {found.id: found for place in self._records for found in self._written(place, problems)}
        for item in super()._candidates(problems):
            if item.id not in self._authored:
                yield item
        yield from self._authored.values()

    def _written(self, place: Path, problems: dict[str, Skipped]) -> Iterator[Found]:
        files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
        if not place.exists():
            problems[str(place)] = Skipped(str(place), "there is no such file or folder of records", f"{place}/")
        for path in files:
            if format_of(path.name) in RECORD_FORMATS:
                info = path.stat()
                yield Found(self._id_of(path, place), os.fspath(path), info.st_size, info.st_mtime_ns)

    def _id_of(self, path: Path, place: Path) -> str:
        if path.is_relative_to(self.root):
            return displayable(path.relative_to(self.root).as_posix())
        inside = path.relative_to(place if place.is_dir() else place.parent)
        return displayable(f"records/{inside.as_posix()}")


@dataclass
class _CodeSource(CorpusSource):
    """A source that says that it is code."""

    kind: str = "code"


def code_files(
    root: str | Path,
    *,
    name: str | None = None,
    pattern: str | None = None,
    strategy: IndexingStrategy | None = None,
    hidden: bool = False,
    max_bytes: int | None = None,
    include_secrets: bool | None = None,
    include_generated: bool | None = None,
    branch: str | None = None,
    records: Sequence[str] | str | None = None,
    **kwargs: Any,
) -> CorpusSource:
    """A folder of code: its text files, read as definitions and the links between them; see :class:`Code`.

    ``records`` are files or folders of records that somebody wrote (:mod:`ir.code.authored`); ``branch`` is what the
    files are said to be of, else the branch that the folder is on. The rest is as for a folder of files.
    """
    places = [records] if isinstance(records, (str, os.PathLike)) else list(records or ())
    if not all(isinstance(place, (str, os.PathLike)) for place in places):
        raise InvalidInput(f"records must be a file or a folder, or a list of them, not {records!r}.")
    scope = CodeFolder(
        root,
        records=places,
        pattern=pattern,
        hidden=hidden,
        max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
        include_secrets=include_secrets,
        include_generated=include_generated,
    )
    chosen = strategy or Code(branch=branch or branch_of(scope.root))
    return _CodeSource(name or scope.root.resolve().name or "code", scope, chosen, **kwargs)


def settled(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a code corpus with the branch that it is of from now on, whatever is checked out later."""
    return {**params, "branch": params.get("branch") or branch_of(str(params["root"]))}
