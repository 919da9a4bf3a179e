"""What cannot be read stays as it was, and is reported."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# The superuser may read everything, so it becomes nobody after the first build.
PROGRAM = """
import json, os, sys
from pathlib import Path
from ir import CorpusSource, CorpusStore, build
from ir.index import plan_build, refresh_if_cheap

root, kind = Path(sys.argv[1]), sys.argv[2]
make = {
    "files": lambda: CorpusSource.from_files(root, name="x", embedder="light"),
    "sessions": lambda: CorpusSource.from_sessions(root, name="x", embedder="light"),
    "skills": lambda: CorpusSource.from_skills(roots=[root], name="x", embedder="light"),
    "packages": lambda: CorpusSource.from_packages(manifest=root / "m.pth", name="x", embedder="light"),
}[kind]
store = CorpusStore.memory()
build(make(), store=store)
before = sorted(entry["artifact_id"] for _, entry in store.ledger_items())
for name in sys.argv[3:]:
    (root / name).chmod(0)
os.geteuid() == 0 and os.seteuid(65534)
outcome = refresh_if_cheap(make(), store=store) if kind == "files" else None
planned = plan_build(make(), store=store).removed
report = build(make(), store=store).report
after = sorted(entry["artifact_id"] for _, entry in store.ledger_items())
os.getuid() == 0 and os.seteuid(0)
for name in sys.argv[3:]:
    (root / name).chmod(0o755)
whole = build(make(), store=store).report
print(json.dumps({
    "before": before, "after": after, "planned": planned, "removed": report.removed,
    "skipped": [problem.id for problem in report.skipped], "refreshed": outcome and outcome.changed,
    "again": whole.added + whole.changed + whole.removed,
}))
"""


@pytest.fixture
def root() -> Iterator[Path]:
    # Not in tmp_path: its parents are shut to the user that the superuser becomes here.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def built_while_shut(root: Path, kind: str, *shut: str) -> dict[str, Any]:
    """What two builds and a refresh did, the second build while some files could not be read."""
    command = [sys.executable, "-c", PROGRAM, str(root), kind, *shut]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    assert out["after"] == out["before"]
    assert (out["planned"], out["removed"], out["again"]) == ([], [], [])
    return out


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
def test_files_in_a_folder_that_is_shut(root: Path) -> None:
    for name in ("a.md", "sub/b.md", "sub/deep/c.md", "shut.md"):
        write(root / name, f"about {name}")
    out = built_while_shut(root, "files", "sub", "shut.md")
    assert out["skipped"] == ["shut.md", "sub/"]
    assert out["refreshed"] == 0


@pytest.mark.slow
def test_sessions_that_are_shut(root: Path) -> None:
    turns = "".join(json.dumps({"role": role, "content": role}) + "\n" for role in ("user", "assistant") * 2)
    for name in ("a.jsonl", "shut.jsonl", "sub/c.jsonl"):
        write(root / name, turns)
    out = built_while_shut(root, "sessions", "shut.jsonl", "sub")
    assert len(out["before"]) == 6
    assert sorted(out["skipped"]) == ["shut.jsonl", "sub/"]


@pytest.mark.slow
@pytest.mark.parametrize("shut", ["tea/SKILL.md", "tea"])
def test_skills_that_are_shut(root: Path, shut: str) -> None:
    write(root / "tea/SKILL.md", "---\nname: brewing\ndescription: Brew tea.\n---\n")
    write(root / "ink/SKILL.md", "---\nname: writing\ndescription: Write.\n---\n")
    assert built_while_shut(root, "skills", shut)["before"] == ["brewing", "writing"]


@pytest.mark.slow
def test_packages_that_are_shut(root: Path) -> None:
    write(root / "one/pyproject.toml", "[project]\nname = 'first'\ndescription = 'One.'\n")
    write(root / "two/pyproject.toml", "[project]\nname = 'second'\ndescription = 'Two.'\n")
    write(root / "m.pth", "one\ntwo\n")
    assert built_while_shut(root, "packages", "two")["before"] == ["first", "second"]


def test_what_left_is_still_removed_beside_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from ir import CorpusSource, CorpusStore, build

    for name in ("a.md", "gone.md", "sub/b.md"):
        write(root / name, f"about {name}")
    source, store = CorpusSource.from_files(root, name="x", embedder="light"), CorpusStore.memory()
    build(source, store=store)
    (root / "gone.md").unlink()
    real = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = build(source, store=store).report
    assert report is not None
    assert report.removed == ["gone.md"]
    assert [problem.id for problem in report.skipped] == ["sub/"]
