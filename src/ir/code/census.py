"""What is in a corpus of code: its files, definitions and links, counted from what the store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.protocols import Store

__all__ = ["Census", "census"]

#: The types of nodes that are files, or parts of documents, and no definitions.
_FILES = frozenset({"module", "file", "doc"})


@dataclass
class Census:
    """``files`` by language; ``definitions`` by type; ``links`` by type and by how they are known.

    ``calls`` is how many calls lead into the corpus, out of it, and nobody knows where. ``cut`` has the files of code
    that were not parsed by why, ``partial`` the first line of each file that could not be read, ``problems`` what is
    wrong with records that somebody wrote.
    """

    files: Counter[str] = field(default_factory=Counter)
    definitions: Counter[str] = field(default_factory=Counter)
    sections: int = 0
    records: Counter[str] = field(default_factory=Counter)
    links: dict[str, Counter[str]] = field(default_factory=dict)
    calls: tuple[int, int, int] = (0, 0, 0)
    cut: dict[str, list[str]] = field(default_factory=dict)
    partial: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def shares(self) -> dict[str, float]:
        """The shares of calls that are resolved in the project, lead out of it, and are not resolved."""
        total = sum(self.calls) or 1
        names = ("project", "outside", "unresolved")
        return {name: round(count / total, 4) for name, count in zip(names, self.calls, strict=True)}


def census(store: Store) -> Census:
    """Count a corpus; everything is read once."""
    found = Census()
    for nodes in store.iter_nodes():
        for node in nodes:
            _take_node(found, node.id, node.type, node.properties)
    for batch in store.iter_edges():
        for _, edges in batch:
            for edge in edges:
                how = str(edge.properties.get("resolution", "exact"))
                found.links.setdefault(edge.type, Counter())[how] += 1
    _take_names(found, store)
    found.problems.sort()
    return found


def _take_node(found: Census, key: str, kind: str, about: Mapping[str, Any]) -> None:
    family, _, place = key.partition(" ")
    path, language = str(about.get("path", "")), str(about.get("language", ""))
    if family == "record":
        if kind == "file" and place == f"{path}/":
            found.files["records"] += 1
            found.problems += [(path, str(problem)) for problem in about.get("problems", ())]
        else:
            found.records[kind] += 1
    elif kind not in _FILES:
        found.definitions[kind] += 1
    elif place != f"{path}/":
        found.sections += 1
    else:
        found.files["other" if kind == "file" else language] += 1
        if about.get("cut"):
            found.cut.setdefault(str(about["cut"]), []).append(path)
        if about.get("unread"):
            found.partial[path] = int(about["unread"])


def _take_names(found: Census, store: Store) -> None:
    calls = [0, 0, 0]
    for batch in store.iter_entries("symbols"):
        for key, kept in batch:
            told = kept.get("told") if key.startswith("item:") else None
            if not told:
                continue
            for place, count in enumerate(told.get("calls", ())):
                calls[place] += count
            for line, said in told.get("unresolved", ()):
                found.problems.append((kept["item"], f"line {line}: {said!r} names nothing here, or several things"))
    found.calls = (calls[0], calls[1], calls[2])
