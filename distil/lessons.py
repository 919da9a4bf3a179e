"""What is learnt from: real texts, words and synthetic texts, and a part that is kept back to judge by."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from distil import synthetic
from distil.texts import SEED, read
from distil.vocabulary import frequencies, teacher_pieces
from ir.embed.pieces import PREFIX, words_of

#: How many texts of each kind are taught; the files are shuffled.
TAUGHT = {"prose": 40_000, "code": 12_000, "definition": 24_000, "example": 12_000, "term": 30_000}
LONGEST = {"prose": 36, "code": 28, "definition": 24, "example": 30, "term": 12}
SYNTHETIC = 48_000
HELD_OUT = 4_000
#: The rows of the table: 256 bytes each.
ROWS = 37_000


@dataclass(frozen=True)
class Lesson:
    """``real`` and ``made`` texts and single ``words`` teach, ``held`` judges, ``pieces`` are the rows to fill."""

    real: list[str]
    made: list[str]
    words: list[str]
    held: list[str]
    pieces: list[str]
    counts: Counter[str]


def prepare(folder: Path) -> Lesson:
    """The lesson that the texts in ``folder`` give: always the same for the same texts."""
    by_kind = {kind: _cut(kind, read(folder, kind)[:most]) for kind, most in TAUGHT.items()}
    held = by_kind["prose"][:HELD_OUT]
    by_kind["prose"] = by_kind["prose"][HELD_OUT:]
    real = [text for texts in by_kind.values() for text in texts]
    random.Random(f"{SEED} real").shuffle(real)
    counts = frequencies(real)
    pieces = _rows(counts)
    whole = {piece: counts[piece] + 1 for piece in pieces if not piece.startswith(PREFIX) and len(piece) > 2}
    dice = random.Random(f"{SEED} synthetic")
    third = SYNTHETIC // 3
    made = [
        *synthetic.bags(whole, third, dice),
        *synthetic.swapped(by_kind["example"] + by_kind["prose"], whole, third, dice),
        *synthetic.questions([*by_kind["term"], *whole], third, dice),
    ]
    words = sorted({piece.removeprefix(PREFIX) for piece in pieces})
    return Lesson(real, made, words, held, pieces, counts)


def _cut(kind: str, texts: list[str]) -> list[str]:
    """The first words of each text. The teacher reads code as we do, its identifiers taken apart."""
    words = (words_of(text) if kind == "code" else text.split() for text in texts)
    return [" ".join(each[: LONGEST[kind]]) for each in words if each]


def _rows(counts: Counter[str]) -> list[str]:
    """The teacher's pieces, then as many frequent words of at least three letters as there is room for."""
    pieces = teacher_pieces()
    held = set(pieces)
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = [word for word, _ in frequent if word not in held and 2 < len(word) < 20 and word.isalpha()]
    return [*pieces, *more[: ROWS - len(pieces)]]
