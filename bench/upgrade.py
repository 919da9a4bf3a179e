"""``python -m bench.upgrade``: what the better model costs and loses, beside sentence-transformers and float32.

Speed: chunks of code and prose as an index of installed packages has them. Every contestant waits in a process of its
own, and they take turns at a few texts each, so that other work on the machine slows all of them. Both the wall and
the processor's time count; the wall is worth little on a busy machine. The peer runs at its default batch size and at
its better one, from the same weights. Loss: nDCG@10 of the default search over the judged collections at
``IR_DATA_SETS``, against ``minilm`` in float32.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy

from bench import envs
from bench.embedding import PEER, PEER_PACKAGES, environment_of
from bench.report import Report, number
from ir.embed import model_dir
from ir.embed.models import BETTER

EXACT = "minilm"
#: What the better model has to show.
LEAST_RATIO, MOST_LOSS = 2.5, 0.002
_TURN = 16

_SERVE = """
import json, os, sys, time
{setup}
texts = json.load(open(sys.argv[1], encoding="utf-8"))
embed(texts[:8])
print("ready", flush=True)
for line in sys.stdin:
    start, end = map(int, line.split())
    began, busy = time.perf_counter(), time.process_time()
    embed(texts[start:end])
    print(json.dumps([time.perf_counter() - began, time.process_time() - busy]), flush=True)
"""
_OURS = """
from ir.embed import make_embedder
embed = make_embedder(sys.argv[2], cache=False)[0]
"""
_THEIRS = """
import torch
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[2], device="cpu")
embed = lambda texts: model.encode(texts, batch_size=int(sys.argv[3]), show_progress_bar=False)
"""


def chunks(count: int) -> list[str]:
    """Texts as a build embeds them: half from Python files, half from the prose that packages bring along."""
    from ir.base import embedding_text
    from ir.index.decompose import rows_of
    from ir.index.recipe import recipe_for
    from ir.sources import CorpusSource
    from ir.store import CorpusStore

    root = Path(numpy.__file__).parents[1]
    found: dict[bool, list[str]] = {True: [], False: []}
    for code, pattern in ((True, r"\.py$"), (False, r"\.(md|rst|txt)$|METADATA$")):
        source = CorpusSource.from_files(root, name="packages", pattern=pattern, max_bytes=200_000)
        strategy = recipe_for(source, CorpusStore.memory(), embedder=EXACT, language="none").strategy
        names = sorted(source.scope)
        random.Random(0).shuffle(names)
        for name in names:
            try:
                plan = strategy.decompose(name, source.scope[name], None)
            except KeyError:  # not text after all
                continue
            rows = rows_of(name, plan)
            # A few of each file: no single one should decide.
            found[code] += [embedding_text(row.text, row.metadata) for row in rows[:: max(1, len(rows) // 4)]]
            if len(found[code]) >= count:
                break
    mixed = [text for pair in zip(found[True], found[False], strict=False) for text in pair][:count]
    random.Random(1).shuffle(mixed)
    return mixed


class Contestant:
    """A process that embeds when it is told to."""

    def __init__(self, python: Path | str, setup: str, path: Path, arguments: list[str], threads: int) -> None:
        self._process = subprocess.Popen(
            [str(python), "-c", _SERVE.format(setup=setup), str(path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_of(threads),
        )
        self.wall = self.busy = 0.0
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise envs.Unavailable("a contestant ended before it was done")
        return line

    def turn(self, start: int, end: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start} {end}\n")
        self._process.stdin.flush()
        wall, busy = json.loads(self._answer())
        self.wall += wall
        self.busy += busy

    def end(self) -> None:
        self._process.communicate()


def speed(names: Iterable[str], texts: list[str], threads: int) -> dict[str, Contestant]:
    """All contestants over all texts, in turns."""
    envs.REQUIRES.setdefault(PEER, PEER_PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts), encoding="utf-8")
        made = {name: Contestant(sys.executable, _OURS, path, [name], threads) for name in names}
        try:
            peer = envs.python_of(PEER)
            for batch in ("8", "32"):
                arguments = [str(model_dir(EXACT)), batch]
                made[f"{PEER}, batches of {batch}"] = Contestant(peer, _THEIRS, path, arguments, threads)
        except envs.Unavailable as why:
            print(f"  without {PEER}: {why}", file=sys.stderr)
        for turn, start in enumerate(range(0, len(texts), _TURN * 4)):
            end = min(len(texts), start + _TURN * 4)
            order = list(made.values())
            for one in order[turn % len(order) :] + order[: turn % len(order)]:
                one.turn(start, end)
            told = ", ".join(f"{name} {end / one.busy:.1f}" for name, one in made.items())
            print(f"  {end} texts; per CPU second: {told}", file=sys.stderr, flush=True)
        for one in made.values():
            one.end()
    return made


def losses(names: Iterable[str]) -> dict[str, dict[str, float]]:
    """nDCG@10 of the default search by each model, for each collection."""
    from bench.judged import SETS, collection_names, dataset, embedder_of, fitted_corpus
    from bench.quality import DEPTH, score
    from ir.eval import make_run

    found: dict[str, dict[str, float]] = {}
    for spec in names:
        for name in [name for name in collection_names() if name in SETS]:
            queries, qrels = dataset(name).answered()
            corpus = fitted_corpus(name, spec)
            embedder_of(spec).learn(queries.values())
            found.setdefault(spec, {})[name] = score(make_run(corpus, queries, k=DEPTH), qrels)[0]
    return found


def mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held)


def report(timed: dict[str, Contestant], count: int, threads: int, judged: dict[str, dict[str, float]]) -> Report:
    made = Report("upgrade", quick=False)
    peers = [one for name, one in timed.items() if name.startswith(PEER)]
    if timed:
        title = f"{count:,} chunks of code and prose, threads: {threads}"
        table = made.table(title, "embedder", "texts a second", "a CPU second", "times the peer, CPU", "wall")
        for name, one in timed.items():
            least = {of: min((getattr(peer, of) for peer in peers), default=None) for of in ("busy", "wall")}
            ratios = ["–" if best is None else number(best / getattr(one, of)) for of, best in least.items()]
            table.rows.append([name, number(count / one.wall), number(count / one.busy), *ratios])
        default = [one for name, one in timed.items() if name == f"{PEER}, batches of 32"]
        for how, held in (("default", default), ("better", peers)):
            ratio = min(peer.busy for peer in held) / timed[BETTER].busy if held else None
            made.check(f"{BETTER} against {PEER} at its {how} batch size, processor time", ratio, LEAST_RATIO)
    if judged:
        exact = judged[EXACT]
        table = made.table("nDCG@10 of the default search", "embedder", *exact, "mean")
        for name, scores in judged.items():
            values = [*scores.values(), mean(scores.values())]
            table.rows.append([name, *(f"{value:.4f}" for value in values)])
        loss = mean(exact.values()) - mean(judged[BETTER].values())
        made.check(f"{BETTER}: loss in mean nDCG@10 against {EXACT}", loss, MOST_LOSS, "", at_least=False)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.upgrade", description=__doc__)
    parser.add_argument("--texts", type=int, default=640)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=("speed", "loss"))
    parser.add_argument("--model", action="append", help="another one to compare; repeatable")
    given = parser.parse_args()
    names = list(dict.fromkeys([EXACT, BETTER, *(given.model or ())]))
    timed: dict[str, Any] = {}
    texts = [] if given.only == "loss" else chunks(given.texts)
    if texts:
        timed = speed(names, texts, given.threads)
    judged = {} if given.only == "speed" else losses(names)
    made = report(timed, len(texts), given.threads, judged)
    print(made.markdown())
    made.save()
    return 1 if any(check.passed is False for check in made.checks) else 0


if __name__ == "__main__":
    sys.exit(main())
