"""What looks wrong in a vocabulary: nothing here is an error, but each may surprise somebody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ir.ground.channels import Lookup

if TYPE_CHECKING:
    from ir.ground.vocabulary import Vocabulary

__all__ = ["KINDS", "Finding", "lint"]

KINDS = ("alias-cycle", "alias-is-term", "shared-alias", "near-duplicate", "unreachable", "policy-unknown")
#: Names at least this alike in their spelling are near duplicates.
_ALIKE = 0.85
#: So many terms are compared with all others; more would take minutes.
_COMPARED = 5000


@dataclass(frozen=True)
class Finding:
    """A kind of oddity, the terms that it is about, and what it is."""

    kind: str
    terms: tuple[str, ...]
    message: str


def lint(vocabulary: Vocabulary) -> list[Finding]:
    """Everything that looks wrong, in the order of :data:`KINDS`."""
    found = [*_aliases(vocabulary), *_near(vocabulary), *_unreachable(vocabulary), *_policy(vocabulary)]
    return sorted(found, key=lambda finding: (KINDS.index(finding.kind), finding.terms))


def _aliases(vocabulary: Vocabulary) -> Iterator[Finding]:
    terms = vocabulary.terms
    leads: dict[str, list[str]] = {}
    owners: dict[str, list[str]] = {}
    starts, aliases = terms.alias_starts.tolist(), list(terms.aliases)
    for at, name in enumerate(terms.names):
        for alias in aliases[starts[at] : starts[at + 1]]:
            owners.setdefault(alias, []).append(name)
            if terms.find(alias) is not None:
                leads.setdefault(alias, []).append(name)
                yield Finding("alias-is-term", (alias, name), f"{alias!r} is a term, and an alias of {name!r}.")
    for alias, several in owners.items():
        if len(several) > 1:
            told = ", ".join(map(repr, several[:5]))
            yield Finding("shared-alias", tuple(several), f"{alias!r} is an alias of {len(several)} terms: {told}.")
    for cycle in _cycles(leads):
        yield Finding("alias-cycle", cycle, f"Aliases go round in a circle: {' → '.join((*cycle, cycle[0]))}.")


def _cycles(leads: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """The circles in what leads to what; each once, beginning with its smallest name."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    done: set[str] = set()
    for start in sorted(leads):
        path: list[str] = []
        on_path: set[str] = set()
        todo: list[tuple[str, Iterator[str]]] = []
        if start not in done:
            todo.append((start, iter(leads.get(start, ()))))
            path.append(start)
            on_path.add(start)
        while todo:
            name, following = todo[-1]
            after = next(following, None)
            if after is None:
                todo.pop()
                path.pop()
                on_path.discard(name)
                done.add(name)
            elif after in on_path:
                ring = path[path.index(after) :]
                first = ring.index(min(ring))
                found.setdefault(frozenset(ring), tuple(ring[first:] + ring[:first]))
            elif after not in done:
                todo.append((after, iter(leads.get(after, ()))))
                path.append(after)
                on_path.add(after)
    return sorted(found.values())


def _near(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Terms whose names are spelt alike."""
    surfaces, names = vocabulary.index.surfaces, vocabulary.terms.names
    spelling = next(channel for channel in vocabulary.channels if channel.name == "spelling")
    seen: set[tuple[int, int]] = set()
    for term in range(0, len(names), max(1, -(-len(names) // _COMPARED))):
        folded = surfaces.texts[int(surfaces.starts[term])]
        answer = spelling.ask(Lookup(folded, folded), None)
        near = answer.best(5)
        near = near[near != term]
        for other, score in zip(near.tolist(), answer.scores(near).tolist(), strict=True):
            pair = (min(term, other), max(term, other))
            if score >= _ALIKE and pair not in seen:
                seen.add(pair)
                both = (names[pair[0]], names[pair[1]])
                yield Finding("near-duplicate", both, f"{both[0]!r} and {both[1]!r} are spelt alike ({score:.2f}).")


def _unreachable(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Terms whose own name, folded, is that of another that comes first: nobody can ask for them by name."""
    surfaces = vocabulary.index.surfaces
    counts = vocabulary.terms.counts
    for term in np.flatnonzero(np.diff(surfaces.starts) > 0).tolist():
        folded = surfaces.texts[int(surfaces.starts[term])]
        others = [int(surfaces.owners[row]) for row in surfaces.rows_of(folded)]
        names = [other for other in others if other != term and surfaces.texts[int(surfaces.starts[other])] == folded]
        better = [other for other in names if (int(counts[other]), -other) > (int(counts[term]), -term)]
        if better:
            both = (vocabulary.terms.names[term], vocabulary.terms.names[better[0]])
            yield Finding(
                "unreachable", both, f"{both[0]!r} is folded to {folded!r}, as {both[1]!r} is, which comes first."
            )


def _policy(vocabulary: Vocabulary) -> Iterator[Finding]:
    for name in sorted(vocabulary.policy):
        if name not in vocabulary:
            yield Finding("policy-unknown", (name,), f"The policy list names {name!r}, which is no term.")
