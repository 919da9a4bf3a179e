"""What a file says about itself cannot make a reader open another one."""

from __future__ import annotations

from pathlib import Path

import ir
from ir.base import POINTER_KEYS


def test_front_matter_cannot_point_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not for searching")
    root = tmp_path / "notes"
    root.mkdir()
    lines = "".join(f"{key}: {secret}\n" for key in POINTER_KEYS)
    (root / "note.md").write_text(f"---\n{lines}owner: me\n---\nA note about lighthouses.\n")
    corpus = ir.build(ir.CorpusSource.from_files(root), embedder="light")
    (hit,) = corpus.search("lighthouses")
    assert hit.pointer == str(root / "note.md")
    assert "skill_path" not in hit.metadata
    assert hit.metadata["owner"] == "me"
