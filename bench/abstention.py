"""``python -m bench.abstention [EMBEDDER]``: how well a floor refuses what a corpus is not about.

For each of four collections, its own judged queries should be accepted and queries of other collections refused. The
figure is Youden's J: the share of own queries accepted plus the share of foreign ones refused, less one. What counts as
foreign matters more than any setting, so several definitions are measured, and each is named in the table.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ir
from bench.judged import SETS, corpus, dataset, embedder_of, gate_scores, markdown, queries_of
from ir.eval import (
    DFLT_PERCENTILE,
    DiscoveryCase,
    calibrate_from_probes,
    calibrate_min_score,
    gold_removed_report,
    probe_queries,
)

MEASURED = ("bfcl_live", "metatool", "scifact", "nl2bash_tldr")
#: Which collections' queries are foreign. The two tool sets ask for much the same things, so they are foreign to each
#: other in name only; `all others` keeps them in.
FOREIGN: dict[str, tuple[str, ...] | None] = {
    "prose": ("scifact", "cranfield", "hotpotqa_small"),
    "other kind": None,
    "all others": SETS,
}
TOOLS = ("bfcl_live", "metatool", "nl2bash_tldr", "github_topics_alias")
PERCENTILES = (65.0, 70.0, 75.0, 80.0, 85.0)
MISSING_SAMPLE = 300


def foreign_sets(name: str, definition: str) -> list[str]:
    """The collections whose queries are foreign to ``name``; *other kind*: requests for tools against prose."""
    chosen = FOREIGN[definition]
    if chosen is None:
        chosen = tuple(other for other in SETS if (other in TOOLS) != (name in TOOLS))
    return [other for other in chosen if other != name]


def youden(floor: float, own: Any, foreign: Any) -> float:
    return float((own >= floor).mean() + (foreign < floor).mean() - 1)


def ceiling(own: Any, foreign: Any) -> float:
    """The best J that any floor could have."""
    return max(youden(floor, own, foreign) for floor in np.unique(np.concatenate([own, foreign])))


def halves(items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    shuffled = random.Random(5).sample(list(items), len(items))
    return shuffled[: len(items) // 2], shuffled[len(items) // 2 :]


def labelled_j(built: ir.Corpus, name: str, foreign: Sequence[str]) -> float:
    """J of a floor calibrated on half of the own and of the foreign queries, on the other half of both."""
    fit_own, test_own = halves([case for case in dataset(name).cases() if not case.gold_is_none])
    fit_foreign, test_foreign = halves(foreign)
    cases = [*fit_own, *(DiscoveryCase(query) for query in fit_foreign)]
    floor = calibrate_min_score(built, cases, rounds=1).min_score
    assert floor is not None
    own = gate_scores(built, [case.query for case in test_own])
    return youden(floor, own, gate_scores(built, test_foreign))


def measure(name: str, spec: str) -> dict[str, dict[str, float]]:
    """For each definition of foreign: J at each percentile of the probes, of labels, and the ceiling."""
    built = corpus(name, spec)
    own = gate_scores(built, queries_of(name))
    floors = {p: calibrate_from_probes(built, percentile=p).min_score or 0.0 for p in PERCENTILES}
    found: dict[str, dict[str, float]] = {}
    for definition in FOREIGN:
        sets = foreign_sets(name, definition)
        queries = {other: queries_of(other) for other in sets}
        scores = {other: gate_scores(built, texts) for other, texts in queries.items()}
        foreign = np.concatenate(list(scores.values()))
        row = {f"probes {p:g}": youden(floor, own, foreign) for p, floor in floors.items()}
        row["labelled"] = labelled_j(built, name, [text for texts in queries.values() for text in texts])
        row["ceiling"] = ceiling(own, foreign)
        row["own kept"] = float((own >= floors[DFLT_PERCENTILE]).mean())
        row["foreign refused"] = float((foreign < floors[DFLT_PERCENTILE]).mean())
        found[definition] = row
    return found


def missing(name: str, spec: str) -> Mapping[str, float | None]:
    """AUROC of each signal at telling a ranking with its answers from the same without them."""
    cases = [case for case in dataset(name).cases() if not case.gold_is_none]
    sample = random.Random(7).sample(cases, min(MISSING_SAMPLE, len(cases)))
    return gold_removed_report(corpus(name, spec), sample).auroc


def main(spec: str) -> None:
    embedder = embedder_of(spec)
    embedder.learn([*probe_queries(), *(query for name in SETS for query in queries_of(name))])
    results = {name: measure(name, spec) for name in MEASURED}
    print(
        f"\nYouden J, embedder {embedder.id}, hybrid search, floor on the raw cosine, {len(probe_queries())} probes\n"
    )
    for definition in FOREIGN:
        columns = list(results[MEASURED[0]][definition])
        rows = [[name, *results[name][definition].values()] for name in MEASURED]
        rows.append(["**mean**", *(float(np.mean([results[n][definition][c] for n in MEASURED])) for c in columns)])
        names = sorted({other for name in MEASURED for other in foreign_sets(name, definition)})
        print(f"Foreign: {definition} (queries of {', '.join(names)}; never a collection's own)\n")
        print(markdown(["collection", *columns], rows) + "\n")
    signals = {name: missing(name, spec) for name in MEASURED}
    body = []
    for signal in signals[MEASURED[0]]:
        values = [signals[name][signal] for name in MEASURED]
        known = [value for value in values if value is not None]
        body.append([signal, *(value if value is not None else "–" for value in values), float(np.mean(known))])
    print(f"Missing answer: AUROC with and without the gold, up to {MISSING_SAMPLE} queries of each, chance is .5\n")
    print(markdown(["signal", *MEASURED, "mean"], body))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "default")
