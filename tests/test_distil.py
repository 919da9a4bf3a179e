"""The program that makes the table in the wheel: what it reads, and that it learns."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from distil.fetch import FORBIDDEN, packages
from distil.readers import READERS
from tests.extras import reason_for

from ir.embed.box import folder


def test_the_record_names_the_packages_of_the_table() -> None:
    record = json.loads((folder() / "record.json").read_text("utf-8"))
    listed = [(item.registry, item.name, item.version, item.licence) for item in packages()]
    assert listed == [tuple(source.values()) for source in record["sources"]]
    assert all(len(item.sha256) == 64 and item.licence and item.reader in READERS for item in packages())
    assert not {item.name for item in packages()} & FORBIDDEN


def test_a_source_distribution_gives_prose_and_code(tmp_path: Path) -> None:
    path = tmp_path / "kitchen-1.0.tar.gz"
    files = {
        "kitchen-1.0/docs/tea.rst": "Tea\n===\n\nSteep :term:`green tea` in water that does not boil.\n",
        "kitchen-1.0/pot.py": 'def boilWater(pot):\n    """Heat a pot until it boils."""\n    # wait for the bubbles\n',
        "kitchen-1.0/tests/notes.md": "Nothing of a test is read by anybody here.\n",
        "kitchen-1.0/LICENSE.txt": "Permission is granted to anybody who asks for it.\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    found = list(READERS["project"](path))
    assert ("prose", "Steep green tea in water that does not boil.") in found
    assert ("code", "boilWater Heat a pot until it boils.") in found
    assert ("code", "wait for the bubbles") in found
    assert not [text for _, text in found if "test" in text or "Permission" in text]


def test_the_trainer_learns_which_words_belong_together() -> None:
    pytest.importorskip("scipy", reason=reason_for("scipy"))
    from distil.train import Settings, Trainer, counted, unit

    pieces = ["tea", "coffee", "drink", "car", "lorry", "drive"]
    texts = ["tea drink", "coffee drink", "car drive", "lorry drive", "tea", "coffee", "car", "lorry"]
    kinds = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 2, np.float32)
    start = np.random.default_rng(0).standard_normal((len(pieces), 2)).astype(np.float32)
    counts = counted(texts, pieces)
    trainer = Trainer(start, Settings(dim=2, steps=200, batch=64, rate=0.05))
    trainer.learn([(1.0, counts, kinds)])
    before, after = (np.einsum("ij,ij->i", unit(counts @ table), kinds).min() for table in (start, trainer.table))
    assert before < 0.2
    assert after > 0.9
