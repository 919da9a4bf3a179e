"""Which rows the table has: the teacher's word pieces in Latin letters, and the words that our texts use most."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ir.embed.pieces import PREFIX, words_of


def teacher_pieces() -> list[str]:
    """The teacher's pieces of plain letters and digits, in the order of its vocabulary; ``##`` marks continuations."""
    from ir.embed import model_dir

    read = json.loads((Path(model_dir("minilm")) / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = sorted(read["model"]["vocab"], key=read["model"]["vocab"].__getitem__)
    return [piece for piece in pieces if _is_plain(piece.removeprefix(PREFIX))]


def _is_plain(piece: str) -> bool:
    return piece.isascii() and piece.isalnum()


def frequencies(texts: Iterable[str]) -> Counter[str]:
    """In how many texts each word is."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(set(words_of(text)))
    return found
