"""``python -m bench.quality [EMBEDDER] [--set NAME]… [--quick] [--joined N]``: ranking quality on judged collections.

For every collection in BEIR's layout at or below the folder ``IR_DATA_SETS``: nDCG@10 and Recall@100 of BM25, dense,
RRF, the default and the tuned choice (each query searched by what was chosen without it), with a paired randomization
test against RRF; then what each part of the default is worth, by leaving it out. Collections are built once and kept,
with the vectors of their queries; a second run embeds nothing. ``--quick`` leaves out tuning and the parts that need
another index. ``--joined N`` measures something else: every N documents, drawn at random, made into one that is longer
than the embedder reads, indexed whole and cut. A collection that cannot be read is named at the end, and the exit code
is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ir
from bench.judged import collection_names, dataset, embedder_of, fitted_corpus, markdown
from ir.analysis import analyzer
from ir.embed import best_available
from ir.errors import InvalidInput
from ir.eval import BeirDataset, compare_runs, make_run, per_query_values, ranking_of
from ir.store import LocalStore
from ir.tune import tuned_run

Run = Mapping[str, Mapping[str, float]]

MEASURES = ("ndcg@10", "recall@100")
DEPTH = 100
#: What a part is worth is measured on the first so many queries of each collection.
MOST_QUERIES = 300
SYSTEMS: dict[str, dict[str, Any]] = {
    "BM25": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "RRF": {"mode": "hybrid", "fusion": "rrf"},
    "default": {"mode": "hybrid"},
}
#: Other constants of the default, which need no other index.
CONSTANTS: dict[str, dict[str, Any]] = {
    **{f"alpha {alpha:g}": {"alpha": alpha} for alpha in (0.2, 0.3, 0.4, 0.5, 0.6)},
    **{f"saturation {value:g}": {"bm25_sat_k": value} for value in (15.0, 50.0, 70.0)},
    **{f"depth {depth}": {"depth": depth, "fetch_k": DEPTH} for depth in (100,)},
    "feedback .4": {"feedback": 0.4},
    "min-max, .6": {"fusion": "minmax", "alpha": 0.6},
    "DBSF, .6": {"fusion": "dbsf", "alpha": 0.6},
}


def score(run: Run, qrels: Mapping[str, Mapping[str, float]]) -> tuple[float, float]:
    values = per_query_values({qid: ranking_of(found) for qid, found in run.items()}, qrels, list(MEASURES))
    ndcg, recall = (sum(value[measure] for value in values.values()) / len(values) for measure in MEASURES)
    return ndcg, recall


def systems(name: str, spec: str, *, tuned: bool) -> dict[str, tuple[float, float, float | None]]:
    """For each way to search: both measures and how likely its difference to RRF is by luck alone."""
    queries, qrels = dataset(name).answered()
    built = fitted_corpus(name, spec)
    embedder_of(spec).learn(queries.values())
    runs: dict[str, Run] = {system: make_run(built, queries, k=DEPTH, **how) for system, how in SYSTEMS.items()}
    if tuned:
        runs["tuned"], ways = tuned_run(built, queries, qrels, k=DEPTH)
        print(f"    tuned: {', '.join(way.name for way in ways)}", file=sys.stderr)
    out = {}
    for system, run in runs.items():
        against = compare_runs(runs["RRF"], run, qrels, [MEASURES[0]]) if system != "RRF" else None
        out[system] = (*score(run, qrels), against.measures[MEASURES[0]].p_randomization if against else None)
    return out


@contextmanager
def changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """A constant of the library, changed for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def rebuilt(name: str, spec: str, place: Path, **options: Any) -> ir.Corpus:
    """The collection indexed in another way, aside; its vectors come from the cache."""
    language = fitted_corpus(name, spec).store.get_config()["language"]
    options = {"language": language, **options}
    return ir.build(dataset(name).source(), store=LocalStore(place), embedder=embedder_of(spec), **options)


def without_heading_weight(name: str, spec: str, queries: Mapping[str, str], place: Path) -> Run:
    with changed(analyzer, "HEADING_WEIGHT", 1):
        return make_run(rebuilt(name, spec, place), queries, k=DEPTH)


def without_stems(name: str, spec: str, queries: Mapping[str, str], place: Path) -> Run:
    return make_run(rebuilt(name, spec, place, language="none"), queries, k=DEPTH)


def without_parts(name: str, spec: str, queries: Mapping[str, str], place: Path) -> Run:
    analyzer._made.cache_clear()
    whole = analyzer.Analyzer.__init__.__defaults__
    analyzer.Analyzer.__init__.__defaults__ = ("english", False)
    try:
        return make_run(rebuilt(name, spec, place), queries, k=DEPTH)
    finally:
        analyzer.Analyzer.__init__.__defaults__ = whole
        analyzer._made.cache_clear()


def without_completion(name: str, spec: str, queries: Mapping[str, str], place: Path) -> Run:
    """A record that one channel did not return counts as 0 there."""
    from ir.retrieve import ranking

    with changed(ranking, "blend", lambda *args: None), changed(ranking, "NEEDS_COMPLETION", frozenset()):
        return make_run(fitted_corpus(name, spec), queries, k=DEPTH)


#: The default without one of its parts.
PARTS: dict[str, Callable[[str, str, Mapping[str, str], Path], Run]] = {
    "no stems, no stop words": without_stems,
    "identifiers not taken apart": without_parts,
    "headings count once": without_heading_weight,
    "scores not completed": without_completion,
}


def ablations(name: str, spec: str, aside: Path, *, quick: bool) -> dict[str, tuple[float, float]]:
    queries, qrels = dataset(name).answered()
    queries = dict(list(queries.items())[:MOST_QUERIES])
    qrels = {qid: qrels[qid] for qid in queries}
    built = fitted_corpus(name, spec)
    rows = {"default": score(make_run(built, queries, k=DEPTH), qrels)}
    for number, (label, run) in enumerate(() if quick else PARTS.items()):
        rows[label] = score(run(name, spec, queries, aside / f"{name.replace('/', '_')}-{number}"), qrels)
    for label, how in CONSTANTS.items():
        rows[label] = score(make_run(built, queries, k=DEPTH, **{"mode": "hybrid", **how}), qrels)
    return rows


def joined(name: str, parts: int) -> BeirDataset:
    """The collection with so many documents at a time made into one, which is relevant if one of them is."""
    data = dataset(name)
    ids = list(data.corpus)
    random.Random(0).shuffle(ids)
    owner = {doc: f"joined-{number // parts}" for number, doc in enumerate(ids)}
    texts: dict[str, list[str]] = {}
    for doc in ids:
        fields = data.corpus[doc]
        texts.setdefault(owner[doc], []).append(f"{fields.get('title') or ''}\n{fields.get('text') or ''}".strip())
    qrels: dict[str, dict[str, float]] = {qid: {} for qid in data.qrels}
    for qid, grades in data.qrels.items():
        for doc, grade in grades.items():
            if doc in owner:
                qrels[qid][owner[doc]] = max(grade, qrels[qid].get(owner[doc], grade))
    corpus = {doc: {"title": "", "text": "\n\n".join(part)} for doc, part in texts.items()}
    return BeirDataset(f"{name}, joined", corpus, data.queries, qrels)


def long_texts(name: str, spec: str, aside: Path, parts: int) -> list[float]:
    """nDCG@10 of BM25, of one ``alpha`` whatever is read, and of the default on whole documents; of BM25 and the
    default on cut ones."""
    data = joined(name, parts)
    queries, qrels = data.answered()
    embedder_of(spec).learn(queries.values())
    whole = ir.CorpusSource.from_mapping(data.corpus, name="whole", strategy=ir.WholeText(text_key="text"))
    same_alpha = {"mode": "hybrid", "alpha": getattr(embedder_of(spec), "blend_alpha", 0.5)}
    values = []
    for source, ways in (
        (whole, [SYSTEMS["BM25"], same_alpha, SYSTEMS["default"]]),
        (data.source(), [SYSTEMS["BM25"], SYSTEMS["default"]]),
    ):
        place = LocalStore(aside / f"{name.replace('/', '_')}-{len(ways)}")
        built = ir.build(source, store=place, embedder=embedder_of(spec), language="auto")
        values += [score(make_run(built, queries, k=DEPTH, **way), qrels)[0] for way in ways]
    return values


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def cell(ndcg: float, recall: float, p: float | None = None) -> str:
    mark = "" if p is None or p >= 0.05 else "*" if p >= 0.001 else "**"
    return f"{ndcg:.3f}{mark} / {recall:.3f}".replace("0.", ".")


def table(names: list[str], rows: Mapping[str, list[tuple[Any, ...]]], title: str) -> str:
    lines = [
        [label, *(cell(*values) for values in cells), cell(mean([c[0] for c in cells]), mean([c[1] for c in cells]))]
        for label, cells in rows.items()
    ]
    return markdown([title, *names, "mean"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("embedder", nargs="?", default=None, help="minilm, static, light or any other")
    parser.add_argument("--set", action="append", dest="sets", help="a collection; repeatable")
    parser.add_argument("--quick", action="store_true", help="no tuning, and no parts that need another index")
    parser.add_argument("--joined", type=int, metavar="N", help="measure N documents made into one, instead")
    asked = parser.parse_args()
    spec = asked.embedder or best_available()
    names, broken = readable(asked.sets or collection_names())
    with tempfile.TemporaryDirectory(prefix="ir-quality-") as aside:
        if names and asked.joined:
            rows = ([name, *long_texts(name, spec, Path(aside), asked.joined)] for name in names)
            ways = ["BM25, whole", "one alpha, whole", "default, whole", "BM25, cut", "default, cut"]
            print(markdown([f"joined by {asked.joined}", *ways], rows))
        elif names:
            report(names, spec, Path(aside), quick=asked.quick)
    if broken:
        sys.exit("\n".join(f"Not measured: {name}: {error}" for name, error in broken.items()))


def readable(names: list[str]) -> tuple[list[str], dict[str, InvalidInput]]:
    """The collections that can be measured, and what is wrong with the others."""
    broken = {}
    for name in names:
        try:
            dataset(name).answered()
        except InvalidInput as error:
            broken[name] = error
            continue
        for warning in dataset(name).warnings():
            print(f"  {name}: {warning}", file=sys.stderr)
    return [name for name in names if name not in broken], broken


def report(names: list[str], spec: str, aside: Path, *, quick: bool) -> None:
    """Measure, and print as soon as a table is complete."""
    measured = {name: systems(name, spec, tuned=not quick) for name in names}
    print(
        f"nDCG@10 / Recall@100 with {spec}; * p < .05, ** p < .001 against RRF (nDCG@10, paired randomization)\n",
        flush=True,
    )
    print(table(names, {row: [measured[name][row] for name in names] for row in measured[names[0]]}, "system"))
    parts = {name: ablations(name, spec, aside, quick=quick) for name in names}
    print(f"\nThe default with one thing changed, on the first {MOST_QUERIES} queries of each collection\n")
    print(table(names, {row: [parts[name][row] for name in names] for row in parts[names[0]]}, "change"))


if __name__ == "__main__":
    main()
