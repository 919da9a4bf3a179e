"""The floor that builds keep: made with the corpus, never of other content, never in place of the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir
from ir.eval import DiscoveryCase, calibrate_min_score, forget_calibration
from ir.index.floor import MOST_DRIFT
from ir.select.gate import AUTOMATIC, find_gate
from ir.select.probes import probe_queries
from ir.store import CorpusStore, LocalStore

NOTES = {
    "tea": "Steep green tea at 80 degrees for two minutes.",
    "coffee": "Roasted coffee keeps for a month in a closed tin.",
    "bread": "Knead the dough, let it rise, bake it hot with steam.",
    "chain": "Change the bicycle chain when the gauge drops in.",
    "rent": "Pay the rent to Mrs Miller by the third of the month, by bank transfer.",
}
NONSENSE = ["asdfqwerzxcv", "qwertyuiop", "zzzzzzzz", "blorptang", "hjkl yuiop"]


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CorpusStore]:
    made: CorpusStore = CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / "corpus")
    yield made
    if isinstance(made, LocalStore):
        made.close()


def source(texts: dict[str, Any]) -> ir.CorpusSource:
    return ir.CorpusSource.from_mapping(texts, name="notes")


def many(count: int) -> dict[str, str]:
    return {f"n{number}": f"Note {number} about item{number} and its colour{number % 7}." for number in range(count)}


def test_a_build_keeps_a_floor_and_says_so(store: CorpusStore) -> None:
    corpus = ir.build(source(NOTES), store=store, embedder="light")
    held = store.get_calibration(AUTOMATIC)
    assert held is not None
    assert corpus.report is not None
    assert corpus.report.floor == held["min_score"] > 0
    assert (held["kind"], held["n_abstention"], held["artifacts"]) == ("probes", len(probe_queries()), 5)


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("query", NONSENSE)
def test_nonsense_is_refused_with_a_reason_also_by_few_notes(count: int, query: str) -> None:
    notes = dict(list(NOTES.items())[:count])
    corpus = ir.build(source(notes), store=CorpusStore.memory(), embedder="light")
    result = ir.discover(corpus, query, min_score="auto")
    assert (result.abstained, result.reason) == (True, "abstain:below_floor")
    assert any("No word of the query" in note for note in result.signals["notes"])
    for name, asked in {"tea": "green tea degrees", "coffee": "how long does coffee keep"}.items():
        if name in notes:
            assert ir.discover(corpus, asked, min_score="auto").ids == [name]


def test_the_floor_belongs_to_the_transaction_of_the_build(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "corpus")
    report = ir.build(source(NOTES), store=store, embedder="light").report
    assert report is not None
    assert report.version == store.version == "1"  # one write, the floor with it

    class Broken(dict[str, str]):
        def __getitem__(self, key: str) -> str:
            raise KeyboardInterrupt

    before = store.get_calibration(AUTOMATIC)
    with pytest.raises(KeyboardInterrupt):
        ir.build(source(Broken({**many(50)})), store=store, embedder="light")
    assert store.get_calibration(AUTOMATIC) == before


def test_small_changes_keep_the_floor_and_many_renew_it(store: CorpusStore) -> None:
    texts = many(20)
    first = ir.build(source(texts), store=store, embedder="light")
    assert first.report is not None
    allowed = int(20 * MOST_DRIFT)
    for number in range(allowed):
        texts[f"n{number}"] = f"Something else, {number}."
        ir.build(source(texts), store=store, embedder="light")
        held = store.get_calibration(AUTOMATIC)
        assert held is not None
        assert (held["min_score"], held["drift"]) == (first.report.floor, number + 1)
    texts["one"] = "how long should I rest a roast chicken before carving"
    texts |= {f"p{number}": probe for number, probe in enumerate(probe_queries()[:150])}
    ir.build(source(texts), store=store, embedder="light")
    renewed = store.get_calibration(AUTOMATIC)
    assert renewed is not None
    assert (renewed["drift"], renewed["artifacts"]) == (0, 171)
    assert renewed["min_score"] > held["min_score"]


def test_what_is_measured_afterwards_is_what_a_build_measures(store: CorpusStore) -> None:
    ir.build(source(NOTES), store=store, embedder="light")
    with_build = store.get_calibration(AUTOMATIC)
    store.delete_calibration(AUTOMATIC)
    report = ir.build(source(NOTES), store=store, embedder="light").report  # nothing changed, but a floor is due
    assert with_build is not None
    assert report is not None
    assert report.unchanged
    assert report.floor == pytest.approx(with_build["min_score"], abs=1e-3)  # rows are kept in half precision


def test_another_embedder_makes_another_floor(store: CorpusStore) -> None:
    ir.build(source(NOTES), store=store, embedder="light")
    corpus = ir.build(source(NOTES), store=store, embedder=Words())
    held = store.get_calibration(AUTOMATIC)
    assert held is not None
    assert held["embedder_id"] == corpus.embedder_id == "words"
    assert find_gate(corpus, "hybrid").floor == held["min_score"]


def test_without_floor_none_is_made_and_one_that_no_longer_fits_goes(store: CorpusStore) -> None:
    corpus = ir.build(source(NOTES), store=store, embedder="light", floor=False)
    assert (corpus.report and corpus.report.floor, store.calibration_modes()) == (None, [])
    assert "ir build notes makes one" in str(find_gate(corpus, "hybrid").note)
    ir.build(source(NOTES), store=store, embedder="light")
    assert store.calibration_modes() == [AUTOMATIC]
    ir.build(source(many(9)), store=store, embedder="light", floor=False)
    assert store.calibration_modes() == []


def test_an_empty_corpus_has_no_floor(store: CorpusStore) -> None:
    assert ir.build(source({}), store=store, embedder="light").report.floor is None  # type: ignore[union-attr]
    assert store.calibration_modes() == []


def test_a_floor_of_the_users_is_never_replaced_and_can_be_forgotten(store: CorpusStore) -> None:
    corpus = ir.build(source(NOTES), store=store, embedder="light")
    automatic = find_gate(corpus, "hybrid").floor
    cases = [DiscoveryCase("green tea degrees", "tea"), DiscoveryCase("keep roasted coffee", "coffee")]
    cases += [DiscoveryCase("parliament election results"), DiscoveryCase("interest rate of a mortgage")]
    own = calibrate_min_score(corpus, cases, persist=True).min_score
    assert own != automatic
    ir.build(source({**NOTES, **many(30)}), store=store, embedder="light")
    gate = find_gate(corpus, "hybrid")
    assert (gate.floor, gate.origin) == (own, "cases")
    assert find_gate(corpus, "dense").origin == "probes"  # nobody calibrated that mode
    assert forget_calibration(corpus, "hybrid")
    assert not forget_calibration(corpus, "hybrid")
    assert find_gate(corpus, "hybrid").origin == "probes"


class Words:
    """An embedder of one's own, with an id: its vectors are kept, so that the probes are embedded once."""

    _ir_id = "words"

    def __init__(self, *, queries: bool = True) -> None:
        self.asked = 0
        self.queries = queries

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        if input_type == "query":
            self.asked += len(texts)
            if not self.queries:
                raise RuntimeError("documents only")
        return np.array([[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts], dtype=np.float32)


def test_the_probes_are_embedded_once_for_all_corpora() -> None:
    embedder = Words()
    for _ in range(3):
        ir.build(source(NOTES), store=CorpusStore.memory(), embedder=embedder)
    assert embedder.asked == len(probe_queries())


def test_an_embedder_that_embeds_no_queries_still_builds() -> None:
    report = ir.build(source(NOTES), store=CorpusStore.memory(), embedder=Words(queries=False)).report
    assert report is not None
    assert (len(report.added), report.floor) == (5, None)


def test_such_an_embedder_builds_a_corpus_again_too(store: CorpusStore) -> None:
    for texts in (NOTES, NOTES, {**NOTES, "milk": "Milk goes in first."}):
        report = ir.build(source(texts), store=store, embedder=Words(queries=False)).report
        assert report is not None
        assert (report.floor, report.failed) == (None, [])


@pytest.mark.slow
def test_many_records_are_asked_fewer_probes_in_a_build_and_after_it(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "corpus")
    ir.build(source(many(2500)), store=store, embedder="light")
    with_build = store.get_calibration(AUTOMATIC)
    store.delete_calibration(AUTOMATIC)
    ir.build(source(many(2500)), store=store, embedder="light")
    afterwards = store.get_calibration(AUTOMATIC)
    assert with_build is not None
    assert afterwards is not None
    assert with_build["n_abstention"] == afterwards["n_abstention"] < len(probe_queries()) / 2
    assert afterwards["min_score"] == pytest.approx(with_build["min_score"], abs=0.01)
