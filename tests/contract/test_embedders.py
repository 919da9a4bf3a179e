"""The toy embedder of the tests and the table in the wheel are embedders."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ir.embed.box import BoxEmbedder
from ir.testing import ToyEmbedder
from ir.testing.contracts import EmbedderContract


class TestToyEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> ToyEmbedder:
        return ToyEmbedder(256)


class TestBoxEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> BoxEmbedder:
        return BoxEmbedder()


def test_the_testing_helpers_do_not_need_pytest() -> None:
    code = "import sys, ir.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
