"""How good and how fast the answers about code are: ``python -m bench.relations`` prints what the part measures.

Good: the relationship questions over this project's own source, by what both judges call an answer; and who calls what
in packages whose call graph a person has read. Fast: every relationship operation on CPython's ``Lib``.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import ir
from ir.app.session import Session
from ir.code.definitions import Definition, qualified, symbol_in
from ir.code.relations import RESOLUTIONS, Relations
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store.local import LocalStore

HERE = Path(__file__).parent.parent
QRELS, TRUTH = HERE / "qrels", HERE / "tests" / "code" / "truth"
FIRST_TEN = 10
OPERATIONS = ("callers", "callees", "implementations", "tests-of", "impact", "symbol")


@contextmanager
def built(folder: Path, pattern: str) -> Iterator[LocalStore]:
    """A folder of code as a corpus that goes again."""
    with TemporaryDirectory() as where, LocalStore(Path(where) / "corpus") as store:
        source = CorpusSource.from_files(folder, name="bench", pattern=pattern, strategy=Code(), embedder="light")
        ir.build(source, store=store, floor=False)
        yield store


@dataclass(frozen=True)
class Answered:
    """One question: the share of the answers among the first ten, and how many of the surest are right."""

    id: str
    relation: str
    recall: float
    first: int
    right: int


# -- our own source ----------------------------------------------------------------------------------------------------


def own_source(into: Path) -> str:
    """The source that the questions are about; as it is now where the repository lacks that commit. What it is."""
    told = json.loads((QRELS / "commit.json").read_text("utf-8"))
    known = subprocess.run(["git", "cat-file", "-e", told["commit"]], cwd=HERE, capture_output=True).returncode == 0
    commit = told["commit"] if known else "HEAD"
    packed = subprocess.run(["git", "archive", commit, *told["trees"]], cwd=HERE, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as held:
        held.extractall(into, filter="data")
    return f"commit {commit[:8]}" if known else "HEAD, since the repository lacks the commit of the labels"


def judged() -> tuple[list[Answered], str]:
    """The relationship questions, by what both judges grade as an answer. A definition that is gone is no answer."""
    grades = [_grades(name) for name in ("judge1.jsonl", "judge2.jsonl")]
    asked = [json.loads(line) for line in (QRELS / "relations.jsonl").read_text("utf-8").splitlines()]
    pools = {row["id"]: set(row["candidates"]) for row in map(json.loads, _lines("pools.jsonl"))}
    with TemporaryDirectory() as where:
        origin = own_source(Path(where))
        with built(Path(where), r"\.(py|md)$") as store, store.snapshot() as snapshot:
            relations = Relations(store, snapshot)
            found = [_judged(one, relations, grades, pools.get(one["id"], set())) for one in asked]
    return [one for one in found if one is not None], origin


def _judged(asked: Any, relations: Relations, grades: Sequence[Any], pool: set[str]) -> Answered | None:
    relation = {"tests_of": "tests"}.get(asked["operation"], asked["operation"])
    chosen = relations.definitions.find(asked["symbols"][0]).chosen
    gold = {name for name, grade in grades[0][asked["id"]].items() if grade == 2 == grades[1][asked["id"]].get(name)}
    held = {
        _name(one) for path in {name.partition("::")[0] for name in gold} for one in relations.definitions.in_file(path)
    }
    gold = {_plain(name) for name in gold} & held
    if not chosen or not gold:
        return None
    walked = relations.of(relation, chosen, 10 if relation == "implementations" else 1)
    shown = relations.shown(walked.links)
    top = {_name(one.definition) for one in shown[:FIRST_TEN]}
    good = {_plain(name) for each in grades for name in each[asked["id"]]}
    seen = {_plain(name) for name in pool} | good
    first = [name for one in shown if one.resolution == RESOLUTIONS[0] and (name := _name(one.definition)) in seen]
    recall = len(gold & top) / min(FIRST_TEN, len(gold))
    return Answered(asked["id"], relation, recall, len(first), sum(name in good for name in first))


def _grades(name: str) -> Mapping[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in map(json.loads, _lines(name)):
        if "symbol" in row:
            found[row["id"]][f"{row['path']}::{row['symbol']}"] = row["grade"]
    return found


def _lines(name: str) -> list[str]:
    return (QRELS / name).read_text("utf-8").splitlines()


def _name(one: Definition) -> str:
    return _plain(f"{one.path}::{one.name}")


def _plain(name: str) -> str:
    """A constructor is called by the name of its type."""
    return name.removesuffix(".__init__").removesuffix(".constructor")


# -- call graphs that a person has read --------------------------------------------------------------------------------


def truths() -> Iterator[tuple[str, list[Answered], list[Answered]]]:
    """For each package that can be had: who calls each of its functions, over all tiers; and over links alone."""
    for path in sorted(TRUTH.glob("*.json")):
        told = json.loads(path.read_text("utf-8"))
        if not {"package", "registry", "root", "calls"} <= told.keys():
            continue
        with TemporaryDirectory() as where:
            if not _fetched(told["package"], told["registry"], Path(where)):
                continue
            with built(Path(where) / told["root"], r"\.(py|js|ts|mjs)$") as store, store.snapshot() as snapshot:
                relations = Relations(store, snapshot)
                yield path.stem, _callers(told["calls"], relations, 100), _callers(told["calls"], relations, 0)


def _callers(calls: Mapping[str, Sequence[str]], relations: Relations, guesses: int) -> list[Answered]:
    by_callee: dict[str, set[str]] = defaultdict(set)
    for caller, callees in calls.items():
        for callee in callees:
            by_callee[callee].add(caller)
    known = {_dotted(one): one for one in _all(relations)}
    found = []
    for callee, gold in sorted(by_callee.items()):
        if callee not in known:
            continue
        shown = relations.shown(relations.callers([known[callee]], 1, guesses).links)
        read = [(_dotted(one.definition), one.resolution) for one in shown if _dotted(one.definition) in calls]
        first = [name for name, resolution in read if resolution == RESOLUTIONS[0]]
        top = {name for name, _ in read[:FIRST_TEN]}
        recall = len(gold & top) / min(FIRST_TEN, len(gold))
        found.append(Answered(callee, "callers", recall, len(first), sum(name in gold for name in first)))
    return found


def _all(relations: Relations) -> list[Definition]:
    store = relations.definitions._store
    return [
        Definition.of(node)
        for batch in store.iter_nodes()
        for node in batch
        if node.type in ("function", "method", "type", "module")
    ]


def _dotted(one: Definition) -> str:
    """A definition as the call graphs name it."""
    path = re.sub(r"\.(py|ts|js|mjs)$", "", one.path)
    inside = "" if one.kind == "module" else qualified(symbol_in(one.key))
    return f"{path}.{inside}".strip(".")


def _fetched(package: str, registry: str, into: Path) -> bool:
    """Unpack a package; whether it could be had."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(into), package]
    npm = ["npm", "pack", package, "--silent", "--pack-destination", str(into)]
    try:
        done = subprocess.run(pip if registry == "pypi" else npm, capture_output=True, text=True)
    except OSError:
        return False
    for path in list(into.iterdir()):
        if path.suffix in (".whl", ".zip"):
            zipfile.ZipFile(path).extractall(into)
        elif path.suffix in (".tgz", ".gz"):
            with tarfile.open(path) as held:
                held.extractall(into, filter="data")
    return done.returncode == 0


# -- speed -------------------------------------------------------------------------------------------------------------


def standard_library() -> Path:
    """``Lib`` with its tests."""
    return Path(sysconfig.get_paths()["stdlib"])


@dataclass(frozen=True)
class Timed:
    p50: float
    p95: float
    longest: float
    tokens: int


def build_library(name: str, *, quick: bool) -> None:
    """``Lib`` as the corpus of that name, without what was installed into it."""
    folder = standard_library() / "asyncio" if quick else standard_library()
    source = CorpusSource.from_files(
        folder,
        name=name,
        pattern=r"\.py$",
        exclude=lambda path: "site-packages" in path,
        strategy=Code(),
        embedder="light",
    )
    ir.build(source, floor=False).store.close()


def timed(session: Session, name: str, words: Sequence[str], operation: str) -> Timed:
    """Milliseconds of CPU of an operation, for each word the median of three; and its longest answer in tokens."""
    from ir.app.documents import tokens_of

    times, tokens = [], 0
    for word in words:
        passes = []
        for _ in range(3):
            began = time.process_time()
            told = session.call(operation, {"symbol": word, "target": name})
            passes.append((time.process_time() - began) * 1e3)
        times.append(median(passes))
        tokens = max(tokens, tokens_of(json.dumps(told.to_dict(), ensure_ascii=False)))
    times.sort()
    return Timed(median(times), times[int(0.95 * len(times))], times[-1], tokens)


def some_words(session: Session, name: str, count: int) -> list[str]:
    """Definitions drawn at random: half by their keys, half by their bare names."""
    ctx = session.context()
    try:
        store: Any = ctx.open(name).store
        keys = [key for _, entry in store.ledger_items() for key in entry.get("nodes", ()) if not key.endswith("/")]
    finally:
        ctx.release()
    drawn = random.Random(3).sample(keys, min(count, len(keys)))
    bare = [qualified(symbol_in(key)).rsplit(".", 1)[-1] for key in drawn[len(drawn) // 2 :]]
    return [*drawn[: len(drawn) // 2], *bare]


def most_called(session: Session, name: str) -> str:
    """The key that most calls lead to."""
    ctx = session.context()
    try:
        store: Any = ctx.open(name).store
        counts: dict[str, int] = defaultdict(int)
        for batch in store.iter_edges():
            for _, out in batch:
                for edge in out:
                    counts[edge.target] += edge.type == "calls"
    finally:
        ctx.release()
    return max(counts, key=lambda key: (counts[key], key))


def main() -> int:
    from bench.parts.relations import run
    from bench.plan import FULL, QUICK

    report = run(QUICK if "--quick" in sys.argv else FULL)
    report.save()
    print(report.markdown())
    return 1 if any(check.passed is False for check in report.checks) and not report.quick else 0


if __name__ == "__main__":
    sys.exit(main())
