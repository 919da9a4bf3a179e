"""What each language does in a way of its own when names are resolved."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from posixpath import dirname, normpath

from ir.code.builtins import CSHARP_NAMES, GO_NAMES, JAVA_NAMES, RUST_NAMES, SCRIPT_NAMES
from ir.code.languages.rust import unit_of
from ir.code.values import Lookup, Reference

__all__ = ["CSHARP", "JAVA", "Go", "JavaScript", "Python", "Rust"]

_BUILTINS = frozenset(dir(builtins)) - {"copyright", "credits", "license", "exit", "quit"}


class Python:
    """Modules are files and folders; a package's root is where the folders above are no packages any more."""

    name = "python"
    constructors: Sequence[str] = ("__init__", "__new__")
    members_are_keys = False
    open_types = False
    has_overloads = False
    implicit_interfaces = False
    has_extensions = False
    has_units = False
    scattered_types = False
    calls_instances = True
    sees_outer_units = False

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        parts = module.split(".") if module else []
        if level:
            folder = dirname(path)
            for _ in range(level - 1):
                if not folder:
                    return None
                folder = dirname(folder)
            found = self._in_folder(folder, parts, lookup)
            return ("m", found) if found is not None else None
        found = self._absolute(parts, path, lookup)
        return ("m", found) if found is not None else ("x", module)

    def _absolute(self, parts: Sequence[str], path: str, lookup: Lookup) -> str | None:
        """An absolute import: one of the files that end so, whose root is no package, the nearest one first."""
        tail = ".".join(parts)
        named = list(lookup(f"python-tail:{tail}"))
        if not named and lookup("python:__init__.py"):  # the corpus is a package itself, and imports by its own name
            return next(iter(lookup(f"python-rooted:{tail}")), None)
        candidates = [found for found in named if not lookup(f"python:{_join(_root(found, parts), '__init__.py')}")]
        # A script in a folder that is a package too imports its neighbours by their plain names.
        candidates = candidates or [found for found in named if _root(found, parts) == dirname(path)]
        if parts[0] in sys.stdlib_module_names:
            # A file that is called as a module of the standard library is meant by its neighbours at most.
            candidates = [found for found in candidates if path.startswith(_join(_root(found, parts), ""))]
        return min(candidates, key=lambda found: (-_shared(_root(found, parts), path), len(found), found), default=None)

    def _in_folder(self, folder: str, parts: Sequence[str], lookup: Lookup) -> str | None:
        base = _join(folder, "/".join(parts)) if parts else folder
        for candidate in (f"{base}.py", f"{base}.pyi", _join(base, "__init__.py")):
            if lookup(f"python:{candidate}"):
                return candidate
        return None

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        return None

    def find_inside(self, path: str, name: str, lookup: Lookup) -> Reference | None:
        if path.rsplit("/", 1)[-1] != "__init__.py":
            return None
        found = self._in_folder(dirname(path), [name], lookup)
        return ("m", found) if found is not None else None

    def exported(self, name: str) -> Sequence[str]:
        return (name,)

    def find_builtin(self, name: str) -> Reference | None:
        return ("x", f"builtins.{name}") if name in _BUILTINS else None

    @staticmethod
    def tails(path: str) -> list[str]:
        """The dotted names by which a file may be imported, depending on where its root is."""
        stem = path.rsplit(".", 1)[0]
        parts = stem.split("/")
        if parts[-1] == "__init__":
            parts = parts[:-1]
        return [".".join(parts[at:]) for at in range(len(parts)) if all(part.isidentifier() for part in parts[at:])]


class JavaScript:
    """JavaScript and TypeScript, which import each other: modules are files, found as bundlers and Node find them."""

    name = "javascript"
    constructors: Sequence[str] = ("constructor",)
    members_are_keys = True
    open_types = False
    has_overloads = False
    implicit_interfaces = False
    has_extensions = False
    has_units = False
    scattered_types = False
    calls_instances = False
    sees_outer_units = False

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        if module.startswith("."):
            base = normpath(_join(dirname(path), module))
            found = self._file(base if base != "." else "", lookup)
            return ("m", found) if found is not None and not found.startswith("..") else None
        for prefix in _ROOTS:
            if module.startswith(prefix):
                for root in dict.fromkeys((_source_root(path), "src", "")):
                    found = self._file(_join(root, module[len(prefix) :]), lookup)
                    if found is not None:
                        return ("m", found)
        return ("x", module)

    def _file(self, base: str, lookup: Lookup) -> str | None:
        stems = [base]
        if base.endswith((".js", ".jsx", ".mjs", ".cjs")):
            stems.append(base.rsplit(".", 1)[0])  # TypeScript is imported by the name of what it becomes
        for stem in stems:
            for candidate in (stem, *[f"{stem}{suffix}" for suffix in _SCRIPTS]):
                if lookup(f"javascript:{candidate}"):
                    return candidate
        for suffix in _SCRIPTS:
            candidate = _join(base, f"index{suffix}")
            if lookup(f"javascript:{candidate}"):
                return candidate
        return None

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        return None

    def find_inside(self, path: str, name: str, lookup: Lookup) -> Reference | None:
        return None

    def exported(self, name: str) -> Sequence[str]:
        return (f"export {name}", "export module.exports") if name == "default" else (f"export {name}",)

    def find_builtin(self, name: str) -> Reference | None:
        return ("x", name) if name in SCRIPT_NAMES else None


class Packages:
    """Languages whose files see the names of their package or namespace."""

    members_are_keys = False
    has_units = True
    scattered_types = False
    calls_instances = False
    has_overloads = True
    implicit_interfaces = False
    constructors: Sequence[str] = ("<init>",)

    def __init__(self, name: str, *, open_types: bool, builtins: frozenset[str]) -> None:
        self.name = name
        self.open_types = open_types
        self.has_extensions = self.sees_outer_units = name == "csharp"
        self._builtins = builtins

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        if lookup(f"{self.name}-unit:{module}"):
            return ("p", module)
        # A member of a type is imported by the type's name: the type is a name of the package before it.
        package, _, last = module.rpartition(".")
        for found in lookup(f"{self.name}-unit:{package}:{last}"):
            return ("c", found, f"{last}#")
        return ("x", module)

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        return self.find_module(f"{unit}.{name}", 0, "", lookup)

    def find_inside(self, path: str, name: str, lookup: Lookup) -> Reference | None:
        return None

    def exported(self, name: str) -> Sequence[str]:
        return (name,)

    def find_builtin(self, name: str) -> Reference | None:
        return ("x", name) if name in self._builtins else None


class Go(Packages):
    """Packages are folders, imported by the path of their module."""

    implicit_interfaces = True
    has_units = False
    has_overloads = False
    constructors: Sequence[str] = ()

    def __init__(self) -> None:
        super().__init__("go", open_types=True, builtins=GO_NAMES)

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        for said in lookup("go-module"):
            folder, _, name = said.partition("\n")
            if module == name or module.startswith(f"{name}/"):
                unit = _join(folder, module[len(name) + 1 :]).rstrip("/") or "."
                return ("p", unit) if lookup(f"go-unit:{unit}") else ("x", module)
        parts = module.split("/")
        if "." in parts[0]:  # without a go.mod: the folder that the path ends with
            for start in range(1, len(parts)):
                unit = "/".join(parts[start:])
                if lookup(f"go-unit:{unit}"):
                    return ("p", unit)
        return ("x", module)

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        return None


class Rust(Packages):
    """Modules are files; a path begins at the crate, at this module or at the one above."""

    has_overloads = False
    has_units = False
    scattered_types = True
    constructors: Sequence[str] = ()

    def __init__(self) -> None:
        super().__init__("rust", open_types=True, builtins=RUST_NAMES)

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        unit = unit_of(path)
        if module == "self":
            return ("p", unit)
        if module == "super":
            return ("p", dirname(unit) or ".")
        if module == "crate":
            return ("p", _crate(path))
        if lookup(f"rust-unit:{_join(unit, module)}"):
            return ("p", _join(unit, module))
        dashed = module.replace("_", "-")
        # A crate of the same workspace, by the name of its folder.
        for root in (
            f"{module}/src",
            f"crates/{module}/src",
            f"{dashed}/src",
            f"crates/{dashed}/src",
        ):
            if lookup(f"rust-unit:{root}"):
                return ("p", root)
        return ("x", module)

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        inner = _join(unit if unit != "." else "", name)
        if name == "super":
            return ("p", dirname(unit) or ".")
        return ("p", inner) if lookup(f"rust-unit:{inner}") else None


def _crate(path: str) -> str:
    """The root module of the crate that a file belongs to."""
    parts = path.split("/")[:-1]
    if "src" in parts:
        return "/".join(parts[: len(parts) - parts[::-1].index("src")])
    return parts[0] if parts and parts[0] in ("tests", "benches", "examples") else "."


_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue")
_ROOTS = ("@/", "~/", "src/")


def _source_root(path: str) -> str:
    """The nearest folder ``src`` above a file."""
    parts = path.split("/")[:-1]
    return "/".join(parts[: len(parts) - parts[::-1].index("src")]) if "src" in parts else ""


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _root(found: str, parts: Sequence[str]) -> str:
    """The folder from which ``parts`` leads to a file."""
    stem = found.rsplit(".", 1)[0].split("/")
    if stem[-1] == "__init__":
        stem = stem[:-1]
    return "/".join(stem[: len(stem) - len(parts)])


def _shared(folder: str, path: str) -> int:
    """How many folders two paths have in common."""
    count = 0
    for one, other in zip(folder.split("/"), path.split("/"), strict=False):
        if one != other:
            break
        count += 1
    return count


JAVA = Packages("java", open_types=False, builtins=JAVA_NAMES)
CSHARP = Packages("csharp", open_types=True, builtins=CSHARP_NAMES)
