"""A floor without labels: what queries about other things score on this corpus.

A few hundred probe queries over many subjects ship with the package. Most of them are off topic for any one corpus, so
the scores of their best hits show what *off topic* looks like there; the floor is a high percentile of those. Some
probes are on topic by chance. They score higher, lie above the percentile, and as long as they are a minority they
move the floor little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ir.errors import InvalidInput
from ir.eval.calibration import split_signals, summary
from ir.eval.cases import DiscoveryCase
from ir.eval.curves import share_below_curve
from ir.eval.files import read_lines
from ir.eval.floors import Floats
from ir.eval.records import MinScoreCalibration, check_persistable
from ir.eval.retrieval import DFLT_MODE, as_corpus, embedder_id_of, name_of, retrieve_cases
from ir.eval.signals import fusion_of
from ir.options import choice
from ir.select.gate import rerank_name
from ir.select.signals import default_signal, signals_for

__all__ = ["DFLT_PERCENTILE", "calibrate_from_probes", "probe_queries", "read_probes"]

#: Between losing answers (higher) and letting strangers in (lower); 75 was the best compromise on four collections.
DFLT_PERCENTILE = 75.0
_FEWEST = 20


@cache
def probe_queries() -> tuple[str, ...]:
    """The probes that ship with the package.

    >>> len(probe_queries()) >= 250
    True
    """
    text = files("ir.eval").joinpath("probes.txt").read_text(encoding="utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def read_probes(path: str | Path) -> tuple[str, ...]:
    """Probes of one's own: a query on each line; lines that begin with ``#`` are comments."""
    return tuple(line.strip() for _, line in read_lines(path) if not line.startswith("#"))


def calibrate_from_probes(
    corpus: Any,
    *,
    mode: str = DFLT_MODE,
    percentile: float = DFLT_PERCENTILE,
    persist: bool = False,
    probes: Sequence[str] | None = None,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    signal: str | None = None,
    **search_kw: Any,
) -> MinScoreCalibration:
    """The floor at a percentile of what the probes score on ``corpus``: by default the best raw score of the mode's
    channel, or another ``signal`` of ``ir.select.signals``.

    The result's ``error_rate`` and ``specificity`` are about the probes alone: the share of them that the floor
    accepts and refuses. How many answerable queries it refuses cannot be known without labels, so ``sensitivity``
    stays ``None``. Give ``probes`` of your own (at least 20) if most of ours are about what your corpus is about.
    """
    if isinstance(percentile, bool) or not 0 < percentile < 100:
        raise InvalidInput(f"percentile must be a number above 0 and below 100, not {percentile!r}.")
    read = default_signal(mode) if signal is None else choice("signal", signal, signals_for(mode))
    queries = list(probe_queries() if probes is None else probes)
    if len(queries) < _FEWEST:
        raise InvalidInput(f"A percentile needs at least {_FEWEST} probes, not {len(queries)}.")
    if persist:
        check_persistable(search_kw)
    opened = as_corpus(corpus)
    cases = [DiscoveryCase(query) for query in queries]
    retrieved = retrieve_cases(opened, cases, mode=mode, k=k, surfaces=surfaces, **search_kw)
    _, scores, _ = split_signals(retrieved, mode, read)
    finite = scores[np.isfinite(scores)]
    common: dict[str, Any] = {
        "corpus_name": name_of(opened),
        "mode": mode,
        "k": k,
        "n_abstention": len(queries),
        "abstention_scores": summary(scores),
        "embedder_id": embedder_id_of(opened),
        "rerank": rerank_name(search_kw.get("rerank")),
        "signal": read,
        "fusion": fusion_of(mode, search_kw),
        "kind": "probes",
        "percentile": float(percentile),
        "degraded": any(item.hits.meta.get("degraded") for item in retrieved),
    }
    if not len(finite):
        return MinScoreCalibration(min_score=None, reason="no_hits", **common)
    floor = _percentile(scores, finite, percentile)
    accepted = float((scores >= floor).mean())
    calibration = MinScoreCalibration(
        min_score=floor,
        specificity=1 - accepted,
        error_rate=accepted,
        curve=share_below_curve(_counted(scores, finite).tolist()),
        **common,
    )
    return calibration.save(opened) if persist else calibration


def _counted(scores: Floats, finite: Floats) -> Floats:
    """All scores; a probe that found nothing counts as no match at all, or as the lowest if that is lower."""
    return np.where(np.isfinite(scores), scores, min(0.0, float(finite.min())))


def _percentile(scores: Floats, finite: Floats, percentile: float) -> float:
    floor = float(np.percentile(_counted(scores, finite), percentile))
    if float((scores >= floor).sum()) <= len(scores) * (1 - percentile / 100) + 1:
        return floor
    # Many probes score just the same: a floor on that score would let all of them in, so it goes above it.
    above = finite[finite > floor]
    return (floor + float(above.min())) / 2 if len(above) else float(np.nextafter(floor, np.inf))
