"""What a vocabulary holds: terms, and what people call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput
from ir.ground.keys import Keys
from ir.ground.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Term", "Terms", "as_term"]

_TEXTS = ("names", "displays", "definitions", "categories", "aliases")


@dataclass(frozen=True)
class Term:
    """A canonical term. ``count`` says how often it is used, ``aliases`` what else it is called."""

    name: str
    display: str = ""
    definition: str = ""
    category: str = ""
    count: int = 0
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInput(f"The name of a term must be text that is not empty, not {self.name!r}.")
        if self.name != self.name.encode("utf-8", "replace").decode("utf-8"):
            raise InvalidInput(f"The name {self.name!r} holds what is no character.")
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 0:
            raise InvalidInput(f"The count of {self.name!r} must be a whole number of at least 0, not {self.count!r}.")
        if isinstance(self.aliases, str) or not all(isinstance(alias, str) for alias in self.aliases):
            raise InvalidInput(f"The aliases of {self.name!r} must be a list of texts, not {self.aliases!r}.")
        object.__setattr__(self, "aliases", tuple(self.aliases))


def as_term(given: Term | str | Mapping[str, Any]) -> Term:
    """A term from its name, or from a mapping with the fields of one."""
    if isinstance(given, Term):
        return given
    if isinstance(given, str):
        return Term(given)
    if not isinstance(given, Mapping):
        raise InvalidInput(f"A term is a text or a mapping with 'name', not {given!r}.")
    unknown = sorted(set(given) - set(Term.__dataclass_fields__))
    if unknown or "name" not in given:
        wrong = f"unknown field {unknown[0]!r}" if unknown else "no field 'name'"
        raise InvalidInput(f"A term has {wrong}; its fields are {', '.join(Term.__dataclass_fields__)}.")
    return Term(**given)


class Terms(Sequence[Term]):
    """Terms by number and by name, in columns that can be mapped."""

    def __init__(
        self, columns: Mapping[str, Texts], counts: NDArray[np.int64], starts: NDArray[np.int64], by_name: Keys
    ) -> None:
        self.names = columns["names"]
        self.displays = columns["displays"]
        self.definitions = columns["definitions"]
        self.categories = columns["categories"]
        self.aliases = columns["aliases"]
        self.counts = counts
        #: The aliases of term ``i`` are those from ``alias_starts[i]`` to ``alias_starts[i + 1]``.
        self.alias_starts = starts
        self._by_name = by_name

    @classmethod
    def of(cls, terms: Iterable[Term | str | Mapping[str, Any]]) -> Terms:
        """Terms of distinct names, as given; a name that comes twice is an error."""
        held = [as_term(term) for term in terms]
        if len({term.name for term in held}) < len(held):
            seen: set[str] = set()
            twice = next(term.name for term in held if term.name in seen or seen.add(term.name))  # type: ignore[func-returns-value]
            raise InvalidInput(
                f"The term {twice!r} is there twice.", remedy="Give each term once, with all its aliases."
            )
        aliases = [_distinct(term) for term in held]
        starts = np.zeros(len(held) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, aliases), np.int64, len(held)), out=starts[1:])
        columns = {
            "names": Texts.of([term.name for term in held]),
            "displays": Texts.of([term.display for term in held]),
            "definitions": Texts.of([term.definition for term in held]),
            "categories": Texts.of([term.category for term in held]),
            "aliases": Texts.of([alias for some in aliases for alias in some]),
        }
        counts = np.fromiter((term.count for term in held), np.int64, len(held))
        return cls(columns, counts, starts, Keys.of_words([term.name for term in held]))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        return Term(
            self.names[at],
            self.displays[at],
            self.definitions[at],
            self.categories[at],
            int(self.counts[at]),
            tuple(self.aliases_of(at)),
        )

    def __len__(self) -> int:
        return len(self.names)

    def aliases_of(self, at: int) -> list[str]:
        return self.aliases[int(self.alias_starts[at]) : int(self.alias_starts[at + 1])]

    def find(self, name: str) -> int | None:
        """The number of the term with exactly this name."""
        return next((int(row) for row in self._by_name[name] if self.names[int(row)] == name), None)

    def save(self, folder: Path) -> None:
        for name in _TEXTS:
            getattr(self, name).save(folder, name)
        np.save(folder / "counts.npy", self.counts)
        np.save(folder / "alias_of.npy", self.alias_starts)
        self._by_name.save(folder, "by_name")

    @classmethod
    def load(cls, folder: Path) -> Terms:
        columns = {name: Texts.load(folder, name) for name in _TEXTS}
        counts, starts = (np.load(folder / file, mmap_mode="r") for file in ("counts.npy", "alias_of.npy"))
        return cls(columns, counts, starts, Keys.load(folder, "by_name"))


def _distinct(term: Term) -> list[str]:
    """The aliases that say something: not blank, not the name, each once."""
    return [alias for alias in dict.fromkeys(map(str.strip, term.aliases)) if alias and alias != term.name]
