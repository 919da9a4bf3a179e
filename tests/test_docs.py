"""The documents are true: their Python runs, their commands print what the page shows, their help is the help.

``IR_UPDATE_DOCS=1 pytest tests/test_docs.py`` writes the output of the commands into the pages again.
"""

from __future__ import annotations

import doctest
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ir
from ir.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UPDATE = bool(os.environ.get("IR_UPDATE_DOCS"))

#: What differs from run to run and from machine to machine.
VARYING = [
    (re.compile(r"in \d+\.\d s"), "in 0.1 s"),
    (re.compile(r"\b\d+(\.\d)? [kMG]?B\b"), "40.0 kB"),
    (re.compile(r"/\S*/(data|config|cache)/"), r"~/\1/"),
    (re.compile(r"\t(/\S+/)"), "\t…/"),
    (re.compile(r"-[0-9a-f]{6}\b"), "-4de199"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages talk about, and the light embedder, which every machine has."""
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IR_EMBEDDER", "light")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return tmp_path


def normal(text: str) -> str:
    for pattern, substitute in VARYING:
        text = pattern.sub(substitute, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def comparable(text: str) -> str:
    """Without scores and sizes of the corpus, which any edit of any page changes a little."""
    return re.sub(r"\d+\.\d{3}|\d+ (records|added|unchanged)|\t\d+", "…", text)


def run_console(block: str) -> str:
    """The block with the output that its commands print now."""
    out = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        done = subprocess.run(["sh", "-c", line[2:]], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
        out += [line, normal(done.stdout)] if done.stdout else [line]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_and_print_what_the_page_shows(page: Path, place: Path) -> None:
    text = page.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": page.stem}
    updated = text
    for match in FENCE.finditer(text):
        language, block = match.groups()
        if language == "python":
            exec(compile(block, str(page), "exec"), namespace)
        elif language == "console":
            now = run_console(block)
            if UPDATE:
                updated = updated.replace(match.group(), f"```console\n{now}```")
            else:
                assert comparable(now) == comparable(block), "IR_UPDATE_DOCS=1 pytest tests/test_docs.py updates it"
    if UPDATE:
        page.write_text(updated, "utf-8")


def help_of(command: str) -> str:
    arguments = [sys.executable, "-m", "ir", *([command] if command else []), "--help"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "90"})
    return done.stdout.strip()


def words(text: str) -> list[str]:
    """The words of a help text; how Typer names types and aligns columns differs between its versions."""
    return re.sub(r"<\w+>|\[required\]|\bTEXT\b", "", text).split()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_of_every_command_is_in_the_page_as_it_is(command: str) -> None:
    page = ROOT / "docs" / "cli.md"
    heading = f"ir {command}".strip()
    match = re.search(rf"^## `{heading}`\n.*?^```text\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match, f"docs/cli.md has no section for `{heading}`"
    now = help_of(command)
    if UPDATE:
        text = page.read_text("utf-8")
        page.write_text(text[: match.start(1)] + now + "\n" + text[match.end(1) :], "utf-8")
    else:
        assert words(match[1]) == words(now)


def test_every_setting_is_documented_with_its_default() -> None:
    from ir.config.keys import KEYS

    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for key in KEYS:
        default = "none" if key.default is None else str(key.default).lower() if key.type is bool else str(key.default)
        assert f"| `{key.name}` | {default} | {key.doc} |" in page, key.name


MODULES = sorted(
    module.name for module in pkgutil.walk_packages(ir.__path__, "ir.") if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.failed == 0


def test_doctests_are_there() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for test in finder.find(ir)) >= 1
    assert len(MODULES) > 50


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        prose = FENCE.sub("", page.read_text("utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
