"""Which files a folder says to ignore, as git reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["IGNORE_FILES", "IgnoreRules"]

#: Read in every folder, the later over the earlier.
IGNORE_FILES = (".gitignore", ".ignore", ".irignore")
_LARGEST = 1_000_000


class IgnoreRules:
    """The rules that hold in one folder: its own ignore files, then those of the folders above it.

    ``prefix`` is the folder, relative to the walked root, with a trailing slash (empty for the root).
    """

    def __init__(self, prefix: str = "", specs: Iterable[_Spec] = (), above: IgnoreRules | None = None) -> None:
        self._prefix = prefix
        self._specs = tuple(specs)
        self._above = above

    @classmethod
    def above_root(cls, root: Path) -> IgnoreRules:
        """The rules of the git repository that ``root`` is inside of; none if those would ignore the root itself."""
        chain = [root, *root.parents]
        top = next((folder for folder in chain if (folder / ".git").exists()), root)
        rules = cls()
        for folder in reversed(chain[: chain.index(top) + 1]):
            below = "" if folder == root else f"{root.relative_to(folder).as_posix()}/"
            if folder == root:
                continue
            rules = _Outside(below, _specs_in(folder), rules)
        return cls() if rules.ignores("", folder=True) else rules

    def inside(self, folder: Path, prefix: str, names: Iterable[str]) -> IgnoreRules:
        """The rules within ``folder``, whose entries are ``names``."""
        specs = _specs_in(folder) if any(name in IGNORE_FILES for name in names) else ()
        return IgnoreRules(prefix, specs, self) if specs else self

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether ``path``, relative to the walked root, is ignored; the nearest folder with an opinion decides."""
        rules: IgnoreRules | None = self
        while rules is not None:
            local = rules._local(path) + ("/" if folder else "")
            for spec in rules._specs:
                verdict = spec.verdict(local)
                if verdict is not None:
                    return verdict
            rules = rules._above
        return False

    def _local(self, path: str) -> str:
        return path[len(self._prefix) :]


class _Outside(IgnoreRules):
    """Rules of a folder above the walked root: there, paths begin with the way down to the root."""

    def _local(self, path: str) -> str:
        return f"{self._prefix}{path}".rstrip("/")


class _Spec:
    """One ignore file. Most paths match no rule at all, which one joined expression tells at once."""

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        sources = [item.regex.pattern for item in spec.patterns if item.regex is not None]
        unnamed = (re.sub(r"\(\?P<\w+>", "(?:", source) for source in sources)
        self._any = re.compile("|".join(f"(?:{source})" for source in unnamed) or r"(?!)")

    def verdict(self, path: str) -> bool | None:
        if self._any.match(path) is None:
            return None
        verdict: bool | None = self._spec.check_file(path).include
        return verdict


def _specs_in(folder: Path) -> list[_Spec]:
    """The ignore files of a folder, the strongest first. One that cannot be read has no rules."""
    import pathspec

    specs = []
    for name in reversed(IGNORE_FILES):
        try:
            with open(folder / name, "rb") as file:
                lines = file.read(_LARGEST).decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
        except OSError:
            continue
        specs.append(_Spec(pathspec.GitIgnoreSpec.from_lines(_valid(lines))))
    return specs


def _valid(lines: Iterable[str]) -> list[str]:
    """The lines that are patterns of a bounded cost; git, too, passes over what is no pattern."""
    import pathspec

    kept = []
    for line in lines:
        # Each star multiplies the time that a match may take; beyond these bounds a name could hold up a walk.
        if line.count("**") > 3 or any(len(re.findall(r"\*+", part)) > 3 for part in line.split("/")):
            continue
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        kept.append(line)
    return kept
