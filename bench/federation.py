"""``python -m bench.federation [EMBEDDER]``: several corpora asked at once, without labels of any kind.

Three corpora that are about different things: skills, the Kubernetes documentation, the FastAPI documentation. Queries
are the titles of pages and the first sentences of skills' descriptions, which are not part of what is indexed. A
query's own corpus is *strong* for it, the others *weak*. Measured: that every result names the corpus it came from,
how often the right corpus comes first and the very document is among the answers, alone and federated, and how often
a weak corpus pushes out what the strong one alone would have committed to. That is told apart from the case that the
other corpus is not weak at all: the hit that scores highest of all corpora should always be kept.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import ir
from bench.judged import KEPT, embedder_of, markdown, need_collections
from ir.eval import calibrate_from_probes, probe_queries
from ir.eval.files import read_jsonl
from ir.select import DiscoveryResult, discover
from ir.store import LocalStore

SOURCES = ("skills", "k8s_docs", "fastapi_docs")
QUERIES = 100
CHARS = 4000


@dataclass(frozen=True)
class Question:
    text: str
    source: str
    gold: str


@cache
def documents(name: str) -> dict[str, tuple[str, str]]:
    """For each document what to ask for it and its text: a page's title and the page without it, the first sentence
    of a skill's description and the body without the description."""
    found = {}
    for _, row in read_jsonl(need_collections() / "corpora" / name / "corpus.jsonl"):
        text, body = str(row.get("text") or ""), str(row.get("body") or "")
        if body:
            query, text = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0][:200], body
        else:
            query = str(row.get("title") or "").partition("{")[0].strip()
            text = text.replace(query, "") if query else ""
        if len(query.split()) >= 2 and len(text) > 200:
            found[str(row["_id"])] = (query, text[:CHARS])
    return found


def build(name: str, spec: str) -> ir.Corpus:
    embedder = embedder_of(spec)
    texts = {key: text for key, (_, text) in documents(name).items()}
    source = ir.CorpusSource.from_mapping(texts, name=name)
    place = KEPT / f"federated-{name}-{embedder.id.replace('/', '_')}"
    built = ir.build(source, store=LocalStore(place), embedder=embedder)
    print(f"  {name}: {len(built.store):,} records", file=sys.stderr, flush=True)
    return built


def questions(name: str) -> list[Question]:
    """Queries that stand for one document only, of all corpora."""
    titles = [title for other in SOURCES for title, _ in documents(other).values()]
    own = [Question(title, name, key) for key, (title, _) in documents(name).items() if titles.count(title) == 1]
    return random.Random(11).sample(own, min(QUERIES, len(own)))


Ask = Callable[[Question], DiscoveryResult]


def pairs(result: DiscoveryResult) -> list[tuple[str | None, str]]:
    return [(shown.source, shown.artifact_id) for shown in result.results]


@dataclass(frozen=True)
class Alone:
    """What each corpus commits to first by itself."""

    own: set[tuple[str | None, str]]
    strongest: set[tuple[str | None, str]]


def asked_alone(question: Question, corpora: Mapping[str, ir.Corpus]) -> Alone:
    results = {name: discover([built], question.text) for name, built in corpora.items()}
    best = max((name for name in results if results[name].results), key=lambda name: results[name].results[0].score)
    return Alone(set(pairs(results[question.source])[:1]), set(pairs(results[best])[:1]))


def measure(
    asked: Sequence[Question], ask: Ask, alone: Mapping[Question, Alone], texts: Mapping[str, Mapping[str, str]]
) -> list[object]:
    """A row of the table: shares over the questions, the mean size, and whether every result says where it is from."""
    first = found = kept = strongest = size = 0
    honest = True
    for question in asked:
        result = ask(question)
        got = pairs(result)
        first += bool(got) and got[0][0] == question.source
        found += (question.source, question.gold) in got
        size += len(got)
        # What the strong corpus alone commits to first should survive the company of the others.
        kept += alone[question].own <= set(got)
        strongest += alone[question].strongest <= set(got)
        honest &= all(shown.summary in texts[str(shown.source)].get(shown.artifact_id, "") for shown in result.results)
    n = len(asked)
    return [first / n, found / n, kept / n, strongest / n, size / n, "yes" if honest else "NO"]


def main(spec: str) -> None:
    asked = {name: questions(name) for name in SOURCES}
    asked["all"] = [question for name in SOURCES for question in asked[name]]
    embedder_of(spec).learn([*probe_queries(), *(question.text for question in asked["all"])])
    corpora = {name: build(name, spec) for name in SOURCES}
    for built in corpora.values():
        calibrate_from_probes(built, persist=True)
    texts = {name: {key: text for key, (_, text) in documents(name).items()} for name in SOURCES}
    together = list(corpora.values())

    alone = {question: asked_alone(question, corpora) for question in asked["all"]}
    ways: dict[str, Ask] = {
        "the right corpus alone": lambda question: discover([corpora[question.source]], question.text),
        "by rank (default)": lambda question: discover(together, question.text),
        "by rank, floors from probes": lambda question: discover(together, question.text, min_score="auto"),
        "by raw score": lambda question: discover(together, question.text, merge="score"),
        "by rank, nothing dropped (rel 0)": lambda question: discover(together, question.text, rel=0.0),
    }
    print(f"\nFederated discovery, hybrid search, embedder {embedder_of(spec).id}, {len(asked['all'])} queries\n")
    rows = [[way, name, *measure(some, ask, alone, texts)] for way, ask in ways.items() for name, some in asked.items()]
    header = ["merged", "queries of", "right corpus first", "document found", "strong corpus's best kept"]
    print(markdown([*header, "strongest of all kept", "size", "provenance right"], rows))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1] if len(sys.argv) > 1 else "default")
