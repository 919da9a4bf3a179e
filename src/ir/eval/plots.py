"""Reports as pictures: each function gives the bytes of a PNG, and writes them to ``path`` if there is one.

Drawn off screen with matplotlib, which is loaded on first use.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from ir.config import cache_dir
from ir.config.files import write_atomic
from ir.errors import InvalidInput, MissingExtra, StoreUnwritable
from ir.eval.measures import Qrels, mean, measure_names, per_query_values
from ir.eval.runs import Run, rankings
from ir.eval.sweep import SelectionSweep

__all__ = [
    "depth_curves",
    "new_axes",
    "plot_bars",
    "plot_by_k",
    "plot_distractors",
    "plot_frontier",
    "plot_scores",
    "plot_thresholds",
    "run_by_k",
    "to_png",
]

_SIZE = (7.0, 4.2)
_DPI = 110
#: The user's fonts, with the place where they are remembered ahead of all others.
_FONTCONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <cachedir>{cache}</cachedir>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
</fontconfig>
"""
Curves = Mapping[str, Mapping[int, float]]


def new_axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    """A figure to draw in, and its axes."""
    try:
        with _fonts_listed_in_our_cache():
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "eval", "Drawing plots") from None
    # A figure made by hand: pyplot would keep it in memory and choose the backend for the whole process.
    figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


@contextmanager
def _fonts_listed_in_our_cache() -> Iterator[None]:
    """Let matplotlib, if it is imported here for the first time, keep what it finds out about fonts in our cache.

    It would make folders in the home for that, and so would fontconfig, which it asks. What a user has set stays.
    """
    home = cache_dir() / "matplotlib"
    if "matplotlib" in sys.modules:
        yield
        return
    os.environ.setdefault("MPLCONFIGDIR", str(home))  # it stays: the list of fonts is looked for there later, too
    if "FONTCONFIG_FILE" in os.environ:
        yield
        return
    settings = home / "fonts.conf"
    with suppress(StoreUnwritable):  # where nothing can be kept, the plot is drawn all the same
        write_atomic(settings, _FONTCONFIG.format(cache=escape(str(home / "fontconfig"))))
        os.environ["FONTCONFIG_FILE"] = str(settings)
    try:
        yield
    finally:
        os.environ.pop("FONTCONFIG_FILE", None)


def to_png(figure: Any, path: str | Path | None) -> bytes:
    """The figure as a picture, written to ``path`` if there is one."""
    buffer = io.BytesIO()
    # No date or version in the file: the same figures give the same bytes.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    data = buffer.getvalue()
    if path is not None:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)
        except OSError as error:
            raise StoreUnwritable(f"{path} cannot be written: {error.strerror or error}.") from None
    return data


def run_by_k(
    run: Run, qrels: Qrels, metric: str = "ndcg", k_values: Sequence[int] = (1, 3, 5, 10, 20, 50, 100)
) -> dict[int, float]:
    """A measure at several depths, to be drawn by :func:`plot_by_k`.

    >>> run_by_k({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}, "recall", [1, 2])
    {1: 0.0, 2: 1.0}
    """
    values = per_query_values(rankings(run), qrels, measure_names([metric], k_values))
    means = {k: mean(query[f"{metric}@{k}"] for query in values.values()) for k in sorted(set(k_values))}
    return {k: value for k, value in means.items() if value is not None}


def depth_curves(
    run: Run, qrels: Qrels, metrics: Sequence[str] = ("ndcg", "recall", "success", "mrr")
) -> dict[str, dict[str, float]]:
    """What :func:`plot_by_k` draws, as data for whoever draws it: ``{"ndcg": {"1": 0.4, "10": 0.6}}``."""
    if not run or not qrels:
        return {}
    return {name: {str(k): value for k, value in run_by_k(run, qrels, name).items()} for name in metrics}


def plot_by_k(
    curves: Curves, *, metric: str = "nDCG", title: str | None = None, path: str | Path | None = None
) -> bytes:
    """A measure by depth, one line for each run: ``{"hybrid": {1: 0.4, 10: 0.6}}``."""
    if not curves or not any(curves.values()):
        raise InvalidInput("There is nothing to draw: give at least one curve with a value.")
    figure, axes = new_axes(title or f"{metric} by k", "k", metric)
    for name, values in curves.items():
        ks = sorted(values)
        axes.plot(ks, [values[k] for k in ks], marker="o", label=name)
    axes.set_xscale("log")
    ticks = sorted({k for values in curves.values() for k in values})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.legend()
    return to_png(figure, path)


def plot_bars(
    groups: Mapping[str, Mapping[str, float]],
    *,
    title: str,
    y: str,
    path: str | Path | None = None,
    signed: bool = False,
) -> bytes:
    """Bars side by side, one group for each name: ``{"hybrid": {"nDCG": 0.4, "Recall": 0.6}}``; those that are
    ``signed`` may go down, and the axis fits them."""
    series = list(dict.fromkeys(name for values in groups.values() for name in values))
    if not series:
        raise InvalidInput("There is nothing to draw: give at least one group with a value.")
    figure, axes = new_axes(title, "", y)
    width = 0.8 / len(series)
    for at, name in enumerate(series):
        places = [place + (at - (len(series) - 1) / 2) * width for place in range(len(groups))]
        bars = axes.bar(places, [values.get(name, 0.0) for values in groups.values()], width, label=name)
        axes.bar_label(bars, fmt="%.2f", fontsize=7)
    many = len(groups) > 4
    slanted = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if many else {}
    axes.set_xticks(range(len(groups)), list(groups), fontsize=7, **slanted)
    if signed:
        axes.axhline(0, color="black", linewidth=0.8)
        axes.margins(y=0.15)
    else:
        axes.set_ylim(0, 1.08)
    axes.legend(fontsize=8)
    return to_png(figure, path)


def plot_frontier(
    sweep: SelectionSweep,
    *,
    x: str = "selection_recall",
    y: str = "selection_precision",
    path: str | Path | None = None,
) -> bytes:
    """All settings of a sweep, the undominated ones joined by a line and labelled, the best one marked."""
    figure, axes = new_axes("Selector settings", x.replace("_", " "), y.replace("_", " "))
    placed = [(point.value(x), point.value(y)) for point in sweep.points]
    known = [(at, up) for at, up in placed if at is not None and up is not None]
    axes.scatter([at for at, _ in known], [up for _, up in known], s=22, alpha=0.5, label="all settings")
    front = [point for point in sweep.frontier(x=x, y=y) if point.value(x) is not None and point.value(y) is not None]
    axes.plot([point.value(x) for point in front], [point.value(y) for point in front], marker="o", label="frontier")
    for point in {(point.value(x), point.value(y)): point for point in front}.values():
        axes.annotate(f"{point.max_k} · {point.rel:g}", (point.value(x), point.value(y)), fontsize=7)
    best = sweep.best()
    if best.value(x) is not None and best.value(y) is not None:
        axes.scatter(
            [best.value(x)], [best.value(y)], marker="*", s=160, label=f"best {sweep.objective.replace('_', ' ')}"
        )
    axes.legend(title="labels: max_k · rel", fontsize=8)
    return to_png(figure, path)


def plot_thresholds(
    grid: Sequence[tuple[float, float, float, float]], *, chosen: float | None = None, path: str | Path | None = None
) -> bytes:
    """Precision, recall and F1 over the threshold; ``grid`` has ``(threshold, precision, recall, f1)``."""
    figure, axes = new_axes("What a threshold makes of it", "threshold", "share")
    for column, name in enumerate(("precision", "recall", "F1"), start=1):
        axes.plot([row[0] for row in grid], [row[column] for row in grid], marker=".", label=name)
    if chosen is not None:
        axes.axvline(chosen, color="black", linestyle="--", label=f"chosen: {chosen:.3f}")
    axes.legend(fontsize=8)
    return to_png(figure, path)


def plot_scores(
    scores: Mapping[str, Sequence[float]],
    *,
    floor: float | None = None,
    signal: str = "score",
    path: str | Path | None = None,
) -> bytes:
    """Distributions of the gate's score, one for each kind of query, with the floor between them."""
    finite = {name: np.asarray([v for v in values if np.isfinite(v)], dtype=float) for name, values in scores.items()}
    everything = np.concatenate(list(finite.values())) if finite else np.zeros(0)
    if not len(everything):
        raise InvalidInput("There is nothing to draw: no kind of query has a finite score.")
    figure, axes = new_axes("Scores and the floor", signal, "share of queries")
    edges = np.linspace(float(everything.min()), float(everything.max()) + 1e-9, 31)
    for name, values in finite.items():
        if len(values):
            weights = np.full(len(values), 1 / len(values))
            axes.hist(values, bins=edges, weights=weights, alpha=0.55, label=f"{name} ({len(values)})")
    if floor is not None:
        axes.axvline(floor, color="black", linestyle="--", label=f"floor {floor:.3f}")
    axes.legend()
    return to_png(figure, path)


def plot_distractors(
    curves: Mapping[int, float] | Mapping[str, Mapping[int, float]], *, path: str | Path | None = None
) -> bytes:
    """One distractor curve, or several by name."""
    several: dict[str, Mapping[int, float]] = {}
    for key, value in curves.items():
        if isinstance(value, Mapping):
            several[str(key)] = value
        else:
            several.setdefault("accuracy", {})[int(key)] = float(value)  # type: ignore[index]
    if not any(several.values()):
        raise InvalidInput("There is nothing to draw: the curve is empty.")
    figure, axes = new_axes("Finding the right one among distractors", "catalogue size", "share found")
    for name, values in several.items():
        sizes = sorted(values)
        axes.plot(sizes, [values[size] for size in sizes], marker="o", label=name)
    axes.set_xscale("log", base=2)
    ticks = sorted({size for values in several.values() for size in values})
    axes.set_xticks(ticks, [str(size) for size in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.legend()
    return to_png(figure, path)
