"""From lessons to a trained table, and from a trained table to the files in the wheel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ir
from distil.fetch import packages
from distil.judge import Judge, rarity
from distil.lessons import Lesson, prepare
from distil.teach import TEACHER, Lessons
from distil.texts import SEED
from distil.train import Settings, Trainer, counted, principal, unit
from ir.embed.pieces import PREFIX

Floats = NDArray[np.float32]

ASSET = Path(ir.__file__).parent / "models" / "known" / "box"
#: A row times this power of its rarity: frequent words say less than the teacher's average admits.
POWER = 0.5


def train(folder: Path, settings: Settings) -> Floats:
    """Train on the lessons in ``folder``; the table and what the judge says of it are kept there."""
    lesson = prepare(folder / "texts")
    table, counts, judge = fitted(lesson, Lessons(folder / "vectors"), settings)
    judged = {f"power {power}": judge(table * rarity(counts)[:, None] ** power) for power in (0, 0.25, 0.5, 0.75)}
    print(json.dumps(judged, indent=1))
    table = table * rarity(counts)[:, None] ** POWER
    np.save(folder / "table.npy", table)
    record = {"judged": judged[f"power {POWER}"], "texts": {"real": len(lesson.real), "synthetic": len(lesson.made)}}
    record["texts"] |= {"words": len(lesson.words), "held out": len(lesson.held)}
    (folder / "table.json").write_text(json.dumps({**record, "pieces": lesson.pieces, "settings": vars(settings)}))
    return table


def fitted(lesson: Lesson, lessons: Lessons, settings: Settings) -> tuple[Floats, Any, Judge]:
    """A table for the lesson, how often its pieces are in the real texts, and a judge of it."""
    real = lessons.of(lesson.real).astype(np.float32)
    axes = principal(real, settings.dim)
    targets = {
        "real": unit(real @ axes),
        "made": unit(lessons.of(lesson.made).astype(np.float32) @ axes),
        "words": unit(lessons.of(lesson.words).astype(np.float32) @ axes),
    }
    del real
    counts = {kind: counted(getattr(lesson, kind), lesson.pieces) for kind in targets}
    shares = {"real": 1 - settings.made - settings.words, "made": settings.made, "words": settings.words}
    places = {word: place for place, word in enumerate(lesson.words)}
    start = targets["words"][[places[piece.removeprefix(PREFIX)] for piece in lesson.pieces]]
    trainer = Trainer(start, settings)
    trainer.learn([(shares[kind], counts[kind], targets[kind]) for kind in targets])
    judge = Judge(lesson.held, unit(lessons.of(lesson.held).astype(np.float32)), lesson.pieces)
    return trainer.table, counts["real"], judge


def write(folder: Path) -> None:
    """The files in the wheel: whole numbers by row, their factors, the pieces, and the record."""
    table = np.load(folder / "table.npy")
    made = json.loads((folder / "table.json").read_text())
    scales = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    scales = scales.astype(np.float16)
    rows = np.clip(np.rint(table / scales.astype(np.float32)[:, None]), -127, 127).astype(np.int8)
    ASSET.mkdir(parents=True, exist_ok=True)
    np.save(ASSET / "vectors.npy", rows)
    np.save(ASSET / "scales.npy", scales)
    (ASSET / "pieces.txt").write_text("\n".join(made.pop("pieces")), encoding="ascii", newline="\n")
    files = {name: hashlib.sha256((ASSET / name).read_bytes()).hexdigest() for name in FILES}
    record = {
        "name": "box",
        "sha256": hashlib.sha256("".join(files[name] for name in FILES).encode()).hexdigest(),
        "files": files,
        "rows": len(rows),
        "dimensions": rows.shape[1],
        "teacher": f"{TEACHER} (all-MiniLM-L6-v2, Apache-2.0)",
        "seed": SEED,
        "idf power": POWER,
        **made,
        "sources": [
            {"registry": item.registry, "package": item.name, "version": item.version, "licence": item.licence}
            for item in packages()
        ],
    }
    (ASSET / "record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in ASSET.iterdir())
    print(f"{ASSET}: {size:,} bytes")


FILES = ("vectors.npy", "scales.npy", "pieces.txt")
