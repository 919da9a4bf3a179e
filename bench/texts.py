"""Where the texts come from: real collections if they are there, generated ones if not."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parent.parent
SETS = ("scifact", "nl2bash_tldr", "cisi", "cranfield", "hotpotqa_small", "bfcl_live")
CORPORA = ("k8s_docs", "fastapi_docs", "skills", "srd5e", "debtags")

Document = tuple[str, str]
"""The name of the collection, and one text of it."""


def collections_folder() -> Path | None:
    """The folder of the optional collections, or ``None``."""
    folder = Path(os.environ.get("IR_DATA_SETS") or ROOT.parent / "shared" / "data")
    return folder if (folder / SETS[0] / "corpus.jsonl").exists() else None


def origin() -> str:
    """One line that says which texts are used."""
    if collections_folder():
        return "real texts (" + ", ".join((*SETS, *CORPORA)) + ")"
    return "GENERATED texts: the collections were not found (set IR_DATA_SETS to their folder)"


def documents() -> Iterator[Document]:
    """Every text, always in the same order."""
    folder = collections_folder()
    if folder is None:
        yield from _generated()
        return
    for name in (*SETS, *(f"corpora/{corpus}" for corpus in CORPORA)):
        path = folder / name / "corpus.jsonl"
        if not path.exists():
            print(f"  note: {name} is not there", file=sys.stderr)
            continue
        rows = map(_text_of, path.open(encoding="utf-8"))
        # One-line entries make a text only together.
        together = 6 if name.endswith("debtags") else 1
        while taken := list(islice(rows, together)):
            yield Path(name).name, "\n".join(taken)


def _text_of(line: str) -> str:
    row = json.loads(line)
    return "\n".join(part for part in (row.get("title"), row.get("text"), row.get("body")) if part)


def queries() -> list[str]:
    """The real queries of the collections, taken from each in turn; none if the texts are generated."""
    folder = collections_folder()
    if folder is None:
        return []
    by_set = []
    for name in SETS:
        path = folder / name / "queries.jsonl"
        texts = [json.loads(line)["text"] for line in path.open(encoding="utf-8")] if path.exists() else []
        texts = [" ".join(text.split()) for text in texts]
        by_set.append([text for text in texts if 3 <= len(text.split()) <= 25])
    longest = max(map(len, by_set))
    return [texts[at] for at in range(longest) for texts in by_set if at < len(texts)]


def sentences(text: str) -> list[str]:
    """The text cut at line and sentence ends; nothing longer than 60 words."""
    out = []
    for piece in re.split(r"\n+|(?<=[.!?;:])\s+", text):
        words = piece.split()
        out += [" ".join(words[at : at + 60]) for at in range(0, len(words), 60)]
    return out


def passages(text: str, *, least: int = 53, most: int = 70) -> Iterator[list[str]]:
    """Runs of sentences of about ``least`` to ``most`` words; a rest of fewer than 20 words is dropped."""
    held: list[str] = []
    size = 0
    for sentence in sentences(text):
        count = len(sentence.split())
        if held and size + count > most:
            yield held
            held, size = [], 0
        held.append(sentence)
        size += count
        if size >= least:
            yield held
            held, size = [], 0
    if size >= 20:
        yield held


def _generated(count: int = 60_000) -> Iterator[Document]:
    """Sentences of made-up words: a Zipf vocabulary, with a topic that gives each document words of its own."""
    rng = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
    vocabulary = ["".join(rng.choices(syllables, k=rng.choice((2, 2, 3, 4)))) for _ in range(30_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    cumulative = [0.0]
    for weight in weights:
        cumulative.append(cumulative[-1] + weight)
    cumulative = cumulative[1:]
    topics = [rng.sample(vocabulary[500:], 60) for _ in range(300)]
    for number in range(count):
        topic = topics[number % len(topics)]
        lines = []
        for _ in range(5):
            words = rng.choices(vocabulary, cum_weights=cumulative, k=10) + rng.choices(topic, k=4)
            rng.shuffle(words)
            lines.append(" ".join(words).capitalize() + ".")
        yield f"generated{number % 5}", " ".join(lines)
