"""The lexical ranking is a setting: another one takes over without a change in any caller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import psycopg

import ir
from ir.errors import InvalidInput
from ir.store import CorpusStore
from ir.testing import tiny_records
from ir.testing.made import EVERYTHING, found, ids, made, scores_by_id, unit, where, words
from ir.testing.tiny_corpora import CITIES


@pytest.fixture
def filled(corpus_url: str) -> Iterator[str]:
    with CorpusStore.open(corpus_url) as store:
        store.put_records(tiny_records(CITIES))
    return corpus_url


def rankings(store: CorpusStore, query: str) -> list[str]:
    with store.snapshot() as snapshot:
        return ids(snapshot, snapshot.lexical(words(query), 10, EVERYTHING))


def test_the_servers_own_ranking_finds_what_bm25_finds(filled: str) -> None:
    with CorpusStore.open(filled) as store:
        before = {query: sorted(rankings(store, query)) for query in ("fish market", "old university", "zebra")}
        best = rankings(store, "fish market")[0]
    with CorpusStore.open(f"{filled}&lexical=tsvector") as store:
        assert {query: sorted(rankings(store, query)) for query in before} == before
        assert rankings(store, "fish market")[0] == best
    with CorpusStore.open(filled) as store:
        assert rankings(store, "fish market")[0] == best, "an address that does not say keeps what is there"


def test_its_scores_are_its_own(corpus_url: str) -> None:
    with CorpusStore.open(f"{corpus_url}&lexical=tsvector") as store:
        store.put_records([made("far", "red one two three four fox"), made("near", "red fox"), made("one", "fox")])
        with store.snapshot() as snapshot:
            scores = scores_by_id(snapshot, snapshot.lexical(words("red fox"), 10, EVERYTHING))
            ranking = snapshot.lexical(words("red fox"), 10, EVERYTHING)
            assert snapshot.lexical_scores(words("red fox"), ranking.refs).tolist() == ranking.scores.tolist()
            assert snapshot.term_stats(["fox", "absent"]).frequencies == {"fox": 3, "absent": 0}
            assert snapshot.config()["bm25_sat_k"] == 1.0
            assert ids(snapshot, snapshot.lexical(words("fox"), 10, where({"colour": "blue"}))) == []
        with psycopg.connect(**store.address.parameters) as connection:  # type: ignore[attr-defined]
            query = "SELECT ts_rank_cd(to_tsvector('english', 'red fox'), 'red | fox')"
            (expected,) = connection.execute(query).fetchone() or (None,)
        assert scores["near"] == pytest.approx(expected)
        assert scores["near"] > scores["one"]


@pytest.mark.parametrize("term", ["it's", "back\\slash", "a:b", "semi;'", "x & y", "\x00\x01", "é" * 150])
def test_terms_of_any_characters(corpus_url: str, term: str) -> None:
    with CorpusStore.open(f"{corpus_url}&lexical=tsvector") as store:
        store.put_record(made("a", f"before {term} after"))
        for record in (term, "before", "after"):
            assert found(store, record) in (["a"], [])
        assert found(store, "before") == ["a"]


def test_it_follows_changes(corpus_url: str) -> None:
    with CorpusStore.open(f"{corpus_url}&lexical=tsvector") as store:
        store.put_records([made("a", "red fox"), made("b", "red hen")])
        store.put_record(made("a", "blue fox"))
        store.delete_record("b")
        assert (found(store, "red"), found(store, "blue")) == ([], ["a"])
        store.set_config({"language": "german"})
        store.put_record(made("c", "Die Häuser am Fluss"))
        assert found(store, "das Haus", "german") == ["c"]


def test_hybrid_search_reads_both(corpus_url: str) -> None:
    source = ir.CorpusSource.from_mapping(
        {"a": "foxes are red", "b": "hens are white", "c": "the getUserName function"}, name="x", embedder="light"
    )
    with CorpusStore.open(f"{corpus_url}&lexical=tsvector") as store:
        corpus = ir.build(source, store=store)
        hit = corpus.search("getUserName", mode="hybrid")[0]
        assert hit.artifact_id == "c"
        assert 0 < hit.channels["lexical"]["score"] < 2


def test_without_a_lexical_index(filled: str) -> None:
    with CorpusStore.open(f"{filled}&lexical=none") as store:
        with store.snapshot() as snapshot:
            assert len(snapshot.dense(unit(*[1.0] * (snapshot.dim or 1)), 3, EVERYTHING).refs) == 3
            with pytest.raises(InvalidInput, match="without a lexical index"):
                snapshot.lexical(words("fish"), 3, EVERYTHING)
        store.put_record(made("more", "fish", [0.0] * (snapshot.dim or 1)))
    with CorpusStore.open(f"{filled}&lexical=bm25") as store:
        assert "more" in found(store, "fish")
