"""Every example runs and prints something."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.extras import EXTRAS, needs
from tests.models.pulled import pulled

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    needs(*{module.partition(".")[0] for module in modules} & EXTRAS.keys())
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


def demo(home: Path, **environment: str) -> str:
    binaries = Path(sys.executable).parent
    own = {"PATH": f"{binaries}:{os.environ['PATH']}", "IR_DEMO_HOME": str(home)}
    done = subprocess.run(
        ["sh", "examples/demo.sh"],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, **own, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert "lexical  rank" in done.stdout
    assert "debug-flaky-test" in done.stdout
    assert "Answer: see storage.md, lines" in done.stdout
    return done.stdout


def test_the_demo_runs_with_the_model_and_explains(tmp_path: Path) -> None:
    (tmp_path / "cache" / "models").mkdir(parents=True)
    (tmp_path / "cache" / "models" / "minilm").symlink_to(pulled("minilm"), target_is_directory=True)
    said = demo(tmp_path)
    assert "ready: minilm" in said
    assert "records by minilm-int8 in" in said


def test_the_demo_goes_without_a_model_that_cannot_be_had_and_says_so(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    said = demo(tmp_path, IR_MODELS_HUB_URL=nowhere, PIP_INDEX_URL=nowhere, PIP_FIND_LINKS="", PIP_RETRIES="0")
    assert said.count("so this demo uses `box`") == 1
    assert "records by box in" in said
