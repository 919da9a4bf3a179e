"""From nothing to the first answer: a folder, one question, one command, an empty home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import folders
from bench.agent.grep import words_of
from bench.contestant import Failed
from bench.envs import HERE, Unavailable, clean_environment, python_of
from bench.plan import Plan
from bench.report import Report, number

PEERS = ("txtai", "llamaindex", "langchain")
#: Seconds after which a peer is stopped: what it takes then is "more than that".
PATIENCE = 300.0


@dataclass(frozen=True)
class Place:
    """A folder, a question that it answers, and how much CPU time the first answer may take."""

    name: str
    folder: Path
    question: str
    cpu: float


@dataclass(frozen=True)
class Taken:
    wall: float
    cpu: float
    peak_mb: float
    code: int

    @property
    def stopped(self) -> bool:
        return self.code == -9

    def cells(self) -> list[str]:
        more = "> " if self.stopped else ""
        return [more + number(self.wall), more + number(self.cpu), number(self.peak_mb)]


def run(plan: Plan) -> Report:
    report = Report("first", plan.quick)
    for place in _places(report)[: 1 if plan.quick else None]:
        _answer(place, report, plan)
    if not plan.quick:
        _whole(report)
    report.note(
        "A new process with an empty home each time, the interpreter's start included; one thread. The weights of "
        "MiniLM lie on disk already, for all of them. `ir` answers by its fast model, the best of three runs counts. "
        "`rg`: the question's words as one pattern, no index. The peers cut texts at about 1,000 characters and embed "
        f"with torch; one that takes more than {PATIENCE:.0f} s is stopped."
    )
    return report


def _places(report: Report) -> list[Place]:
    places = [
        Place("Flask", folders.flask(), "how is the session cookie signed", 3),
        Place("CPython's Lib", folders.standard_library(), "how are zip archives read without unpacking them", 15),
    ]
    try:
        docs = folders.documentation("k8s_docs")
        places.append(Place("Kubernetes docs", docs, "how do I roll back a deployment", 10))
    except Unavailable as why:
        report.note(str(why))
    return places


def _answer(place: Place, report: Report, plan: Plan) -> None:
    rows: dict[str, Taken] = {}
    with Home() as home:
        runs = [home.emptied().run(_first_answer(place)) for _ in range(1 if plan.quick else 3)]
        rows["ir"] = min(runs, key=lambda taken: taken.cpu)
        try:
            pattern = "|".join(words_of(place.question))
            rows["rg"] = home.run([str(python_of("ripgrep").parent / "rg"), "-n", "-i", pattern, str(place.folder)])
        except Unavailable as why:
            report.note(str(why))
        for peer in () if plan.quick else PEERS:
            try:
                script = [str(python_of("first")), str(HERE / "peers" / "first_answer.py"), peer]
                rows[peer] = home.emptied().run([*script, str(place.folder), str(_model()), place.question])
            except (Unavailable, Failed) as why:
                report.note(f"{peer} on {place.name}: {why}")
    files, megabytes = folders.size_of(place.folder)
    header = ("", "first answer s", "CPU s", "peak MB", "CPU / ours")
    table = report.table(f"{place.name}: {files:,} files, {megabytes:.1f} MB", *header)
    for name, taken in rows.items():
        share = "" if name == "ir" else f"{'> ' if taken.stopped else ''}{number(taken.cpu / rows['ir'].cpu)}"
        table.rows.append([name, *taken.cells(), share])
    report.check(f"{place.name}: CPU to the first answer", rows["ir"].cpu, place.cpu, "s", at_least=False)


def _first_answer(place: Place) -> list[str]:
    """The command a user types; nothing goes on in the background, so that all of its work is counted."""
    command = [*_IR, "search", str(place.folder), place.question]
    return [*command, "--no-upgrade"] if "--no-upgrade" in _help() else [*command, "--embedder", "light"]


def _whole(report: Report) -> None:
    """All of Flask with the better model, beside what the model alone takes for the same texts."""
    folder = str(folders.flask())
    try:
        _model()
    except Unavailable as why:
        report.note(str(why))
        return
    with Home() as home:
        home.give_models()
        whole = home.run([*_IR, "build", folder, "--embedder", "minilm"], limit=10 * PATIENCE)
        counted = home.home / "count.json"
        alone = home.run([sys.executable, "-c", _MODEL_ALONE, str(counted)], limit=10 * PATIENCE)
        count = int(json.loads(counted.read_text()))
    table = report.table(
        f"Flask, the whole index with MiniLM: {count:,} texts", "", "s", "CPU s", "peak MB", "texts / CPU s"
    )
    table.rows.append(["ir build", *whole.cells(), number(count / whole.cpu)])
    table.rows.append(["the model alone", *alone.cells(), number(count / alone.cpu)])
    report.check("the whole index: CPU of the model's own", whole.cpu / alone.cpu, 1.15, at_least=False)


_IR = [sys.executable, "-m", "ir"]
#: The texts of the one corpus there is, embedded once more in batches as a build makes them.
_MODEL_ALONE = """
import json, sys
import ir
from ir.base import embedding_text
from ir.embed import make_embedder
from ir.index.opening import as_corpus
(name,) = ir.corpora()
store = as_corpus(name).store
embedder, _ = make_embedder("minilm", cache=False)
count = 0
for records in store.iter_records(2048):
    texts = [embedding_text(record.text, record.metadata) for record in records]
    embedder(texts)
    count += len(texts)
json.dump(count, open(sys.argv[1], "w"))
"""


class Home:
    """A home folder of its own for each command: nothing of the user's, nothing left of the command before."""

    def __enter__(self) -> Home:
        self.home = Path(tempfile.mkdtemp(prefix="ir-first-"))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def emptied(self) -> Home:
        shutil.rmtree(self.home)
        self.home.mkdir()
        self.give_models()
        return self

    def give_models(self) -> None:
        """The user's models where the library looks for them: nobody's download is measured."""
        folder = _cache() / "models"
        if folder.is_dir():
            (self.home / "cache").mkdir(exist_ok=True)
            (self.home / "cache" / "models").symlink_to(folder, target_is_directory=True)

    def run(self, command: Sequence[str], limit: float = PATIENCE) -> Taken:
        homes = {f"IR_{kind}_DIR": str(self.home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE")}
        ours = {**homes, "NO_COLOR": "1", "PYTHONPATH": str(HERE.parent / "src")}
        environment = clean_environment(HOME=str(self.home), **(ours if command[0] == sys.executable else {}))
        out = self.home / "taken.json"
        measured = [sys.executable, "-S", str(HERE / "measured.py"), str(out), str(limit)]
        done = subprocess.run([*measured, *command], env=environment, capture_output=True, text=True)
        taken = Taken(**json.loads(out.read_text())) if out.exists() else None
        if taken is None or (taken.code not in (0, 1) and not taken.stopped):
            raise Failed(f"{command[0]}: {done.stderr.strip()[-300:]}")
        return taken


@cache
def _help() -> str:
    return subprocess.run([*_IR, "search", "--help"], capture_output=True, text=True).stdout


def _cache() -> Path:
    return Path(os.environ.get("IR_CACHE_DIR") or Path.home() / ".cache" / "ir")


def _model() -> Path:
    folder = _cache() / "models" / "minilm"
    if not folder.is_dir():
        raise Unavailable("MiniLM is not here: ir models pull")
    return folder
