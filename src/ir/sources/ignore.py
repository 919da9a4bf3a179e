"""Which files a folder says to ignore, as git reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ir.sources.gitconfig import excludes_file
from ir.sources.wildmatch import Rule, rule_of

__all__ = ["IGNORE_FILES", "IgnoreRules", "read_rules"]

#: Read in every folder; later ones override earlier ones.
IGNORE_FILES = (".gitignore", ".ignore", ".irignore")
#: Entries of a folder that show that it has rules.
_TELLING = frozenset({*IGNORE_FILES, ".git"})
_LARGEST = 1_000_000
#: Reads an ignore file; ``None`` if there is none.
Read = Callable[[Path], bytes | None]


def read_rules(file: Path) -> bytes | None:
    """An ignore file on the disk. One that cannot be read has no rules."""
    try:
        with open(file, "rb") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return None


class IgnoreRules:
    """The rules that hold in one folder: its own ignore files, then those of the folders above it.

    ``prefix`` is the folder, relative to the walked root, with a trailing slash (empty for the root).
    """

    def __init__(self, prefix: str = "", specs: Iterable[_Spec] = (), above: IgnoreRules | None = None) -> None:
        self._prefix = prefix
        self._specs = tuple(specs)
        self._above = above

    @classmethod
    def above_root(cls, root: Path, read: Read = read_rules) -> IgnoreRules:
        """The rules of the git repository that ``root`` is inside of; none if those would ignore the root itself.

        ``read`` says what stands in an ignore file, where that is not what is on the disk.
        """
        chain = [root, *root.parents]
        top = next((folder for folder in chain if (folder / ".git").exists()), root)
        rules = cls()
        above: list[tuple[Path, list[_Spec]]] = []
        for folder in reversed(chain[: chain.index(top) + 1]):
            if _is_ignored(folder, above):
                return cls()
            if folder != root:
                above.append((folder, _specs_in(folder, read)))
                rules = _Outside(f"{root.relative_to(folder).as_posix()}/", above[-1][1], rules)
        return rules

    def inside(self, folder: Path, prefix: str, names: Iterable[str], read: Read = read_rules) -> IgnoreRules:
        """The rules within ``folder``, whose entries are ``names``."""
        specs = _specs_in(folder, read) if not _TELLING.isdisjoint(names) else ()
        return IgnoreRules(prefix, specs, self) if specs else self

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether ``path``, relative to the walked root, is ignored; the nearest folder with an opinion decides."""
        rules: IgnoreRules | None = self
        while rules is not None:
            local = rules._local(path)
            for spec in rules._specs:
                verdict = spec.verdict(local, folder=folder)
                if verdict is not None:
                    return verdict
            rules = rules._above
        return False

    def _local(self, path: str) -> str:
        return path[len(self._prefix) :]


class _Outside(IgnoreRules):
    """Rules of a folder above the walked root; its paths begin with the path down to the root."""

    def _local(self, path: str) -> str:
        return f"{self._prefix}{path}".rstrip("/")


def _is_ignored(folder: Path, above: Iterable[tuple[Path, list[_Spec]]]) -> bool:
    for place, specs in reversed(list(above)):
        for spec in specs:
            verdict = spec.verdict(folder.relative_to(place).as_posix(), folder=True)
            if verdict is not None:
                return verdict
    return False


class _Spec:
    """One ignore file. Most paths match no rule; two combined expressions find that out at once."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        #: The last rule that matches decides.
        self._rules = [(rule, re.compile(rule.pattern, re.DOTALL)) for rule in rules][::-1]
        self._names = _joined(rule.pattern for rule, _ in self._rules if rule.by_name)
        self._paths = _joined(rule.pattern for rule, _ in self._rules if not rule.by_name)

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        name = path[path.rfind("/") + 1 :]
        if self._names.fullmatch(name) is None and self._paths.fullmatch(path) is None:
            return None
        for rule, expression in self._rules:
            if rule.folders_only and not folder:
                continue
            if expression.fullmatch(name if rule.by_name else path):
                return not rule.negated
        return None


def _joined(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)", re.DOTALL)


def _specs_in(folder: Path, read: Read) -> list[_Spec]:
    """The ignore files of a folder, the strongest first."""
    files = [folder / name for name in reversed(IGNORE_FILES)]
    repository = _repository(folder / ".git")
    if repository is not None:
        files.append(repository / "info" / "exclude")
        users = excludes_file(repository, folder)
        files += [] if users is None else [users]
    specs = []
    for file in files:
        data = read(file)
        if data is None:
            continue
        text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        specs.append(_Spec(rule for line in text.split("\n") if (rule := rule_of(line)) is not None))
    return specs


def _repository(git: Path) -> Path | None:
    """The folder of a repository; in a work tree of several, a file says where it is."""
    try:
        if git.is_dir():
            return git
        word, _, place = git.read_text("utf-8").strip().partition(": ")
        if word != "gitdir":
            return None
        own = git.parent / place
        shared = own / "commondir"
        return own / shared.read_text("utf-8").strip() if shared.is_file() else own
    except (OSError, ValueError):
        return None
