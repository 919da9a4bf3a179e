"""Software packages: those that are installed, and the projects of a ``.pth`` manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, SourceError
from ir.names import package_name, required_package
from ir.sources.loaded import Loader, Placed
from ir.sources.records import fetched, names_function, resolve_fetcher
from ir.sources.skipped import Skip

if TYPE_CHECKING:
    from importlib.metadata import Distribution

__all__ = ["README_CHARS", "Repos", "load_packages"]

README_CHARS = 20_000
OURS, THIRD_PARTY = "ours", "third-party"
_READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md")


#: Project folders, or patterns of them such as ``~/code/*``; or a function that returns them, or its name.
Repos = Sequence[str | Path] | Callable[[], Iterable[str | Path]] | str


def load_packages(
    manifest: str | Path | None = None,
    readme_chars: int = README_CHARS,
    repos: Repos | None = None,
    exclude: Sequence[str] | None = None,
) -> Loader:
    """A loader of the projects that a manifest lists and of those in ``repos``, or of what is installed without both.

    What is listed, or installed in editable form, is ``"ours"``; the rest is ``"third-party"``. ``exclude`` has
    patterns of names, and of whole paths of project folders.
    """
    folders = None if repos is None else _folders_of(repos)
    excluded = _Exclusion(exclude)

    def load(skip: Skip) -> Iterator[Placed]:
        taken: dict[str, str] = {}
        for record, place in _found(manifest, folders, excluded, skip):
            if excluded.leaves_out(record["name"]):
                continue
            name = package_name(record["name"])
            if name in taken:
                skip(place, f"the package {record['name']!r} was already found at {taken[name]}")
                continue
            taken[name] = place
            record["readme"] = record["readme"][:readme_chars]
            yield Placed(record["name"], record, place)

    return load


def _found(
    manifest: str | Path | None, folders: Callable[[], list[str]] | None, excluded: _Exclusion, skip: Skip
) -> Iterator[tuple[dict[str, Any], str]]:
    listed = _listed(Path(manifest).expanduser(), skip) if manifest is not None else iter(())
    given = _given(folders(), skip) if folders is not None else iter(())
    for folder, place in chain(listed, given):
        if not excluded.leaves_out_folder(folder):
            yield from _read(folder, place, skip)
    if manifest is None and folders is None:
        yield from _installed()


def _folders_of(repos: Repos) -> Callable[[], list[str]]:
    """How to get the folders, as they were given; a function is asked at every load."""
    if callable(repos) or names_function(repos):
        fetch: Callable[[], Iterable[Any]] = resolve_fetcher(repos)  # type: ignore[arg-type]
        return lambda: [str(folder) for folder in fetched(fetch)]
    given = [repos] if isinstance(repos, (str, Path)) else repos
    if not isinstance(given, Sequence) or not all(isinstance(folder, (str, Path)) for folder in given):
        raise InvalidInput(
            f"repos must be folders, patterns of folders or a function that returns them, not {repos!r}.",
            remedy="Write for instance: repos=['~/code/*', '~/work/app']",
        )
    return lambda: [str(folder) for folder in given]


class _Exclusion:
    """Which packages are left out: by their names, or by their folders, which are not even read."""

    def __init__(self, patterns: Sequence[str] | None) -> None:
        given = [patterns] if isinstance(patterns, str) else patterns or []
        if not isinstance(given, Sequence) or not all(isinstance(pattern, str) for pattern in given):
            raise InvalidInput(
                f"exclude must be patterns of names or folders, not {patterns!r}.",
                remedy="Write for instance: exclude=['types-*', '*/archive/*']",
            )
        self._names = [package_name(pattern) for pattern in given]
        self._folders = [str(Path(pattern).expanduser()) for pattern in given]

    def leaves_out(self, name: str) -> bool:
        return any(fnmatchcase(package_name(name), pattern) for pattern in self._names)

    def leaves_out_folder(self, folder: Path) -> bool:
        ways = {str(folder), str(folder.resolve())}
        return any(fnmatchcase(way, pattern) for way in ways for pattern in self._folders)


def _given(folders: Iterable[str], skip: Skip) -> Iterator[tuple[Path, str]]:
    from glob import glob

    for given in folders:
        whole = str(Path(given).expanduser())
        matched = [whole] if Path(whole).exists() else sorted(glob(whole))  # noqa: PTH207 - `*` leaves hidden ones out
        projects = [folder for folder in map(Path, matched) if folder.is_dir()]
        if not projects:
            skip(given, "there is no such folder")
        yield from ((folder, str(folder)) for folder in projects)


def _installed() -> Iterator[tuple[dict[str, Any], str]]:
    from importlib.metadata import distributions

    for distribution in distributions():
        about = distribution.metadata
        # A leftover of an interrupted installation has no metadata.
        name = about["Name"] if about is not None else None
        if not name:
            continue
        record = {
            "name": name,
            "description": about["Summary"] or "",
            "readme": str(about.json.get("description") or ""),
            "owner": OURS if _editable(distribution) else THIRD_PARTY,
            "deps": _names(distribution.requires or ()),
            "version": about["Version"] or "",
        }
        yield record, f"the installed {name}"


def _editable(distribution: Distribution) -> bool:
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        return bool(origin.get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        return False


def _names(requirements: Iterable[Any]) -> list[str]:
    """The names that requirements ask for, without versions; those of extras are left out.

    >>> _names(["numpy>=1.26", "Foo.Bar_baz ; python_version > '3'", "pytest; extra == 'dev'"])
    ['numpy', 'foo-bar-baz']
    """
    needed = (
        requirement
        for requirement in requirements
        if isinstance(requirement, str) and not re.search(r";.*\bextra\s*==", requirement)
    )
    return list(dict.fromkeys(filter(None, map(required_package, needed))))


def _listed(manifest: Path, skip: Skip) -> Iterator[tuple[Path, str]]:
    try:
        lines = manifest.read_text("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise SourceError(
            f"The manifest {str(manifest)!r} cannot be read: {error.strerror}.",
            remedy="A manifest is a .pth file with a project folder on each line.",
        ) from error
    for number, line in enumerate(lines, 1):
        entry = line.strip()
        # The interpreter treats these lines specially too: comments, and lines that it would run.
        if not entry or entry.startswith(("#", "import ", "import\t")):
            continue
        folder = manifest.parent / Path(entry).expanduser()
        place = f"{manifest.name}:{number}"
        if _is_folder(folder):
            yield folder, place
        else:
            skip(place, f"there is no folder {entry!r}")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return True  # reading it will report the reason


def _read(folder: Path, place: str, skip: Skip) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        record, problem = _project(folder)
    except OSError as error:
        # A package gets its name from its file, so it is unknown which one could not be read: all of them stay.
        skip(place, f"{error.filename} cannot be read: {error.strerror}", "")
        return
    if problem:
        skip(place, problem)
    yield record, place


def _project(folder: Path) -> tuple[dict[str, Any], str | None]:
    """What a project says of itself in its pyproject.toml and README; its folder's name if it says nothing."""
    root = folder if (folder / "pyproject.toml").is_file() or folder.name != "src" else folder.parent
    about, problem = _pyproject(root / "pyproject.toml")
    name = about.get("name")
    description, version, deps = about.get("description"), about.get("version"), about.get("dependencies")
    record = {
        "name": name if isinstance(name, str) and name else root.resolve().name,
        "description": description if isinstance(description, str) else "",
        "readme": _readme(root, about.get("readme")),
        "owner": OURS,
        "deps": _names(deps) if isinstance(deps, list) else [],
        "version": version if isinstance(version, str) else "",
        "path": str(root.resolve()),
    }
    return record, problem


def _pyproject(file: Path) -> tuple[dict[str, Any], str | None]:
    import tomllib

    try:
        loaded = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}, None
    except (ValueError, RecursionError) as error:
        return {}, f"{file} cannot be used: {error}; the folder's name is taken"
    project = loaded.get("project")
    return (project, None) if isinstance(project, dict) else ({}, None)


def _readme(root: Path, named: Any) -> str:
    declared = named.get("file") if isinstance(named, dict) else named
    inside = isinstance(declared, str) and (root / declared).resolve().is_relative_to(root.resolve())
    for name in ((declared,) if inside else ()) + _READMES:
        try:
            return (root / str(name)).read_text("utf-8", "replace")
        except OSError:
            continue
    return ""
