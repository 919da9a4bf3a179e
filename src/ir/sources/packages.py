"""Software packages: those that are installed, and the projects of a ``.pth`` manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.skipped import Skip

if TYPE_CHECKING:
    from importlib.metadata import Distribution

__all__ = ["README_CHARS", "load_packages"]

README_CHARS = 20_000
OURS, THIRD_PARTY = "ours", "third-party"
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md")


def load_packages(manifest: str | Path | None = None, readme_chars: int = README_CHARS) -> Loader:
    """A loader of the projects a manifest lists, or of the installed distributions if there is none.

    What is listed, or installed in editable form, is ``"ours"``; the rest is ``"third-party"``.
    """

    def load(skip: Skip) -> Iterator[Placed]:
        found = _installed() if manifest is None else _listed(Path(manifest).expanduser(), skip)
        taken: dict[str, str] = {}
        for record, place in found:
            name = re.sub(r"[-_.]+", "-", record["name"]).lower()
            if name in taken:
                skip(place, f"the package {record['name']!r} was already found at {taken[name]}")
                continue
            taken[name] = place
            record["readme"] = record["readme"][:readme_chars]
            yield Placed(record["name"], record, place)

    return load


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

    >>> _names(["numpy>=1.26", "Rich ; python_version > '3'", "pytest; extra == 'dev'"])
    ['numpy', 'rich']
    """
    names = []
    for requirement in requirements:
        if not isinstance(requirement, str) or re.search(r";.*\bextra\s*==", requirement):
            continue
        match = _REQUIREMENT.match(requirement)
        if match:
            names.append(match[1].lower())
    return list(dict.fromkeys(names))


def _listed(manifest: Path, skip: Skip) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        lines = manifest.read_text("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise SourceError(
            f"The manifest {str(manifest)!r} cannot be read: {error.strerror}.",
            remedy="A manifest is a .pth file with a project folder on each line.",
        ) from error
    for number, line in enumerate(lines, 1):
        entry = line.strip()
        # As the interpreter reads such files: comments, and lines that it would run.
        if not entry or entry.startswith(("#", "import ", "import\t")):
            continue
        folder = manifest.parent / Path(entry).expanduser()
        place = f"{manifest.name}:{number}"
        try:
            if not folder.is_dir():
                skip(place, f"there is no folder {entry!r}")
                continue
            record, problem = _project(folder)
        except OSError as error:
            # A package is called as its file says, so nobody knows which one could not be read: all of them stay.
            skip(place, f"{error.filename} cannot be read: {error.strerror}", "")
            continue
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
