"""``python -m bench.embedding``: our embedders beside sentence-transformers, each in a fresh process of its own.

1,000 texts of 120 words (``--texts`` for fewer) on the same number of threads. sentence-transformers runs on torch in
an environment of its own, from the same files. Contestants take turns, so that a machine that slows down slows all of
them; the best of the rounds counts. On a machine with other work, compare the texts per CPU second. Then what a new
process takes until it has embedded a query, or until ``ir search`` has answered, and what the same texts cost again.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import envs, texts
from bench.report import Report, number

PEER = "sentence-transformers"
PEER_PACKAGES = ["torch==2.13.0", "sentence-transformers>=5"]
NETWORKS = ("minilm", "minilm-int8", "minilm-openvino")
OURS = (*NETWORKS, "static")
FIRST = "how do I change a bicycle chain"

_OURS = """
import json, sys, time
began = time.perf_counter()
from ir.embed import make_embedder
name, rows, out = sys.argv[1:4]
embedder, _ = make_embedder(name, cache=False)
embedder([{first!r}], input_type="query")
first = time.perf_counter() - began
"""
_THEIRS = """
import json, sys, time
began = time.perf_counter()
import os, torch
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
from sentence_transformers import SentenceTransformer
folder, rows, out = sys.argv[1:4]
model = SentenceTransformer(folder, device="cpu")
embedder = lambda texts: model.encode(texts, batch_size=int(sys.argv[4]), show_progress_bar=False)
embedder([{first!r}])
first = time.perf_counter() - began
"""
_FIRST_QUERY = """
import sys
from ir.embed import make_embedder
make_embedder(sys.argv[1], cache=False)[0]([{first!r}], input_type="query")
"""
_TWICE = """
import json, sys, time
import ir
from ir.embed import make_embedder
texts = dict(enumerate(json.load(open(sys.argv[1], encoding="utf-8"))))
embedder, _ = make_embedder("minilm")
embedder.embedder(["the model is loaded"])
for name in sys.argv[2:]:
    began = time.perf_counter()
    embedder(list(texts.values()))
    embedded = time.perf_counter() - began
    source = ir.CorpusSource.from_mapping({str(key): text for key, text in texts.items()}, name=name)
    ir.build(source, embedder="minilm")
    print(json.dumps([embedded, time.perf_counter() - began]))
"""
_REST = """
import base64
texts = json.load(open(rows, encoding="utf-8"))
embedder(texts[:16])
began, busy = time.perf_counter(), time.process_time()
vectors = embedder(texts)
seconds, busy = time.perf_counter() - began, time.process_time() - busy
queries = []
for text in texts[:20]:
    began = time.perf_counter()
    embedder([" ".join(text.split()[:8])])
    queries.append(time.perf_counter() - began)
sample = base64.b64encode(vectors[:64].astype("<f4").tobytes()).decode()
json.dump({"first_s": first, "texts_s": len(texts) / seconds,
           "texts_cpu_s": len(texts) / busy, "query_ms": sorted(queries)[10] * 1e3, "sample": sample},
          open(out, "w"))
"""


def rows_of(count: int, words: int = 120) -> list[str]:
    """``count`` real texts of exactly ``words`` words."""
    held: list[str] = []
    rows: list[str] = []
    for _, text in texts.documents():
        held += text.split()
        while len(held) >= words:
            rows.append(" ".join(held[:words]))
            del held[:words]
        if len(rows) > 40 * count:
            break
    return rows[:: max(1, len(rows) // count)][:count]


def environment_of(threads: int, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name == "IR_CACHE_DIR"}
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "IR_THREADS"), str(threads))
    return envs.clean_environment(**{**kept, **numbers, **more})


def finished(command: list[str], environment: dict[str, str]) -> str:
    """What a command prints; one that fails is a contestant that cannot be had."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise envs.Unavailable(done.stderr.strip().splitlines()[-1])
    return done.stdout


def ask(python: Path | str, code: str, arguments: list[str], threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [str(python), "-c", code.format(first=FIRST) + _REST, arguments[0], arguments[1], str(out)]
        finished([*command, *arguments[2:]], environment_of(threads))
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def better(held: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    if held is None:
        return new
    lowest = {name: min(held[name], new[name]) for name in ("first_s", "query_ms")}
    highest = {name: max(held[name], new[name]) for name in ("texts_s", "texts_cpu_s")}
    return {**new, **lowest, **highest}


def cosine(first: str, second: str) -> tuple[float, float]:
    """The mean and the least cosine of two samples of unit vectors."""
    import numpy as np

    left, right = (np.frombuffer(base64.b64decode(sample), "<f4").reshape(64, -1) for sample in (first, second))
    each = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    return float(each.mean()), float(each.min())


def measure(count: int, rounds: int, threads: int) -> dict[str, dict[str, Any]]:
    from ir.embed import model_dir

    contestants: dict[str, tuple[Path | str, str, list[str]]] = {name: (sys.executable, _OURS, [name]) for name in OURS}
    envs.REQUIRES.setdefault(PEER, PEER_PACKAGES)
    try:
        peer = envs.python_of(PEER)
        for batch in ("8", "32"):
            contestants[f"{PEER}, batch {batch}"] = (peer, _THEIRS, [str(model_dir("minilm")), batch])
    except envs.Unavailable as why:
        print(f"  without {PEER}: {why}", file=sys.stderr)
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path, more = Path(folder) / "texts.json", Path(folder) / "more.json"
        path.write_text(json.dumps(rows_of(count)), encoding="utf-8")
        # A table takes a second for ten thousand; fewer would measure how it meets each word for the first time.
        more.write_text(json.dumps(rows_of(10 * count)), encoding="utf-8")
        for turn in range(rounds):
            for name, (python, code, arguments) in contestants.items():
                given = [arguments[0], str(more if name == "static" else path), *arguments[1:]]
                found[name] = better(found.get(name), ask(python, code, given, 1 if name == "static" else threads))
                print(f"  round {turn + 1}, {name}: {found[name]['texts_s']:.1f} texts/s", file=sys.stderr, flush=True)
    return found


def starts(count: int, times: int, threads: int) -> dict[str, list[float]]:
    """Seconds of new processes, the interpreter's start included, and of the same texts embedded twice."""
    from ir.embed import model_dir

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "cache" / "models").mkdir(parents=True)
        (home / "cache" / "models" / "minilm").symlink_to(model_dir("minilm"), target_is_directory=True)
        (home / "texts.json").write_text(json.dumps(rows_of(count)), encoding="utf-8")
        places = {f"IR_{name.upper()}_DIR": str(home / name) for name in ("config", "data", "cache")}
        environment = environment_of(threads, **places, NO_COLOR="1")
        said = finished([sys.executable, "-c", _TWICE, str(home / "texts.json"), "bench", "again"], environment)
        first, second = (json.loads(line) for line in said.splitlines())
        found = {"embedded": [first[0], second[0]], "built": [first[1], second[1]]}
        commands = {name: [sys.executable, "-c", _FIRST_QUERY.format(first=FIRST), name] for name in NETWORKS}
        commands["ir search"] = [str(Path(sys.executable).parent / "ir"), "search", "bench", FIRST, "-k", "3"]
        for turn in range(times + 1):
            for name, command in commands.items():
                began = time.perf_counter()
                finished(command, environment)
                if turn:  # the first turn only warms the file cache
                    found.setdefault(name, []).append(time.perf_counter() - began)
    return found


def report(found: dict[str, dict[str, Any]], started: dict[str, list[float]], count: int, threads: int) -> Report:
    made = Report("embedding", quick=False)
    peers = {name: row for name, row in found.items() if name.startswith(PEER)}
    best = max((row["texts_s"] for row in peers.values()), default=None)
    reference = next((row["sample"] for row in peers.values()), None)
    title = f"{count:,} texts of 120 words, {threads} threads"
    table = made.table(
        title,
        "embedder",
        "texts/s",
        "texts per CPU second",
        "load and first query, s",
        "one query, ms",
        "cosine mean / min",
    )
    for name, row in found.items():
        near = "–"
        if reference is not None and name != "static":
            near = " / ".join(f"{value:.4f}" for value in cosine(row["sample"], reference))
        rates = [number(row["texts_s"]), number(row["texts_cpu_s"])]
        table.rows.append([name, *rates, f"{row['first_s']:.2f}", number(row["query_ms"]), near])
    default = peers.get(f"{PEER}, batch 32", {}).get("texts_s")
    for name, limit in (("minilm", 1.25), ("minilm-int8", 2.3)):
        for how, rate in (("at its default batch size, 32", default), ("at its better batch size", best)):
            ratio = None if rate is None else found[name]["texts_s"] / rate
            made.check(f"{name} against {PEER} {how}", ratio, limit)
        made.check(f"{name}: load and first query in a new process", median(started[name]), 0.6, "s", at_least=False)
    made.check("ir search with minilm in a new process", median(started["ir search"]), 1.0, "s", at_least=False)
    again = {name: 100 * started[name][1] / started[name][0] for name in ("embedded", "built")}
    made.check("embedding the same texts again, of the first time", again["embedded"], 2, "%", at_least=False)
    made.check("static, texts a second on one thread", found["static"]["texts_s"], 2500, "/s")
    fresh = made.table("New processes, the interpreter's start included", "", "median s", "fastest s")
    for name in (*NETWORKS, "ir search"):
        fresh.rows.append([name, f"{median(started[name]):.2f}", f"{min(started[name]):.2f}"])
    made.note(
        f"A second corpus of the same texts, built with all that belongs to it: {again['built']:.1f} % of the first."
    )
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.embedding", description=__doc__)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--starts", type=int, default=9, help="how many new processes of each kind")
    given = parser.parse_args()
    found = measure(given.texts, given.rounds, given.threads)
    started = starts(given.texts, given.starts, given.threads)
    made = report(found, started, given.texts, given.threads)
    made.note(f"Texts: {texts.origin()}.")
    print(made.markdown())
    made.save()
    return 1 if any(check.passed is False for check in made.checks) else 0


if __name__ == "__main__":
    sys.exit(main())
