"""The definitions of a corpus of code, by whatever somebody calls them.

A word may be a bare name (``parse``), a qualified one (``Parser.parse``), a place (``src/a.py:12``), a name in a file
(``src/a.py::Parser.parse``), a file, or a ``symbolKey``. What is meant by a name that several definitions have is
settled by :meth:`Definitions.find`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from ir.base import ledger_key
from ir.code.paths import is_test_path
from ir.index.linking import definers
from ir.links import Node
from ir.protocols import Snapshot, Store
from ir.surrogates import storable

__all__ = ["Definition", "Definitions", "Meant", "bare", "near", "path_in", "qualified", "symbol_in"]

#: The types of nodes that are code.
KINDS = ("module", "type", "function", "method")
#: So many similar names are told.
_NEAR = 5
#: So many definitions of one name are told apart; more are counted.
_MOST = 400
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>[0-9]{1,9})(?:-[0-9]*)?")
_COUNTER = re.compile(r"[(][+]?[0-9]*[)]|[+][0-9]+(?=#|$)")
#: The bare name at the end of each key of a list of them.
_NAME = re.compile(r"[/#.]([\w$]++)(?:\([+]?\d*\)\.|(?:[+]\d+)?#)\"")
_LINKS = ("calls", "inherits", "references", "tests", "imports")


@dataclass(frozen=True)
class Definition:
    """A module, type, function or method: ``key`` is its symbolKey, ``name`` what it is called inside its file."""

    key: str
    kind: str
    name: str
    path: str
    line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    language: str = ""

    @property
    def symbol(self) -> str:
        """The part of the key that is inside the file."""
        return symbol_in(self.key)

    @property
    def last(self) -> str:
        """The name without that of its owner."""
        return self.name.rsplit(".", 1)[-1]

    @classmethod
    def of(cls, node: Node) -> Definition:
        told = node.properties
        first = told.get("line_start")
        line = first if isinstance(first, int) else 1
        last = told.get("line_end")
        path = str(told.get("path") or path_in(node.id))
        inside = qualified(node.id.partition(" ")[2].removeprefix(path).removeprefix("/"))
        return cls(
            node.id,
            node.type,
            inside or str(told.get("name") or path),
            path,
            line,
            last if isinstance(last, int) else line,
            str(told.get("signature") or ""),
            str(told.get("doc") or ""),
            str(told.get("language") or ""),
        )


@dataclass(frozen=True)
class Meant:
    """What a word stands for: ``chosen`` is answered for, ``others`` have the same name; ``near`` are similar names."""

    chosen: tuple[Definition, ...] = ()
    others: tuple[Definition, ...] = ()
    near: tuple[str, ...] = ()
    #: The file that the word names, if it names one.
    path: str | None = None


@lru_cache(maxsize=65536)
def path_in(key: str) -> str:
    """The file of a symbolKey.

    >>> path_in("python src/app.py/App#run()."), path_in("python src/app.py/")
    ('src/app.py', 'src/app.py')
    """
    return key.partition(" ")[2].rpartition("/")[0]


def symbol_in(key: str) -> str:
    return key.rpartition("/")[2]


@lru_cache(maxsize=65536)
def qualified(symbol: str) -> str:
    """A symbol as people write it.

    >>> qualified("App#run()."), qualified("Outer#Inner#"), qualified("f(+1)."), qualified("outer().inner().")
    ('App.run', 'Outer.Inner', 'f', 'outer.inner')
    """
    return _COUNTER.sub("", symbol).replace("#", ".").strip(".").replace("..", ".")


class Definitions:
    """The definitions of one version of a corpus."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    # -- by what they are called ---------------------------------------------------------------------------------

    def find(self, word: str, *, types_first: bool = False) -> Meant:
        """What a word stands for.

        A key, a place or a name in a file means just that; several functions of one name in one file (overloads, or
        one in each branch of a condition) are meant together. Of other definitions of one name, that one is chosen
        which is not in a test and which most links lead to; ties go to the first path and line. With ``types_first``
        types come before all others.
        """
        word = storable(word.strip())
        exact = self.by_keys([word])
        if exact:
            return Meant(tuple(exact))
        for path, name, line in _readings(word):
            held = self.file(path)
            if held is None:
                continue
            inside = self.in_file(held)
            if name is None and line is None:
                return Meant(tuple(one for one in inside if one.kind == "module"), path=held)
            if line is not None:
                return Meant(_at(inside, line), path=held)
            named = [one for one in inside if one.kind != "module" and _fits(one.name, str(name))]
            whole = [one for one in named if one.name == name] or named
            return (
                self._told_apart(whole, held, types_first) if whole else Meant(near=_near(str(name), inside), path=held)
            )
        wanted = _dotted(word)
        return self._told_apart(self.named(wanted), None, types_first) if wanted else Meant()

    def named(self, name: str) -> list[Definition]:
        """Every definition that a bare or qualified name fits."""
        last = name.rsplit(".", 1)[-1]
        keys = [key for found in definers(self._store, f"symbol:{last}").values() for key in found]
        fitting = [key for key in keys if _fits(qualified(symbol_in(key)), name)]
        if not fitting and "." in name:  # a.b.c may be the function c of the module a/b
            module = name.rpartition(".")[0].replace(".", "/")
            fitting = [
                key for key in keys if _stem(path_in(key)) == module or _stem(path_in(key)).endswith(f"/{module}")
            ]
        if not fitting:
            fitting = [key for key in keys if key.endswith("/")]  # a module of that name
        return self.by_keys(fitting[:_MOST])

    def by_keys(self, keys: Sequence[str]) -> list[Definition]:
        """Those of the keys that are definitions in this version, in their order."""
        found = self._snapshot.nodes(list(dict.fromkeys(keys)))
        return [Definition.of(found[key]) for key in dict.fromkeys(keys) if key in found and found[key].type in KINDS]

    def names(self) -> tuple[str, ...]:
        """Every bare name that is defined."""
        known: set[str] = set()
        for (told,) in self._store.ledger_fields("nodes"):
            known.update(
                _NAME.findall(told if isinstance(told, str) else json.dumps(_listed(told), ensure_ascii=False))
            )
        return tuple(sorted(known))

    # -- by where they are ---------------------------------------------------------------------------------------

    def file(self, path: str) -> str | None:
        """The item that a path names: by its id, or by an end of it that no other item has."""
        if self._store.get_ledger_entry(ledger_key(path)) is not None:
            return path
        plain = path.replace("\\", "/").removeprefix("./")
        if not plain or plain.startswith("/"):
            return None
        ids = [str(one) for (one,) in self._store.ledger_fields("artifact_id")]
        ending = [one for one in ids if one == plain or one.endswith(f"/{plain}")]
        return ending[0] if len(ending) == 1 else None

    def in_file(self, item_id: str) -> list[Definition]:
        """The definitions of a file, from the first line to the last."""
        entry = self._store.get_ledger_entry(ledger_key(item_id)) or {}
        found = self.by_keys([str(key) for key in entry.get("nodes", ())])
        return sorted(found, key=lambda one: (one.line, -one.end_line))

    # -- which one is meant --------------------------------------------------------------------------------------

    def _told_apart(self, found: Sequence[Definition], path: str | None, types_first: bool) -> Meant:
        if not found:
            return Meant(path=path)
        groups: dict[tuple[str, str], list[Definition]] = {}
        for one in found:
            groups.setdefault((one.path, one.name), []).append(one)
        keys = [one.key for one in found]
        links = dict(zip(keys, self._snapshot.degrees(keys, types=_LINKS, direction="in"), strict=True))
        ranked = sorted(
            groups.values(),
            key=lambda group: (
                types_first and group[0].kind != "type",
                is_test_path(group[0].path),
                -sum(links[one.key] for one in group),
                group[0].path,
                group[0].line,
            ),
        )
        return Meant(tuple(ranked[0]), tuple(one for group in ranked[1:] for one in group), path=path)


def near(word: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that are like a word which is none of them.

    >>> near("parse_fliter", ["parse_filter", "parse", "filter"])
    ('parse_filter',)
    """
    asked = bare(word).lower()
    lower = {name.lower(): name for name in names}
    if asked in lower:
        return (lower[asked],)
    size = len(asked)
    alike = [
        name for name in lower if abs(len(name) - size) <= 3 and (name[:2] == asked[:2] or name[-3:] == asked[-3:])
    ]
    found = get_close_matches(asked, alike, n=_NEAR, cutoff=0.7)
    if not found and size >= 4:
        found = sorted((name for name in lower if asked in name), key=lambda name: (len(name), name))[:_NEAR]
    return tuple(lower[name] for name in found)


def bare(word: str) -> str:
    """A name without those around it."""
    return _dotted(word).rsplit(".", 1)[-1]


def _readings(word: str) -> Iterable[tuple[str, str | None, int | None]]:
    """The files that a word may name, each with a name or a line in it."""
    path, separator, name = word.partition("::")
    if separator and name:
        yield path, _dotted(name), None
    place = _PLACE.fullmatch(word)
    if place is not None:
        yield place["path"], None, int(place["line"])
    if "/" in word or "." in word:
        yield word, None, None


def _dotted(name: str) -> str:
    """A name with dots, however its language separates its parts.

    >>> _dotted("Parser::parse"), _dotted("Parser#parse()"), _dotted("parse")
    ('Parser.parse', 'Parser.parse', 'parse')
    """
    return re.sub(r"(::|#|\.)+", ".", name.strip().removesuffix("()")).strip(".")


def _fits(name: str, asked: str) -> bool:
    return name == asked or name.endswith(f".{asked}")


def _stem(path: str) -> str:
    return path.rpartition(".")[0].removesuffix("/__init__")


def _at(inside: Sequence[Definition], line: int) -> tuple[Definition, ...]:
    """The innermost definition that holds a line."""
    holding = [one for one in inside if one.line <= line <= one.end_line]
    return (max(holding, key=lambda one: (one.line, -one.end_line)),) if holding else ()


def _near(name: str, inside: Sequence[Definition]) -> tuple[str, ...]:
    known = {one.name: one for one in inside if one.kind != "module"}
    by_last = {one.last: one.name for one in known.values()}
    found = get_close_matches(name.rsplit(".", 1)[-1], list(by_last), n=_NEAR, cutoff=0.6)
    return tuple(by_last[one] for one in found)


def _listed(told: Any) -> list[str]:
    """The value of a field of the ledger: some stores give a list as it was written."""
    if isinstance(told, str):
        told = json.loads(told)
    return [str(one) for one in told] if isinstance(told, (list, tuple)) else []
