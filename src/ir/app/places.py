"""Whose index answers for a place: its own, that of a folder above it, or that of the folder it was before a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ir.app.targets import Target, is_built, takes_all
from ir.errors import InvalidInput, IrError

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.protocols import Store
    from ir.sources.subfolder import Subfolder

__all__ = ["View", "root_of", "view"]


@dataclass(frozen=True)
class View:
    """A corpus, and the part of it that was asked for.

    ``root`` is the folder that the corpus is made of, if it is one; ``inside`` the path of the part, relative to it.
    """

    target: Target
    root: Path | None = None
    inside: str = ""
    notes: tuple[str, ...] = ()

    def narrowed(self, settings: Mapping[str, Any]) -> Subfolder | None:
        """The files of the part alone; ``None`` if all of the corpus was asked for."""
        return _part(self.root, self.inside, settings) if self.root is not None and self.inside else None

    def filter(
        self, asked: Mapping[str, Any] | None, globs: Sequence[str], ctx: Context, store: Store | None = None
    ) -> dict[str, Any] | None:
        """What was asked for, within the part and with paths written out; ``globs`` are relative to the part.

        ``store`` is what is asked, if that is not the corpus itself.
        """
        parts = [] if asked is None else [self._absolute(asked)]
        if globs:
            parts.append({"path": {"$in": self._chosen(globs, store or ctx.open(self.target).store)}})
        elif self.inside:
            parts.append(self._below())
        return parts[0] if len(parts) == 1 else {"$and": parts} if parts else None

    def _below(self) -> dict[str, Any]:
        """The paths of the part: those that begin with its own and a slash come between that and the next sign."""
        path = self._path(self.inside)
        within = {"path": {"$gte": f"{path}/", "$lt": f"{path}0"}}
        return {"$or": [{"path": path}, within]}

    def _chosen(self, globs: Sequence[str], store: Store) -> list[str]:
        from ir.sources.globs import Globs

        chooses = Globs(globs)
        if self.root is None:
            raise InvalidInput(
                f"-g chooses files, and {self.target.name!r} is not made of a folder.",
                remedy="Filter by a field: -w FIELD=VALUE",
            )
        lead = f"{self.inside}/" if self.inside else ""
        ids = [str(name) for (name,) in store.ledger_fields("artifact_id")]
        if self.inside in ids:  # one file: its name is what a pattern can be about
            lead = f"{PurePosixPath(self.inside).parent}/".removeprefix("./")
            ids = [self.inside]
        return [self._path(name) for name in ids if name.startswith(lead) and chooses.takes(name[len(lead) :])]

    def _path(self, artifact_id: str) -> str:
        from ir.sources.walk import displayable

        if self.root is not None and self.root.is_file():
            return displayable(str(self.root))
        return displayable(str(self.root / artifact_id)) if self.root is not None else artifact_id

    def _absolute(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A filter whose conditions on ``path`` name whole paths."""
        if self.root is None:
            return dict(spec)
        return {
            key: self._operand(value)
            if key == "path"
            else [self._absolute(one) if isinstance(one, Mapping) else one for one in value]
            if key in ("$and", "$or", "$nor") and isinstance(value, (list, tuple))
            else self._absolute(value)
            if key == "$not" and isinstance(value, Mapping)
            else value
            for key, value in spec.items()
        }

    def _operand(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._whole(value)
        if isinstance(value, Mapping):
            return {
                op: self._operand(one)
                if op in ("$eq", "$ne", "$not")
                else [self._whole(item) if isinstance(item, str) else item for item in one]
                if op in ("$in", "$nin") and isinstance(one, (list, tuple))
                else one
                for op, one in value.items()
            }
        return value

    def _whole(self, path: str) -> str:
        """A path relative to the current folder, to the part, or to the root: the first where there is such a file."""
        given = Path(path).expanduser()
        if given.is_absolute() or self.root is None:
            return str(given)
        root = self.root if self.root.is_dir() else self.root.parent
        here = Path.cwd() / given
        if here.exists() and here.resolve().is_relative_to(root):
            return self._shown(here)
        part = root / self.inside / given
        return self._shown(part if part.exists() else root / given)

    def _shown(self, path: Path) -> str:
        from ir.sources.walk import displayable

        # Not resolved: a link inside the folder is known by its own name.
        return displayable(str(path.parent.resolve() / path.name))


def view(word: str, ctx: Context, *, moving: bool = False) -> View:
    """The corpus that answers for ``word``, and the part of it that is meant; found out once for each call.

    With ``moving``, the index of a folder that was moved goes along to where it is now.
    """
    if word not in ctx.views:
        ctx.views[word] = _view_of(ctx.target(word), ctx, moving=moving)
    return ctx.views[word]


def _view_of(target: Target, ctx: Context, *, moving: bool) -> View:
    """What is searched for a target; a path without an index of its own is looked for in others."""
    if target.path is None:
        return View(target, root_of(target.name))
    if target.built:
        return View(target, target.path)
    covered = _covering(target.path, ctx)
    if covered is not None:
        return covered
    return View((_moved(target, ctx) if moving else None) or target, target.path)


def _moved(target: Target, ctx: Context) -> Target | None:
    from ir.app.moved import take_over

    return take_over(target, ctx)


def _covering(path: Path, ctx: Context) -> View | None:
    """The nearest folder above, or the same folder under another name, whose index holds all text files of it."""
    from ir.registry import elsewhere, entered

    roots = {
        Path(entry["params"]["root"]): name
        for name, entry in entered().items()
        if takes_all(entry) and entry["params"].get("root") and not elsewhere(name)
    }
    for folder in (path, *path.parents):
        name = roots.get(folder)
        if name is None or not _usable(name):
            continue
        target = Target(name)
        if folder == path:
            return View(target, path, notes=(f"{path} is searched as the corpus {name!r}.",))
        inside = path.relative_to(folder).as_posix()
        part = _part(folder, inside, ctx.settings)
        if part is None or next(iter(part), None) is None:
            continue  # ignored there, or hidden
        return View(target, folder, inside, (f"{path} is searched in the index of {folder}.",))
    return None


def _usable(name: str) -> bool:
    try:
        return is_built(name)
    except IrError:
        return False


def _part(root: Path | None, inside: str, settings: Mapping[str, Any]) -> Subfolder | None:
    from ir.sources.subfolder import Subfolder

    if root is None:
        return None
    try:
        return Subfolder(root, inside, pattern=None, max_bytes=int(settings["max_file_mb"] * 1_000_000))
    except IrError:
        return None


def root_of(name: str) -> Path | None:
    """The folder that a registered corpus is made of, if it is one."""
    from ir.registry import entered

    entry = entered().get(name, {})
    params = entry.get("params", {})
    root = params.get("root") if entry.get("kind") in ("files", "code") else params.get("projects_root")
    return Path(root) if isinstance(root, str) else None
