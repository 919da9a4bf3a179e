from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.base import Hits, SearchHit
from ir.select.gate import Gate, calibration_key, find_gate, gate_score, interpolate, rerank_name
from ir.select.signals import SIGNALS, default_signal, describe, signal_score, signals_for
from ir.store import CorpusStore


class Corpus:
    name = "notes"
    embedder_id = "light"

    def __init__(self, **calibrations: dict[str, Any]) -> None:
        self.store = CorpusStore.memory()
        for key, record in calibrations.items():
            self.store.set_calibration(key, record)


def hit(score: float, **channels: float) -> SearchHit:
    shown = {name: {"rank": 1, "score": value} for name, value in channels.items()}
    return SearchHit("a", "document", score, "", channels=shown)


def test_the_gate_reads_the_raw_channel_of_the_mode() -> None:
    hits = [hit(0.03, dense=0.4, lexical=9.0), hit(0.02, dense=0.7, lexical=3.0)]
    assert gate_score(hits, "hybrid") == 0.7
    assert gate_score(hits, "dense") == 0.7
    assert gate_score(hits, "lexical") == 9.0


def test_the_gate_falls_back_to_scores_only_where_no_channels_are_known() -> None:
    assert gate_score([hit(0.3), hit(0.8)], "hybrid") == 0.8
    assert gate_score([], "hybrid") is None
    assert gate_score([hit(0.3, lexical=4.0)], "hybrid") is None


def test_every_signal_is_made_of_raw_channel_scores() -> None:
    hits = [hit(0.03, dense=0.9, lexical=35.0), hit(0.02, dense=0.6, lexical=0.0), hit(0.01, dense=0.3, lexical=35.0)]
    hits.append(hit(0.005, dense=-0.4, lexical=1.0))
    read = {signal: signal_score(hits, signal) for signal in SIGNALS}
    assert read == pytest.approx(
        {
            "dense": 0.9,
            "dense-top3": 0.6,
            "lexical": 35.0,
            "lexical-top3": 71 / 3,
            "blend": 0.7,
            "blend-top3": (0.7 + 0.4 + 0.3) / 3,
        }
    )
    assert gate_score(hits, "hybrid", "dense-top3") == pytest.approx(0.6)


def test_fewer_hits_than_three_are_averaged_as_they_are() -> None:
    assert signal_score([hit(0.1, dense=0.4)], "dense-top3") == 0.4
    assert signal_score([hit(0.3), hit(0.1)], "dense-top3") == pytest.approx(0.2)
    assert signal_score([hit(0.3, dense=0.4)], "blend") is None


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_each_mode_has_its_signals_the_best_score_first(mode: str) -> None:
    first, *others = signals_for(mode)
    assert first == default_signal(mode) == ("lexical" if mode == "lexical" else "dense")
    assert others
    assert set(others) < set(SIGNALS)
    assert all(describe(signal) != describe(first) for signal in others)


def test_a_record_without_a_signal_means_the_best_score() -> None:
    hits = [hit(0.03, dense=0.9), hit(0.02, dense=0.1), hit(0.02, dense=0.2)]
    old = find_gate(Corpus(hybrid={"min_score": 0.5, "embedder_id": "light"}), "hybrid")
    new = find_gate(Corpus(hybrid={"min_score": 0.5, "embedder_id": "light", "signal": "dense-top3"}), "hybrid")
    assert (old.signal, old.score(hits)) == ("dense", 0.9)
    assert (new.signal, new.score(hits)) == ("dense-top3", pytest.approx(0.4))


def test_keys_name_what_differs_from_the_default() -> None:
    keys = {
        calibration_key(mode, fusion=fusion, rerank=rerank)
        for mode in ("dense", "lexical", "hybrid")
        for fusion in ("rrf", "blend", "minmax")
        for rerank in (None, "cross/encoder", "other")
    }
    assert len(keys) == 3 * (1 + 1 + 3)
    assert {"dense", "lexical", "hybrid", "hybrid+rrf"} <= keys
    assert all("/" not in key for key in keys)


def test_rerankers_are_named_by_what_they_say_of_themselves() -> None:
    def by_length(query: str, segments: Any) -> list[float]:
        return [0.0 for _ in segments]

    assert rerank_name(None) is None
    assert rerank_name("mini") == "mini"
    assert rerank_name(by_length) == "by_length"


def test_a_calibration_of_another_fusion_serves_since_the_floor_is_on_a_raw_score() -> None:
    corpus = Corpus(hybrid={"min_score": 0.4, "signal": "dense", "embedder_id": "light"})
    assert find_gate(corpus, "hybrid", fusion="rrf").floor == 0.4
    corpus.store.set_calibration("hybrid+rrf", {"min_score": 0.5, "embedder_id": "light"})
    assert find_gate(corpus, "hybrid", fusion="rrf").floor == 0.5


@pytest.mark.parametrize(
    ("record", "note"),
    [
        ({"min_score": 0.4, "embedder_id": "minilm"}, "made for the embedder 'minilm'"),
        ({"min_score": None, "embedder_id": "light"}, "no usable floor"),
        ({"min_score": "high", "embedder_id": "light"}, "no usable floor"),
        ({"min_score": 0.4, "embedder_id": "light", "signal": "moon"}, "unknown signal ('moon')"),
    ],
)
def test_an_unusable_calibration_is_explained(record: dict[str, Any], note: str) -> None:
    gate = find_gate(Corpus(hybrid=record), "hybrid")
    assert gate.floor is None
    assert note in (gate.note or "")
    assert gate.answerable([hit(0.9, dense=0.9)]) is None


def test_no_calibration_for_another_mode_or_reranker() -> None:
    corpus = Corpus(hybrid={"min_score": 0.4, "embedder_id": "light"})
    assert "No calibration" in (find_gate(corpus, "dense").note or "")
    assert "'mini'" in (find_gate(corpus, "hybrid", rerank="mini").note or "")


def test_answerable_is_read_off_the_curve() -> None:
    record = {
        "min_score": 0.4,
        "signal": "dense",
        "embedder_id": "light",
        "error_rate": 0.05,
        "curve": [[0.2, 0.1], [0.6, 0.9]],
    }
    gate = find_gate(Corpus(hybrid=record), "hybrid")
    assert gate.answerable([hit(0.02, dense=0.5)]) == {
        "probability": 0.7,
        "meaning": "probability that the corpus can answer, at equal odds",
        "error_rate": 0.05,
        "kind": "off_topic",
        "calibration": "labelled",
        "floor": 0.4,
        "score": 0.5,
        "signal": "dense",
    }
    assert gate.answerable([]) is None
    del record["curve"]
    assert find_gate(Corpus(hybrid=record), "hybrid").answerable([hit(0.02, dense=0.5)]) is None


def test_probes_give_a_share_of_probes_and_no_probability() -> None:
    record = {
        "min_score": 0.4,
        "embedder_id": "light",
        "kind": "probes",
        "error_rate": 0.25,
        "curve": [[0.2, 0.0], [0.6, 1.0]],
    }
    answer = find_gate(Corpus(hybrid=record), "hybrid").answerable([hit(0.02, dense=0.5)])
    assert answer is not None
    assert answer["probability"] is None
    assert answer["above_probes"] == pytest.approx(0.75)
    assert (answer["calibration"], answer["error_rate"]) == ("probes", 0.25)
    assert "probe" in answer["meaning"]


@given(
    points=st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=8),
    scores=st.lists(st.floats(-2, 2), min_size=2, max_size=6),
)
def test_a_monotone_curve_gives_monotone_probabilities(points: list[tuple[float, float]], scores: list[float]) -> None:
    places = sorted(at for at, _ in points)
    curve = [list(pair) for pair in zip(places, sorted(share for _, share in points), strict=True)]
    probabilities = [interpolate(curve, score) for score in sorted(scores)]
    assert all(0 <= probability <= 1 for probability in probabilities)
    assert all(low <= high + 1e-9 for low, high in pairwise(probabilities))


def test_the_share_of_probes_let_in_is_that_of_the_floor_that_held() -> None:
    record = {"kind": "probes", "error_rate": 0.4, "curve": [[0.0, 0.0], [1.0, 1.0]]}
    gate = Gate(0.6, "dense", record, unknown=0.95)
    channels = {"dense": {"rank": 1, "score": 0.7}, "lexical": {"rank": None, "score": 0.0}}
    hit = SearchHit("a", "document", 0.7, "", channels=channels)
    for found, floor, error, refused in ((True, 0.6, 0.4, False), (False, 0.95, 0.05, True)):
        hits = Hits([hit], {"words_found": found})
        answer = gate.answerable(hits)
        assert answer is not None
        assert (answer["floor"], answer["error_rate"], gate.refuses(hits)) == (floor, pytest.approx(error), refused)
