"""A floor without labels, on purpose: another percentile, signal or mode than a build uses, or your own probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ir.errors import InvalidInput
from ir.eval.calibration import split_signals, summary
from ir.eval.cases import DiscoveryCase
from ir.eval.files import read_lines
from ir.eval.records import MinScoreCalibration, check_persistable
from ir.eval.retrieval import DFLT_MODE, retrieve_cases
from ir.eval.signals import fusion_of
from ir.index.opening import as_corpus
from ir.index.progress import Listener
from ir.options import choice
from ir.protocols import CorpusOrName
from ir.select.gate import rerank_name
from ir.select.probes import percentile_floor, probe_queries, share_below_curve
from ir.select.signals import default_signal, signals_for

__all__ = ["DFLT_PERCENTILE", "calibrate_from_probes", "read_probes"]

#: Between losing answers (higher) and letting strangers in (lower); 75 was the best compromise on four collections.
DFLT_PERCENTILE = 75.0
_FEWEST = 20


def read_probes(path: str | Path) -> tuple[str, ...]:
    """Your own probes: a query on each line; lines that begin with ``#`` are comments."""
    return tuple(line.strip() for _, line in read_lines(path) if not line.startswith("#"))


def calibrate_from_probes(
    corpus: CorpusOrName,
    *,
    mode: str = DFLT_MODE,
    percentile: float = DFLT_PERCENTILE,
    persist: bool = False,
    probes: Sequence[str] | None = None,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    signal: str | None = None,
    progress: Listener | None = None,
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
    retrieved = retrieve_cases(opened, cases, mode=mode, k=k, surfaces=surfaces, progress=progress, **search_kw)
    _, scores, _ = split_signals(retrieved, mode, read)
    common: dict[str, Any] = {
        "corpus_name": opened.name,
        "mode": mode,
        "k": k,
        "n_abstention": len(queries),
        "abstention_scores": summary(scores),
        "embedder_id": opened.embedder_id,
        "rerank": rerank_name(search_kw.get("rerank")),
        "signal": read,
        "fusion": fusion_of(mode, search_kw),
        "kind": "probes",
        "percentile": float(percentile),
        "degraded": any(item.hits.meta.get("degraded") for item in retrieved),
    }
    if not np.isfinite(scores).any():
        return MinScoreCalibration(min_score=None, reason="no_hits", **common)
    floor = percentile_floor(scores, percentile)
    accepted = float((scores >= floor).mean())
    calibration = MinScoreCalibration(
        min_score=floor,
        specificity=1 - accepted,
        error_rate=accepted,
        curve=share_below_curve(scores),
        **common,
    )
    return calibration.save(opened) if persist else calibration
