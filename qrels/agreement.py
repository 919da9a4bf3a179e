"""Do two judges agree? Cohen's κ of their grades, and where they differ. The measure itself is `ir.eval.agreement`.

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ir.eval.agreement import (
    GRADES,
    Grades,
    Pair,
    both,
    candidate_of,
    differences,
    different,
    kappa,
    kappa_of_label,
    linear,
    quadratic,
    read_judgements,
    read_pool,
)

__all__ = [
    "both",
    "candidate_of",
    "differences",
    "different",
    "kappa",
    "kappa_of_label",
    "linear",
    "main",
    "quadratic",
    "read_judgements",
    "read_lines",
    "read_pool",
    "settled_grades",
    "table",
]


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
