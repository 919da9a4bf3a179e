"""Call edges against what a person read in the source of small packages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ir.code.strategy import Code

pytest.importorskip("tree_sitter")
pytestmark = pytest.mark.slow
TRUTH = Path(__file__).parent / "truth"


def fetched(package: str, registry: str, into: Path) -> None:
    """Unpack a package, or skip the test where it cannot be had."""
    if registry == "pypi":
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-binary=:none:",
            "-q",
            "-d",
            str(into),
            package,
        ]
    else:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"npm is not installed, so {package} cannot be downloaded")
        command = [npm, "pack", package, "--silent", "--pack-destination", str(into)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{package} cannot be downloaded: {done.stderr.strip()[-200:]}")
    for path in list(into.iterdir()):
        if path.suffix == ".whl":
            zipfile.ZipFile(path).extractall(into)
        elif path.suffix in (".tgz", ".gz"):
            with tarfile.open(path) as held:
                held.extractall(into, filter="data")


def called(root: Path) -> set[tuple[str, str]]:
    strategy, names, symbols = Code(), defaultdict(list), {}
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".js", ".ts") and path.is_file():
            plan = strategy.decompose(path.relative_to(root).as_posix(), path.read_text("utf-8"))
            assert plan.symbols is not None
            symbols[path] = plan.symbols
            for name, nodes in plan.symbols.defines.items():
                names[name] += nodes
    edges = [
        edge
        for path, held in symbols.items()
        for edge in strategy.link(str(path), held, lambda name: names.get(name, ()))
    ]
    return {(dotted(edge.source), dotted(edge.target)) for edge in edges if edge.type == "calls"}


def dotted(key: str) -> str:
    path, inside = re.split(r"\.(?:py|ts|js)/", key.partition(" ")[2], maxsplit=1)
    return f"{path}.{re.sub(r'[(][+]?[0-9]*[)]|[+][0-9]+', '', inside).replace('#', '.').strip('.')}".strip(".")


#: What must be reached: precision and recall.
BARS = {"itsdangerous": (0.97, 0.9), "redux": (0.95, 0.9)}


@pytest.mark.parametrize("which", sorted(BARS))
def test_calls_are_those_that_a_person_reads(which: str, tmp_path: Path) -> None:
    told: dict[str, Any] = json.loads((TRUTH / f"{which}.json").read_text("utf-8"))
    fetched(told["package"], told["registry"], tmp_path)
    truth = {(function, callee) for function, callees in told["calls"].items() for callee in callees}
    found = {edge for edge in called(tmp_path / told["root"]) if edge[0] in told["calls"]}
    right = found & truth
    precision, recall = len(right) / len(found), len(right) / len(truth)
    said = f"{which}: P {precision:.3f} R {recall:.3f}; wrong {sorted(found - truth)}; missing {sorted(truth - found)}"
    print(said)
    least_precision, least_recall = BARS[which]
    assert precision >= least_precision, said
    assert recall >= least_recall, said
