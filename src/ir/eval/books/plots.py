"""Pictures of what was measured of books."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ir.eval.plots import new_axes, plot_bars, plot_by_k, to_png

__all__ = ["plot_graph_gain", "plot_hits", "plot_routing"]

_NAMES = {"hit": "hit", "section_hit": "right section", "expanded_hit": "expanded gold"}


def plot_hits(curves: Mapping[str, Mapping[str, float]], *, path: str | Path | None = None) -> bytes:
    """Hits by depth, one line for each way to count them."""
    lines = {_NAMES.get(name, name): {int(k): value for k, value in held.items()} for name, held in curves.items()}
    return plot_by_k(lines, metric="hit@k", title="Hits by depth", path=path)


def plot_routing(
    rows: Sequence[tuple[int | None, float | None, Mapping[str, float]]], *, path: str | Path | None = None
) -> bytes:
    """What searching fewer chapters costs: evaluability, MRR and hit@1 of all questions, by the number of chapters."""
    figure, axes = new_axes("Routing by chapters", "chapters that are searched", "share")
    places = range(len(rows))
    ordered = sorted(rows, key=lambda row: (row[0] is None, row[0] or 0))
    for name, values in (
        ("evaluability", [row[1] for row in ordered]),
        ("MRR", [row[2].get("mrr") for row in ordered]),
        ("hit@1", [row[2].get("hit@1") for row in ordered]),
    ):
        axes.plot(places, [float("nan") if value is None else value for value in values], marker="o", label=name)
    axes.set_xticks(list(places), ["all" if row[0] is None else str(row[0]) for row in ordered])
    axes.set_ylim(0, 1.02)
    axes.legend()
    return to_png(figure, path)


def plot_graph_gain(gains: Mapping[str, Mapping[str, float]], *, path: str | Path | None = None) -> bytes:
    """What following links adds to each measure, or takes from it."""
    return plot_bars(gains, title="What links gain", y="difference to no links", path=path, signed=True)
