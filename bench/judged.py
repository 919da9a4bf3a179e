"""Judged collections as corpora, built once for each embedder and kept in ``.data``; query vectors are kept too."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ir
from bench.texts import ROOT, collections_folder
from ir.embed import make_embedder
from ir.eval import BeirDataset, DiscoveryCase, find_beir, load_beir
from ir.eval.retrieval import Retrieved, retrieve_cases
from ir.select.signals import signal_score
from ir.store import LocalStore

KEPT = ROOT / "bench" / ".data" / "judged"
SETS = (
    *("bfcl_live", "metatool", "scifact", "nl2bash_tldr"),
    *("cranfield", "cisi", "hotpotqa_small", "github_topics_alias"),
)


class Remembering:
    """An embedder that keeps the vectors of queries in a file, so that a second run embeds nothing."""

    def __init__(self, spec: str) -> None:
        self._inner, self.id = make_embedder(spec)
        self.fingerprint = getattr(self._inner, "fingerprint", None)
        self.cacheable = False  # the inner one keeps the vectors of documents
        # An embedder may come to make other vectors under its name: those of before must not be mixed with them.
        kind = hashlib.blake2b(str(self.fingerprint).encode(), digest_size=4).hexdigest()
        self._path = KEPT / f"queries-{self.id.replace('/', '_')}-{kind}.npz"
        self._known: dict[str, Any] = {}
        if self._path.exists():
            with np.load(self._path) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        if input_type != "query":
            return self._inner(texts, input_type=input_type)
        self._learn(texts)
        return np.stack([self._known[_key(text)] for text in texts])

    def learn(self, texts: Iterable[str]) -> None:
        """Embed queries in batches and keep them."""
        if self._learn(list(texts)):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part.npz")
            np.savez(part, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
            part.replace(self._path)

    def _learn(self, texts: Sequence[str]) -> int:
        new = {key: text for text in texts if (key := _key(text)) not in self._known}
        names, left = list(new), list(new.values())
        for at in range(0, len(left), 256):
            vectors = self._inner(left[at : at + 256], input_type="query")
            self._known.update(zip(names[at : at + 256], vectors, strict=True))
        return len(new)


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def need_collections() -> Path:
    """The folder of the collections; without it there is nothing to measure."""
    given = Path(os.environ.get("IR_DATA_SETS") or "")
    folder = given if given.name and given.is_dir() else collections_folder()
    if folder is None:
        sys.exit("The judged collections were not found; set IR_DATA_SETS to the folder that holds scifact and others.")
    return folder


def collection_names() -> list[str]:
    """Every collection at or below the folder, as paths from there; the well-known ones first."""
    folder = need_collections()
    found = [path.relative_to(folder).as_posix() for path in find_beir(folder)]
    return [*(name for name in SETS if name in found), *(name for name in found if name not in SETS)]


@cache
def embedder_of(spec: str) -> Remembering:
    return Remembering(spec)


@cache
def dataset(name: str) -> BeirDataset:
    return load_beir(need_collections() / name)


@cache
def corpus(name: str, spec: str) -> ir.Corpus:
    """A collection as a corpus, one surface to a document; ``corpora/NAME`` is one without judgements."""
    folder = need_collections() / name
    items = dataset(name).corpus if (folder / "queries.jsonl").exists() else _documents(folder)
    strategy = ir.WholeText(text_key="text")
    return _built(name, ir.CorpusSource.from_mapping(items, name=folder.name, strategy=strategy), spec)


@cache
def fitted_corpus(name: str, spec: str) -> ir.Corpus:
    """A collection as ``ir eval beir`` builds it: in its own language, long documents cut."""
    return _built(name, dataset(name).source(), spec, language="auto", kept_as="fitted")


def _built(name: str, source: Any, spec: str, *, language: str | None = None, kept_as: str = "") -> ir.Corpus:
    embedder = embedder_of(spec)
    words = [name.replace("/", "_"), embedder.id.replace("/", "_"), kept_as]
    print(f"  {name} …", end="", file=sys.stderr, flush=True)
    place = KEPT / "-".join(filter(None, words))
    built = ir.build(source, store=LocalStore(place), embedder=embedder, language=language)
    print(f" {len(built.store):,} records, {built.store.get_config()['language']}", file=sys.stderr)
    return built


def _documents(folder: Path) -> dict[str, dict[str, Any]]:
    from ir.eval.files import read_jsonl

    rows = (line for _, line in read_jsonl(folder / "corpus.jsonl"))
    return {str(row["_id"]): {"title": row.get("title") or "", "text": _text(row)} for row in rows if _text(row)}


def _text(row: dict[str, Any]) -> str:
    return str(row.get("text") or row.get("body") or "")


def queries_of(name: str) -> list[str]:
    """The judged queries of a collection."""
    data = dataset(name)
    return [data.queries[qid] for qid in data.qrels if qid in data.queries]


def judged_cases(name: str) -> list[DiscoveryCase]:
    """The queries of a collection that have an answer there."""
    return [case for case in dataset(name).cases() if not case.gold_is_none]


def searched(name: str, spec: str, queries: str, *, k: int = 10) -> list[Retrieved]:
    """The judged queries of one collection asked of another, where nothing answers them, or of its own."""
    own = judged_cases(queries)
    cases = own if queries == name else [DiscoveryCase(case.query) for case in own]
    return retrieve_cases(corpus(name, spec), cases, mode="hybrid", k=k)


def gate_scores(found: Iterable[Retrieved], signal: str) -> Any:
    """The number that a floor is compared with, for each query; minus infinity where nothing was found."""
    values = [signal_score(item.hits, signal) for item in found]
    return np.array([-np.inf if value is None else value for value in values])


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a page; numbers with three digits, as shares are usually written."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
