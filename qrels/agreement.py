"""Do two judges agree? Cohen's κ of their grades, and where they differ.

    python -m qrels.agreement qrels/judge1.jsonl qrels/judge2.jsonl --pool qrels/pools.jsonl
    python -m qrels.agreement … --settled qrels/settled.jsonl --gold qrels/gold.qrels

A file of judgements has a line ``{"id": …, "path": …, "grade": 0 | 1 | 2}`` for each pair of a question and a file,
with ``"symbol"`` where a definition was judged. With a pool (``{"id": …, "candidates": […]}``) every candidate counts,
and one that a judge did not mention has the grade 0 from that judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
        raise ValueError("There is nothing that both judges saw.")
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum(distance(a, b) for a, b in pairs) / len(pairs)
    chance = sum(firsts[a] * seconds[b] * distance(a, b) for a in firsts for b in seconds) / len(pairs) ** 2
    return 1.0 if chance == 0 else 1 - seen / chance


def kappa_of_label(pairs: Sequence[tuple[int, int]], labels: Iterable[int]) -> float:
    """κ of the question whether a candidate has one of those grades or not."""
    wanted = set(labels)
    return kappa([(int(a in wanted), int(b in wanted)) for a, b in pairs])


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if not isinstance(found, dict):
            raise ValueError(f"{path}:{number}: a line must be an object.")
        yield found


def candidate_of(line: Mapping[str, Any]) -> str:
    """What was judged, as pools name it."""
    return f"{line['path']}::{line['symbol']}" if line.get("symbol") else str(line["path"])


def read_judgements(path: Path) -> Grades:
    """The grades of one judge; a pair that is judged twice, or a grade that is none, is an error."""
    grades: Grades = {}
    for line in read_lines(path):
        pair = (str(line["id"]), candidate_of(line))
        if line["grade"] not in GRADES or isinstance(line["grade"], bool):
            raise ValueError(f"{path}: {pair[0]} {pair[1]} has the grade {line['grade']!r}; it must be 0, 1 or 2.")
        if pair in grades:
            raise ValueError(f"{path}: {pair[0]} {pair[1]} is judged twice.")
        grades[pair] = line["grade"]
    return grades


def read_pool(path: Path) -> list[Pair]:
    """Every question with every candidate of it."""
    return [(str(line["id"]), str(candidate)) for line in read_lines(path) for candidate in line["candidates"]]


def both(first: Grades, second: Grades, pool: Sequence[Pair] | None = None) -> dict[Pair, tuple[int, int]]:
    """The grades of both judges, for the pool, else for what either of them mentions.

    A judgement of something that is not in the pool is an error: the other judge never saw it.
    """
    if pool is None:
        pool = sorted({*first, *second})
    strange = sorted({*first, *second} - set(pool))
    if strange:
        raise ValueError(f"{' '.join(strange[0])} is judged, and is not in the pool ({len(strange)} in all).")
    return {pair: (first.get(pair, 0), second.get(pair, 0)) for pair in pool}


def differences(grades: Mapping[Pair, tuple[int, int]]) -> list[Difference]:
    """Where the judges differ, by question, the widest first."""
    found = [Difference(*pair, a, b) for pair, (a, b) in grades.items() if a != b]
    return sorted(found, key=lambda one: (one.id, -abs(one.first - one.second), one.candidate))


def settled_grades(grades: Mapping[Pair, tuple[int, int]], settled: Grades) -> Grades:
    """The gold: what both say, and of the rest what was settled. What is left unsettled is an error."""
    unsettled = [one for one in differences(grades) if (one.id, one.candidate) not in settled]
    if unsettled:
        one = unsettled[0]
        raise ValueError(f"{len(unsettled)} differences are not settled; the first is {one.id} {one.candidate}.")
    return {pair: settled.get(pair, a) for pair, (a, _) in grades.items()}


def table(grades: Mapping[Pair, tuple[int, int]]) -> str:
    """κ for all questions and for each kind of them (the letter that their ids begin with)."""
    heads = ("pairs", "equal", "κ", "linear", "quadr.", "κ(0)", "κ(1)", "κ(2)")
    rows = [f"{'questions':<10}" + "".join(f"{head:>8}" for head in heads)]
    kinds = sorted({pair[0][:1] for pair in grades})
    for kind in ["", *(kinds if len(kinds) > 1 else [])]:
        pairs = [both for pair, both in grades.items() if pair[0].startswith(kind)]
        equal = sum(a == b for a, b in pairs) / len(pairs)
        values = [kappa(pairs), kappa(pairs, linear), kappa(pairs, quadratic)]
        values += [kappa_of_label(pairs, [grade]) for grade in GRADES]
        rows.append(f"{kind or 'all':<10}{len(pairs):>8}{equal:>8.3f}" + "".join(f"{value:>8.3f}" for value in values))
    return "\n".join(rows)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m qrels.agreement", description="Do two judges agree?")
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--pool", type=Path, help="what both judges were shown; what one left out has the grade 0")
    parser.add_argument("--settled", type=Path, help="the grades that differences were settled at")
    parser.add_argument("--gold", type=Path, help="where to write the settled grades, as TREC judgements")
    given = parser.parse_args(args)
    try:
        pool = read_pool(given.pool) if given.pool else None
        grades = both(read_judgements(given.first), read_judgements(given.second), pool)
        print(table(grades))
        print()
        for one in differences(grades):
            print(f"{one.id}  {one.first} / {one.second}  {one.candidate}")
        if given.gold:
            gold = settled_grades(grades, read_judgements(given.settled) if given.settled else {})
            lines = [f"{pair[0]} 0 {pair[1]} {grade}" for pair, grade in sorted(gold.items()) if grade]
            given.gold.write_text("\n".join(lines) + "\n", "utf-8")
    except (OSError, ValueError, KeyError) as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
