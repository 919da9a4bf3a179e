"""``python -m bench.abstention [EMBEDDER]``: how well a floor refuses what a corpus is not about.

For each of four collections, its own judged queries should be accepted and queries of other collections refused. The
figure is Youden's J: the share of own queries accepted plus the share of foreign ones refused, less one. What counts as
foreign matters more than any setting, so several definitions are measured, and each is named in the table. Labelled
floors are calibrated on one half of the queries and tested on the other; the figure is the mean of several halvings.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.judged import SETS, corpus, embedder_of, gate_scores, judged_cases, markdown, queries_of, searched
from ir.eval import DFLT_PERCENTILE, calibrate_from_probes, gold_removed_report, probe_queries
from ir.eval.calibration import calibrate_retrieved
from ir.eval.floors import Objective
from ir.eval.retrieval import Retrieved
from ir.select.signals import signals_for

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
HALVINGS = 20
TOP1, TOP3 = "dense", "dense-top3"


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


def halves(items: Sequence[Any], seed: int) -> tuple[list[Any], list[Any]]:
    shuffled = random.Random(seed).sample(list(items), len(items))
    return shuffled[: len(items) // 2], shuffled[len(items) // 2 :]


def labelled_j(
    own: Sequence[Retrieved], foreign: Sequence[Retrieved], signal: str | None
) -> tuple[float, Counter[str]]:
    """J of floors calibrated on half of the own and of the foreign queries, on the other half of both; and which
    signals the halves chose."""
    found, chosen = [], Counter[str]()
    for seed in range(HALVINGS):
        (fit_own, test_own), (fit_foreign, test_foreign) = halves(own, seed), halves(foreign, seed)
        made = calibrate_retrieved(
            [*fit_own, *fit_foreign],
            {"corpus_name": "", "mode": "hybrid", "k": 10},
            Objective(),
            signal=signal,
            rounds=0,
        )
        assert made.min_score is not None
        chosen[made.signal] += 1
        found.append(youden(made.min_score, gate_scores(test_own, made.signal), gate_scores(test_foreign, made.signal)))
    return float(np.mean(found)), chosen


def measure(name: str, spec: str) -> dict[str, dict[str, Any]]:
    """For each definition of foreign: J at each percentile of the probes, of labels, and the ceiling."""
    built = corpus(name, spec)
    asked = {other: searched(name, spec, other) for other in SETS}
    own = gate_scores(asked[name], TOP1)
    floors = {p: calibrate_from_probes(built, percentile=p).min_score or 0.0 for p in PERCENTILES}
    three = calibrate_from_probes(built, signal=TOP3).min_score or 0.0
    found: dict[str, dict[str, Any]] = {}
    for definition in FOREIGN:
        strangers = [item for other in foreign_sets(name, definition) for item in asked[other]]
        foreign = gate_scores(strangers, TOP1)
        row: dict[str, Any] = {f"probes {p:g}": youden(floor, own, foreign) for p, floor in floors.items()}
        row["probes, best 3"] = youden(three, gate_scores(asked[name], TOP3), gate_scores(strangers, TOP3))
        for signal in signals_for("hybrid"):
            row[f"labelled, {signal}"] = labelled_j(asked[name], strangers, signal)[0]
        row["labelled"], chosen = labelled_j(asked[name], strangers, None)
        row["ceiling, dense"] = ceiling(own, foreign)
        row["own kept"] = float((own >= floors[DFLT_PERCENTILE]).mean())
        row["foreign refused"] = float((foreign < floors[DFLT_PERCENTILE]).mean())
        row["chosen"] = ", ".join(f"{signal} {times}" for signal, times in chosen.most_common())
        found[definition] = row
    return found


def missing(name: str, spec: str) -> Mapping[str, float | None]:
    """AUROC of each signal at telling a ranking with its answers from the same without them."""
    cases = judged_cases(name)
    sample = random.Random(7).sample(cases, min(MISSING_SAMPLE, len(cases)))
    return gold_removed_report(corpus(name, spec), sample).auroc


def main(spec: str) -> None:
    embedder = embedder_of(spec)
    embedder.learn([*probe_queries(), *(query for name in SETS for query in queries_of(name))])
    results = {name: measure(name, spec) for name in MEASURED}
    print(f"\nYouden J, embedder {embedder.id}, hybrid search, {len(probe_queries())} probes, {HALVINGS} halvings\n")
    for definition in FOREIGN:
        names = sorted({other for name in MEASURED for other in foreign_sets(name, definition)})
        print(f"Foreign: {definition} (queries of {', '.join(names)}; never a collection's own)\n")
        rows = []
        for column in results[MEASURED[0]][definition]:
            values = [results[name][definition][column] for name in MEASURED]
            mean = float(np.mean(values)) if column != "chosen" else ""
            rows.append([column, *values, mean])
        print(markdown(["floor", *MEASURED, "mean"], rows) + "\n")
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
