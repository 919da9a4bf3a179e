"""The right one among more and more others."""

from __future__ import annotations

from typing import Any

import pytest

from ir.errors import InvalidInput
from ir.eval import DiscoveryCase, distractor_curve_from_cases, distractor_robustness_curve
from ir.sources import CorpusSource

SCOPE = {
    "tea": "steep green tea leaves in hot water",
    "coffee": "grind roasted coffee beans and brew them in hot water",
    "bread": "knead bread dough and let the dough rest",
    "bike": "mend a flat bike tyre with a patch",
    "rose": "prune the rose bush late in winter",
    "chess": "open a chess game with the queen pawn",
}
PROBES = [("green tea leaves", "tea"), ("flat tyre of my bike", "bike"), ("hot water", "coffee")]


def test_alone_the_gold_is_always_found_and_sizes_are_capped() -> None:
    curve = distractor_robustness_curve(SCOPE, PROBES, sizes=(1, 3, 128, 64), trials=3)
    assert list(curve) == [1, 3, 6]
    assert curve[1] == 1.0
    assert all(0 <= value <= 1 for value in curve.values())


@pytest.mark.slow
def test_the_curve_is_the_same_each_time_and_for_any_sizes() -> None:
    one = distractor_robustness_curve(SCOPE, PROBES, sizes=(2, 4), trials=4, seed=7)
    assert one == distractor_robustness_curve(SCOPE, PROBES, sizes=(4, 2), trials=4, seed=7)
    assert one[4] == distractor_robustness_curve(SCOPE, PROBES, sizes=(4,), trials=4, seed=7)[4]


def test_an_embedder_that_cannot_tell_finds_it_by_chance_only() -> None:
    def blind(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    curve = distractor_robustness_curve(SCOPE, PROBES, embedder=blind, sizes=(1, 6), k=6)
    assert curve == {1: 1.0, 6: 1.0}
    top_one = distractor_robustness_curve(SCOPE, PROBES, embedder=blind, sizes=(6,), k=1)
    assert top_one[6] <= 1 / 3 + 1e-9


def test_each_text_is_embedded_once() -> None:
    seen: list[str] = []

    def counting(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[float(len(text)), 1.0] for text in texts]

    distractor_robustness_curve(SCOPE, PROBES, embedder=counting, sizes=(2, 3, 6), trials=5)
    texts = [text for text in seen if text in SCOPE.values()]
    assert len(texts) == len(set(texts)) <= len(SCOPE)


def test_cases_with_one_gold_are_the_probes() -> None:
    source = CorpusSource.from_mapping(SCOPE, name="drinks")
    cases = [DiscoveryCase("green tea", "tea"), DiscoveryCase("hot water", ("tea", "coffee")), DiscoveryCase("none")]
    curve = distractor_curve_from_cases(source, cases, sizes=(1, 6), mode="lexical")
    assert curve == {1: 1.0, 6: 1.0}


@pytest.mark.parametrize(
    ("probes", "options", "what"),
    [
        ([], {}, "at least one probe"),
        ([("q", "absent")], {}, "'absent'"),
        (PROBES, {"sizes": (0,)}, "sizes"),
        (PROBES, {"sizes": ()}, "sizes"),
        (PROBES, {"trials": 0}, "trials"),
    ],
)
def test_what_makes_no_curve_is_refused(probes: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        distractor_robustness_curve(SCOPE, probes, **options)
