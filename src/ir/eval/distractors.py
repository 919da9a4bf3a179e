"""How retrieval holds up as the catalogue grows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.protocols import Source

__all__ = ["DFLT_DISTRACTOR_SIZES", "distractor_curve_from_cases", "distractor_robustness_curve"]

DFLT_DISTRACTOR_SIZES = (1, 4, 8, 16, 32, 64, 128)
DFLT_CURVE_MODE = "dense"
DFLT_CURVE_EMBEDDER = "light"


def distractor_robustness_curve(
    scope: Mapping[str, Any],
    probes: Sequence[tuple[str, str]],
    *,
    strategy: Any = None,
    embedder: Any = DFLT_CURVE_EMBEDDER,
    mode: str = DFLT_CURVE_MODE,
    sizes: Sequence[int] = DFLT_DISTRACTOR_SIZES,
    trials: int = 20,
    seed: int = 0,
    k: int = 1,
) -> dict[int, float]:
    """For each catalogue size: how often a probe's gold is among the top ``k``.

    A probe is ``(query, gold id)``. For each probe and trial, a catalogue of the gold and ``size - 1`` others drawn
    from ``scope`` is built in memory and searched; each text is embedded once for all catalogues. Sizes above
    ``len(scope)`` become ``len(scope)``; a catalogue that takes the whole scope is tried once, having no other draw.
    """
    _check(scope, probes, sizes, trials)
    bench = _Bench(scope, strategy, embedder, mode, k)
    ids = list(scope)
    curve: dict[int, float] = {}
    for size in sorted({min(int(size), len(ids)) for size in sizes}):
        # The generator depends on the size alone, so a point is the same whichever other sizes are asked for.
        draw = random.Random(f"{seed}:{size}")
        found = []
        for query, gold in probes:
            others = [artifact for artifact in ids if artifact != gold]
            for _ in range(1 if size in (1, len(ids)) else trials):
                catalogue = [gold, *draw.sample(others, size - 1)]
                found.append(bench.finds(query, gold, catalogue))
        curve[size] = sum(found) / len(found)
    return curve


def _check(scope: Mapping[str, Any], probes: Sequence[tuple[str, str]], sizes: Sequence[int], trials: int) -> None:
    if not probes:
        raise InvalidInput("A distractor curve needs at least one probe, a pair (query, gold id).")
    strangers = sorted({gold for _, gold in probes if gold not in scope})
    if strangers:
        raise InvalidInput(
            f"{len(strangers)} gold ids are not in the scope, among them {strangers[0]!r}.",
            remedy="Leave those probes out, or draw the catalogue from the source that they were written for.",
        )
    if not sizes or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise InvalidInput(f"sizes must hold whole numbers of at least 1, not {sizes!r}.")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise InvalidInput(f"trials must be a whole number of at least 1, not {trials!r}.")


class _Bench:
    """Builds small corpora of one scope over and over, remembering the vector of each text."""

    def __init__(self, scope: Mapping[str, Any], strategy: Any, embedder: Any, mode: str, k: int) -> None:
        from ir.embed import make_embedder
        from ir.strategy import WholeText

        self._scope = {key: scope[key] for key in scope}
        self._strategy = strategy if strategy is not None else WholeText()
        self._inner, self._id = make_embedder(embedder, cache=False)
        self._vectors: dict[tuple[str, str], Any] = {}
        self._mode = mode
        self._k = k

    def _embed(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        new = [text for text in dict.fromkeys(texts) if (input_type, text) not in self._vectors]
        if new:
            for text, vector in zip(new, self._inner(new, input_type=input_type), strict=True):
                self._vectors[(input_type, text)] = vector
        return np.asarray([self._vectors[(input_type, text)] for text in texts], dtype=np.float32)

    def finds(self, query: str, gold: str, catalogue: Sequence[str]) -> bool:
        from ir.index import build
        from ir.retrieve import search
        from ir.sources import CorpusSource
        from ir.store import CorpusStore

        def embed(texts: Sequence[str], *, input_type: str = "document") -> Any:
            return self._embed(texts, input_type=input_type)

        embed._ir_id = self._id  # type: ignore[attr-defined]
        items = {artifact: self._scope[artifact] for artifact in catalogue}
        source = CorpusSource.from_mapping(items, name="distractors", strategy=self._strategy)
        corpus = build(source, store=CorpusStore.memory(), embedder=embed)
        return gold in [hit.artifact_id for hit in search(corpus, query, k=self._k, mode=self._mode)]


def distractor_curve_from_cases(source: Source, cases: Sequence[DiscoveryCase], **kwargs: Any) -> dict[int, float]:
    """The curve for a source: its scope and strategy, and the cases with exactly one gold as probes."""
    probes = [(case.query, case.gold[0]) for case in cases if len(case.gold) == 1]
    kwargs.setdefault("strategy", source.indexing_strategy)
    return distractor_robustness_curve(source.scope, probes, **kwargs)
