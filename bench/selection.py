"""``python -m bench.selection [EMBEDDER]``: what the default selector keeps, against keeping one or three always.

For each tool collection, ten candidates are retrieved for each judged query; the selector sees those. Precision,
recall and F1 are means over the queries of which some gold was among the candidates (``ir.eval.evaluate_selection``).
"""

from __future__ import annotations

import random
import sys
from typing import Any

from bench.judged import corpus, embedder_of, judged_cases, markdown, queries_of
from ir.eval import DiscoveryCase, SelectionReport, SelectionSweep, evaluate_selection, sweep_selector
from ir.select import DFLT_MAX_K, DFLT_REL_THRESHOLD

MEASURED = ("bfcl_live", "metatool")
RELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
MAX_KS = (1, 2, 3, 5)
SELECTORS: dict[str, dict[str, Any]] = {
    f"default (max_k {DFLT_MAX_K}, rel {DFLT_REL_THRESHOLD:g})": {},
    "top 1": {"strategy": "top_k", "max_k": 1},
    "top 3": {"strategy": "top_k", "max_k": 3},
    "score gap": {"strategy": "score_gap"},
}


def figures(report: SelectionReport) -> list[float]:
    shown = (report.selection_precision, report.selection_recall, report.selection_f1, report.mean_selected_size)
    return [float(value or 0.0) for value in shown]


def halves(cases: list[DiscoveryCase]) -> tuple[list[DiscoveryCase], list[DiscoveryCase]]:
    shuffled = random.Random(3).sample(cases, len(cases))
    return shuffled[: len(cases) // 2], shuffled[len(cases) // 2 :]


def sweep(name: str, spec: str, cases: list[DiscoveryCase]) -> SelectionSweep:
    return sweep_selector(corpus(name, spec), cases, max_k_grid=MAX_KS, rel_grid=RELS)


def main(spec: str) -> None:
    embedder_of(spec).learn(query for name in MEASURED for query in queries_of(name))
    print(f"\nSelection among ten candidates, hybrid search, embedder {embedder_of(spec).id}\n")
    rows: list[list[object]] = []
    for name in MEASURED:
        fit, test = halves(judged_cases(name))
        for label, how in SELECTORS.items():
            rows.append([name, label, *figures(evaluate_selection(corpus(name, spec), test, **how))])
        best = sweep(name, spec, fit).best()
        tuned = evaluate_selection(corpus(name, spec), test, max_k=best.max_k, rel=best.rel)
        rows.append([name, f"best of the other half (max_k {best.max_k}, rel {best.rel:g})", *figures(tuned)])
    print(markdown(["collection", "selector", "precision", "recall", "F1", "mean size"], rows))
    print("\nF1 of every setting, all queries\n")
    points = {name: {(p.max_k, p.rel): p for p in sweep(name, spec, judged_cases(name)).points} for name in MEASURED}
    grid = []
    for max_k in MAX_KS:
        for rel in RELS:
            values = [points[name][max_k, rel].report.selection_f1 or 0.0 for name in MEASURED]
            grid.append([max_k, f"{rel:g}", *values, sum(values) / len(values)])
    grid.sort(key=lambda row: -float(str(row[-1])))
    print(markdown(["max_k", "rel", *MEASURED, "mean"], grid))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "default")
