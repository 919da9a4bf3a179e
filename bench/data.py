"""The documents, vectors and queries that every contestant gets. Made once, the same every time, kept in ``.data``."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench import embed_static, texts
from bench.envs import Unavailable, clean_environment, download, python_of

DATA = Path(__file__).parent / ".data"
QUERIES = 400
TABLE = "wordllama==0.4.0.post1"
Passage = tuple[str, list[str]]
Array = Any


@dataclass(frozen=True)
class DataSet:
    """A folder with ``texts.jsonl``, ``queries.json`` and, unless only texts are wanted, the vectors of both."""

    folder: Path
    count: int

    @cached_property
    def queries(self) -> list[str]:
        return list(json.loads((self.folder / "queries.json").read_text(encoding="utf-8")))

    @cached_property
    def vectors(self) -> Array:
        return np.load(self.folder / "vectors.npy", mmap_mode="r")

    @cached_property
    def query_vectors(self) -> Array:
        return np.load(self.folder / "query_vectors.npy")

    @cached_property
    def tenth_best(self) -> Array:
        """For each query the cosine that the tenth of the exact answer has."""
        return np.load(self.folder / "tenth_best.npy")

    def recall(self, answers: dict[int, list[int]]) -> float:
        """The mean share of each answer's first ten that belong there; texts with equal scores are equally good."""
        shares = []
        for query, ids in answers.items():
            found = np.asarray(ids[:10], dtype=np.int64)
            cosines = self.vectors[found] @ self.query_vectors[query] if len(found) else np.empty(0)
            shares.append(float(np.sum(cosines >= self.tenth_best[query] - 1e-6)) / min(10, self.count))
        return float(np.mean(shares))


def passages_set(count: int) -> DataSet:
    """``count`` passages of 20 to 70 words (mean about 54) with 384-d vectors; recombined beyond what there is."""
    folder = _home() / f"passages-{count}"
    if not (folder / "done").exists():
        print(f"  making {count:,} passages with vectors (once)", file=sys.stderr, flush=True)
        chosen = _passages(count)
        _write(folder, [" ".join(sentences) for _, sentences in chosen], [name for name, _ in chosen])
        _write_vectors(folder, [sentences for _, sentences in chosen])
        (folder / "done").touch()
    return DataSet(folder, count)


def seventy_words_set(count: int) -> DataSet:
    """``count`` texts of exactly 70 words, without vectors: the contestants embed them."""
    folder = _home() / f"seventy-{count}"
    if not (folder / "done").exists():
        rows = _shuffled(list(_runs_of_words(70)))[:count]
        if len(rows) < count:
            raise SystemExit(f"Only {len(rows)} texts of 70 words can be cut; {count} are wanted.")
        _write(folder, [text for _, text in rows], [name for name, _ in rows])
        (folder / "done").touch()
    return DataSet(folder, count)


def _home() -> Path:
    return DATA / ("real" if texts.collections_folder() else "generated")


def _shuffled(rows: list[Any]) -> list[Any]:
    random.Random(7).shuffle(rows)
    return rows


def _runs_of_words(size: int) -> Iterator[tuple[str, str]]:
    held: dict[str, list[str]] = {}
    for name, text in texts.documents():
        words = held.setdefault(name, [])
        words += text.split()
        while len(words) >= size:
            yield name, " ".join(words[:size])
            del words[:size]


def _passages(count: int) -> list[Passage]:
    """Real passages without repeats; beyond their number, sentences of one collection put together anew."""
    real: dict[str, Passage] = {}
    for name, text in texts.documents():
        for sentences in texts.passages(text):
            real.setdefault(" ".join(sentences), (name, sentences))
    chosen = _shuffled(list(real.values()))
    pools: dict[str, list[str]] = {}
    for name, sentences in chosen:
        pools.setdefault(name, []).extend(sentences)
    rng = random.Random(11)
    names = [name for name, _ in chosen]
    seen = set(real)
    while len(chosen) < count:
        name = rng.choice(names)
        sentences, size = [], 0
        while size < 53:
            sentences.append(rng.choice(pools[name]))
            size += len(sentences[-1].split())
        joined = " ".join(sentences)
        if joined not in seen:
            seen.add(joined)
            chosen.append((name, sentences))
    return chosen[:count]


def _write(folder: Path, rows: list[str], names: list[str]) -> None:
    """Texts with three fields to filter on; one value of each is on 5 % of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random.Random(13)
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as out:
        for number, (text, name) in enumerate(zip(rows, names, strict=True)):
            tags = [f"t{tag:02d}" for tag in rng.sample(range(60), 3)]
            metadata = {
                "collection": name,
                "group": f"g{rng.randrange(20):02d}",
                "tags": tags,
                "path": f"{name}/s{rng.randrange(20):02d}/{number:07d}.txt",
            }
            out.write(json.dumps({"id": number, "text": text, "metadata": metadata}, ensure_ascii=False) + "\n")
    (folder / "queries.json").write_text(json.dumps(_queries(rows), ensure_ascii=False), encoding="utf-8")


def _queries(rows: list[str]) -> list[str]:
    """Real queries and runs of six to nine words out of passages, in turn."""
    rng = random.Random(17)
    cut = []
    for text in rng.sample(rows[:2000], min(2 * QUERIES, len(rows), 2000)):
        words = text.split()
        start = rng.randrange(max(1, len(words) - 9))
        cut.append(" ".join(words[start : start + rng.randrange(6, 10)]))
    real = texts.queries() or cut[len(cut) // 2 :]
    return list(dict.fromkeys(query for pair in zip(real, cut, strict=False) for query in pair))[:QUERIES]


def _write_vectors(folder: Path, passages: list[list[str]]) -> None:
    """Vectors of texts and queries from one table, and the score that the tenth exact answer has."""
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    known = {text: number for number, text in enumerate(dict.fromkeys(s for row in passages for s in row))}
    sentences = [*known, *queries]
    (folder / "sentences.json").write_text(json.dumps(sentences), encoding="utf-8")
    _run_table(folder)
    rows = np.load(folder / "sums.npy")
    np.save(folder / "query_vectors.npy", embed_static.combine(rows[len(known) :]))
    shape = (len(passages), rows.shape[1])
    out = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    for at in range(0, len(passages), 20_000):
        part = passages[at : at + 20_000]
        starts = np.cumsum([0, *map(len, part)])[:-1]
        flat = np.asarray([known[sentence] for row in part for sentence in row])
        out[at : at + len(part)] = embed_static.combine(np.add.reduceat(rows[flat], starts))
    out.flush()
    np.save(folder / "tenth_best.npy", _tenth_best(out, np.load(folder / "query_vectors.npy")))
    for name in ("sums.npy", "sentences.json"):
        (folder / name).unlink()


def _run_table(folder: Path) -> None:
    try:
        command = [str(python_of("vectors")), embed_static.__file__, str(folder), str(download("vectors", TABLE))]
        source = TABLE
    except Unavailable as why:
        print(f"  note: {why}; vectors come from a made-up table", file=sys.stderr)
        command = [sys.executable, embed_static.__file__, str(folder)]
        source = "made-up table"
    subprocess.run(command, check=True, env=clean_environment())
    (folder / "vectors.txt").write_text(source)


def _tenth_best(vectors: Array, queries: Array) -> Array:
    best = np.empty((len(queries), 0), np.float32)
    for at in range(0, len(vectors), 50_000):
        cosines = np.hstack([best, queries @ vectors[at : at + 50_000].T])
        best = -np.partition(-cosines, min(9, cosines.shape[1] - 1), axis=1)[:, :10]
    return best.min(axis=1)
