"""The questions, each with the lines that answer it; ``python -m bench.agent.questions`` checks those."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench import folders

HERE = Path(__file__).parent / "questions"
SETS = ("packages", "k8s_docs", "fastapi_docs")
LONGEST_QUOTE = 80


@dataclass(frozen=True)
class Answer:
    """Lines of a file, counted from one; ``quote`` is in them, so that another version of the file is noticed."""

    file: str
    lines: range
    quote: str


@dataclass(frozen=True)
class Question:
    """``answers`` are alternatives, each enough by itself; a question without any has none in the set.

    ``text`` is how somebody asks who knows the product, ``lay`` how one asks who knows none of its words.
    """

    id: str
    text: str
    lay: str
    answers: tuple[Answer, ...]


def load(name: str) -> list[Question]:
    rows = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [Question(row["id"], row["question"], row["lay"], tuple(map(_answer, row["answers"]))) for row in rows]


def in_lay_words(asked: Sequence[Question]) -> list[Question]:
    return [replace(question, text=question.lay) for question in asked]


def folder_of(name: str) -> Path:
    return folders.packages() if name == "packages" else folders.documentation(name)


@cache
def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")


def problems(name: str) -> list[str]:
    """What is wrong with the questions of a set, in words."""
    found = []
    for question in load(name):
        for one in question.answers:
            lines = lines_of(folder_of(name) / one.file)
            text = "\n".join(lines[one.lines.start - 1 : one.lines.stop - 1])
            if one.lines.stop - 1 > len(lines) or one.quote not in text:
                found.append(f"{question.id}: {one.file} does not say {one.quote!r} in lines {one.lines}")
            if not one.quote or len(one.quote) > LONGEST_QUOTE:
                found.append(f"{question.id}: a quote has 1 to {LONGEST_QUOTE} characters")
    return found


def _answer(row: dict[str, object]) -> Answer:
    first, last = row["lines"]  # type: ignore[misc]
    return Answer(str(row["file"]), range(first, last + 1), str(row["quote"]))


def main() -> int:
    wrong = [problem for name in SETS for problem in problems(name)]
    print("\n".join(wrong) or f"{sum(len(load(name)) for name in SETS)} questions, every answer is where it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
