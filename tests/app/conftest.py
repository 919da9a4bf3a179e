"""A small corpus that operations are called on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ir.app.building import BuildRequest, build
from ir.app.session import Session

TEA = "# Tea\n\nSteep green tea at 80 degrees.\n\n## Black\n\nBlack tea takes five minutes.\nAnd boiling water.\n"
BREAD = "---\ntitle: Bread\n---\n# Bread\n\nKnead the dough, and have some tea.\nThen let it rest.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "tea.md").write_text(TEA, "utf-8")
    (folder / "sub" / "bread.md").write_text(BREAD, "utf-8")
    lines = (f"line {number} about gardens and plants" for number in range(1, 301))
    (folder / "long.md").write_text("\n".join(lines), "utf-8")
    return folder


@pytest.fixture
def corpus(notes: Path) -> str:
    """The name of the corpus of the notes."""
    return build(BuildRequest(str(notes), embedder="light")).corpus


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as made:
        yield made
