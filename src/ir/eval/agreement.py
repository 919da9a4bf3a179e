"""Do two judges agree? Cohen's κ of the grades that they gave the same candidates.

A file of judgements has a line ``{"id": …, "path": …, "grade": 0 | 1 | 2}`` for each pair of a question and a file,
with ``"symbol"`` where a definition was judged. A pool has a line ``{"id": …, "candidates": […]}`` for each question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ir.errors import InvalidInput
from ir.eval.files import read_jsonl

__all__ = [
    "GRADES",
    "Difference",
    "Grades",
    "Pair",
    "both",
    "candidate_of",
    "differences",
    "different",
    "kappa",
    "kappa_of_label",
    "linear",
    "quadratic",
    "read_judgements",
    "read_pool",
]

GRADES = (0, 1, 2)

#: A question and a candidate: a path, or ``path::symbol``.
Pair = tuple[str, str]
Grades = dict[Pair, int]


class Difference(NamedTuple):
    """A pair to which the judges gave different grades."""

    id: str
    candidate: str
    first: int
    second: int


def linear(a: int, b: int) -> float:
    """How far apart two grades are, each step counting the same."""
    return abs(a - b) / (len(GRADES) - 1)


def quadratic(a: int, b: int) -> float:
    """How far apart two grades are, two steps counting four times as much as one."""
    return linear(a, b) ** 2


def different(a: int, b: int) -> float:
    """Whether two grades are not the same."""
    return float(a != b)


def kappa(pairs: Sequence[tuple[int, int]], distance: Callable[[int, int], float] = different) -> float:
    """Cohen's κ: how much less the judges differ than their habits would by chance. 1 is full agreement, 0 is luck.

    Where both give all pairs one and the same grade there is nothing to disagree about, and it is 1.

    >>> round(kappa([(2, 2), (2, 0), (0, 0), (0, 0)]), 3)
    0.5
    """
    if not pairs:
        raise InvalidInput("There is nothing that both judges saw.")
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum(distance(a, b) for a, b in pairs) / len(pairs)
    chance = sum(firsts[a] * seconds[b] * distance(a, b) for a in firsts for b in seconds) / len(pairs) ** 2
    return 1.0 if chance == 0 else 1 - seen / chance


def kappa_of_label(pairs: Sequence[tuple[int, int]], labels: Iterable[int]) -> float:
    """κ of the question whether a candidate has one of those grades or not."""
    wanted = set(labels)
    return kappa([(int(a in wanted), int(b in wanted)) for a, b in pairs])


def candidate_of(line: Mapping[str, Any]) -> str:
    """What was judged, as pools name it."""
    return f"{line['path']}::{line['symbol']}" if line.get("symbol") else str(line["path"])


def read_judgements(path: Path) -> Grades:
    """The grades of one judge; a pair that is judged twice, or a grade that is none, is an error."""
    grades: Grades = {}
    for place, line in read_jsonl(path):
        if not {"id", "path", "grade"} <= line.keys():
            raise InvalidInput(f"{place}: a judgement has an id, a path and a grade.")
        pair = (str(line["id"]), candidate_of(line))
        if line["grade"] not in GRADES or isinstance(line["grade"], bool):
            raise InvalidInput(f"{path}: {pair[0]} {pair[1]} has the grade {line['grade']!r}; it must be 0, 1 or 2.")
        if pair in grades:
            raise InvalidInput(f"{path}: {pair[0]} {pair[1]} is judged twice.")
        grades[pair] = int(line["grade"])
    return grades


def read_pool(path: Path) -> list[Pair]:
    """Every question with every candidate of it."""
    found = []
    for place, line in read_jsonl(path):
        if "id" not in line or not isinstance(line.get("candidates"), list):
            raise InvalidInput(f"{place}: a line of a pool has an id and a list of candidates.")
        found += [(str(line["id"]), str(candidate)) for candidate in line["candidates"]]
    return found


def both(first: Grades, second: Grades, pool: Sequence[Pair] | None = None) -> dict[Pair, tuple[int, int]]:
    """The grades of both judges, for the pool, else for what either of them mentions; one not mentioned is 0.

    A judgement of something that is not in the pool is an error: the other judge never saw it.
    """
    if pool is None:
        pool = sorted({*first, *second})
    strange = sorted({*first, *second} - set(pool))
    if strange:
        raise InvalidInput(f"{' '.join(strange[0])} is judged, and is not in the pool ({len(strange)} in all).")
    return {pair: (first.get(pair, 0), second.get(pair, 0)) for pair in pool}


def differences(grades: Mapping[Pair, tuple[int, int]]) -> list[Difference]:
    """Where the judges differ, by question, the widest first."""
    found = [Difference(*pair, a, b) for pair, (a, b) in grades.items() if a != b]
    return sorted(found, key=lambda one: (one.id, -abs(one.first - one.second), one.candidate))
