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
from tests.extras import needs
from tests.models.pulled import pulled

import ir
from ir.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "session.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
UPDATE = bool(os.environ.get("IR_UPDATE_DOCS"))
#: What a newcomer reads first shows what they will see: after a plain installation, and then with the embedding model
#: that `make demo` gets. The other pages are run with the light embedder.
PLAIN = ("README.md",)
WITH_MODEL = ("tutorial.md",)

#: Where a test keeps things, which no page should show.
PLACES = [
    (re.compile(r"(?<!\w)/\S*/(data|config|cache)/"), r"~/\1/"),
    (re.compile(r"\t(/\S+/)"), "\t…/"),
]
#: What differs from run to run and from machine to machine, and scores and sizes, which any edit of a page changes.
VARYING = [
    (re.compile(r"in \d+\.\d s"), "in … s"),
    (re.compile(r"\b\d+(\.\d)? [kMG]?B\b"), "… kB"),
    (re.compile(r"-[0-9a-f]{6}\b"), "-…"),
    (re.compile(r"above \d+%"), "above …%"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "…"),  # a content version: metadata hold the paths of this machine
    (re.compile(r"\d+\.\d{3,}|\d+ (records|added|unchanged)|\t\d+"), "…"),
]

#: What a slow machine says meanwhile.
_STAGES = "scan|embed|link|write|search|prune"
PROGRESS = re.compile(rf"^ir: (?:(?:{_STAGES})\b.*|embedding .* takes about .*)\n", re.MULTILINE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages talk about."""
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IR_EMBEDDER", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return tmp_path


def get_model(cache: Path) -> None:
    """Put the real model in a cache folder, with the vectors that earlier runs computed: the pages change rarely."""
    vectors = ROOT / "build" / "test-models" / "embeddings"
    vectors.mkdir(parents=True, exist_ok=True)
    (cache / "models").mkdir(parents=True)
    (cache / "models" / "minilm").symlink_to(pulled("minilm"), target_is_directory=True)
    (cache / "embeddings").symlink_to(vectors, target_is_directory=True)


def shown(text: str) -> str:
    """An output as a page shows it: without the lines that come if it takes long."""
    text = PROGRESS.sub("", text)
    for pattern, substitute in PLACES:
        text = pattern.sub(substitute, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def comparable(text: str) -> str:
    for pattern, substitute in VARYING:
        text = pattern.sub(substitute, text)
    return text


def settle(page: Path, block: str, now: str) -> None:
    """The block is what is printed now; or, if so asked, the page is changed until it is."""
    if comparable(now) == comparable(block):
        return
    assert UPDATE, f"{page.name} is behind; IR_UPDATE_DOCS=1 pytest tests/test_docs.py updates it\n{now}"
    page.write_text(page.read_text("utf-8").replace(block, now, 1), "utf-8")


def run_console(block: str) -> str:
    """The block with the output that its commands print now."""
    out = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        done = subprocess.run(["sh", "-c", line[2:]], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
        out += [line, shown(done.stdout)] if done.stdout else [line]
    return "\n".join(out) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_and_print_what_the_page_shows(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in WITH_MODEL:
        get_model(Path(os.environ["IR_CACHE_DIR"]))
    elif page.name not in PLAIN:
        monkeypatch.setenv("IR_EMBEDDER", "light")
    text = page.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": page.stem}
    for match in FENCE.finditer(text):
        language, block = match.groups()
        if language == "python":
            exec(compile(block, str(page), "exec"), namespace)
        elif language == "console":
            settle(page, block, run_console(block))


def help_of(command: str) -> str:
    arguments = [sys.executable, "-m", "ir", *([command] if command else []), "--help"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "90"})
    return done.stdout.strip()


def words(text: str) -> list[str]:
    """The words of a help text; how Typer names types and aligns columns differs between its versions."""
    return re.sub(r"<\w+>|\[required\]|\bTEXT\b", "", text).split()


@pytest.mark.slow
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


#: The ways of other systems than that of the tests cannot be imported here.
ELSEWHERE = {"ir.system.macos", "ir.system.windows"}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(ir.__path__, "ir.")
    if not module.name.endswith("__main__") and module.name not in ELSEWHERE
)


#: What the examples of a module need beside the package itself.
EXAMPLES_WITH_EXTRAS = {
    "ir.eval.compare": ["scipy", "ir_measures"],
    "ir.eval.measures": ["ir_measures"],
    "ir.eval.plots": ["matplotlib", "ir_measures"],
    "ir.sources.html": ["bs4"],
}


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    needs(*EXAMPLES_WITH_EXTRAS.get(name, ()))
    result = doctest.testmod(import_module(name))
    assert result.failed == 0


def test_doctests_are_there() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for test in finder.find(ir)) >= 1
    assert len(MODULES) > 50


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        prose = FENCE.sub("", page.read_text("utf-8"))
        for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name}: {target}"
            assert not place or place in anchors(there), f"{page.name}: {target}#{place}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in a link."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_the_recorded_session_is_what_the_demo_prints(tmp_path: Path) -> None:
    """``make demo`` after its installation: the commands of the demo, with all they say to stdout and stderr."""
    home = tmp_path / "demo"
    get_model(home / "cache")
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "IR_DEMO_HOME": str(home), "COLUMNS": "100"}
    environment = {key: value for key, value in os.environ.items() if key != "IR_EMBEDDER"} | own
    said = subprocess.run(
        ["sh", "examples/demo.sh"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=240,
        env=environment,
    ).stdout
    now = shown(said.replace(str(home), "build/demo").replace(str(ROOT), "~/ir")).strip() + "\n"
    page = ROOT / "examples" / "session.md"
    match = re.search(r"^```text\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match
    settle(page, match[1], now)


@pytest.mark.slow
@pytest.mark.parametrize("embedder", ["light", "box", "minilm"])
def test_the_first_query_of_the_tutorial_puts_the_right_note_first(
    embedder: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the model, as the page shows it, and without one, as somebody may begin."""
    if embedder == "minilm":
        get_model(Path(os.environ["IR_CACHE_DIR"]))
    monkeypatch.setenv("IR_EMBEDDER", embedder)
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    notes, search = [block for language, block in FENCE.findall(page) if language == "console"][:2]
    run_console(notes)
    asked, first, second = run_console(search).splitlines()
    assert "water for tea" in asked
    assert first.startswith("notes/tea.md:1: ")
    assert score_of(first) > 1.4 * score_of(second)


def score_of(line: str) -> float:
    return float(line.split(": ")[1].split()[0])
