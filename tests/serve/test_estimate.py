"""Lengths in tokens are estimates; real tokenizers say how good they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.pulled import pulled

from ir.app.documents import tokens_of

ROOT = Path(__file__).parents[2]
#: By so much, at most, prose and code may have more tokens than estimated.
SHARE = 0.15


@pytest.mark.slow
@pytest.mark.parametrize("model", ["minilm", "static"])
@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/discovery.md", "src/ir/maintain.py", "README.md"])
def test_prose_and_code_are_hardly_underestimated(model: str, page: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(pulled(model) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    text = (ROOT / page).read_text("utf-8")
    assert len(tokenizer.encode(text, add_special_tokens=False).ids) <= tokens_of(text) * (1 + SHARE)
