"""Every example runs and prints something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


def test_every_skill_has_a_name_a_description_and_a_body() -> None:
    import yaml

    skills = sorted(EXAMPLES.glob("skills/*/SKILL.md"))
    assert len(skills) >= 8
    for path in skills:
        _, head, body = path.read_text("utf-8").split("---\n", 2)
        front = yaml.safe_load(head)
        assert front["name"] == path.parent.name
        assert len(front["description"]) > 40
        assert body.strip()


def test_the_demo_runs_and_explains(tmp_path: Path) -> None:
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "examples/demo.sh"],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "IR_DEMO_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert "lexical  rank" in done.stdout
    assert "debug-flaky-test" in done.stdout
