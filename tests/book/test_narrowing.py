"""Searching a part of a book that the question chooses: chapters, what names touch, and other names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir
from ir.book import Book, TraversalConfig, retrieve_candidates
from ir.errors import InvalidInput

RULES = """# Rules
## Magic
Spells need words and hands.
### Fireball
A streak of fire. Whoever is hit burns, see Burning.
### Web
Sticky strands hold you. You are restrained.
## Combat
Blows and arrows.
### Cover
Walls and trees protect you from arrows.
### Burning
A burning creature takes damage each round.
## Travel
Roads, rivers and rain.
### Boats
A boat carries six.
"""


@pytest.fixture
def book() -> ir.Corpus:
    source = ir.CorpusSource.from_mapping({"rules.md": RULES}, name="rules", strategy=Book())
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)


def titles(hits: ir.Hits) -> list[str]:
    return [hit.metadata["section_path"][-1] for hit in hits]


def test_only_the_best_chapter_is_searched(book: ir.Corpus) -> None:
    hits = ir.search(book, "walls protect from arrows", mode="hybrid", chapters=1, graph="none")
    assert hits.meta["routing"]["chapters"] == ["Combat"]
    assert set(titles(hits)) <= {"Combat", "Cover", "Burning"}
    assert "fallback" not in hits.meta["routing"]


def test_links_do_not_lead_out_of_the_chapters(book: ir.Corpus) -> None:
    hits = ir.search(book, "streak of fire", mode="hybrid", chapters=1, graph="expand")
    assert hits.meta["routing"]["chapters"] == ["Magic"]
    assert "Burning" not in titles(hits)


def test_the_whole_is_searched_where_its_best_stands_elsewhere(book: ir.Corpus) -> None:
    settings = {**book.store.get_config(), "chapter_summaries": {"Travel": "boat carries six sticky strands"}}
    book.store.set_config(settings)
    hits = ir.search(book, "sticky strands", mode="lexical", chapters=1)
    assert hits.meta["routing"]["chapters"] == ["Travel"]
    assert hits.meta["routing"]["fallback"]
    assert titles(hits)[0] == "Web"


def test_more_chapters_than_there_are_is_the_whole_book(book: ir.Corpus) -> None:
    hits = ir.search(book, "fire", mode="hybrid", chapters=9)
    assert hits.meta["routing"] == {"fallback": "there are no more chapters than that to choose from"}
    with pytest.raises(InvalidInput, match="chapters"):
        ir.search(book, "fire", chapters=0)


def test_a_chapter_that_is_told_by_name_goes_through_documents() -> None:
    items = {
        "a": {"text": "fire and smoke", "chapter": "Magic"},
        "b": {"text": "fire of bows", "chapter": "Combat"},
        "c": {"text": "fire from hands", "chapter": "Magic"},
        "d": {"text": "boats on rivers", "chapter": "Travel"},
    }
    source = ir.CorpusSource.from_mapping(items, name="rules", strategy=Book())
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)
    hits = ir.search(corpus, "smoke and hands", mode="hybrid", chapters=1)
    assert {hit.artifact_id for hit in hits} <= {"a", "c"}
    assert hits.meta["routing"]["of"] == 3


@pytest.mark.parametrize("fusion", ["blend", "rrf", "minmax", "minmax_corpus"])
def test_routing_works_with_every_fusion(book: ir.Corpus, fusion: str) -> None:
    hits = ir.search(book, "walls protect from arrows", mode="hybrid", fusion=fusion, chapters=1)
    assert titles(hits)[0] == "Cover"


def test_only_what_the_names_in_the_question_touch_is_searched(book: ir.Corpus) -> None:
    hits = ir.search(book, "What does burning do to a creature?", mode="hybrid", graph_first=True)
    assert hits.meta["routing"]["names"] == ["burning"]
    assert set(titles(hits)) == {"Burning", "Combat", "Fireball"}
    nothing = ir.search(book, "How many fit in?", mode="hybrid", graph_first=True)
    assert nothing.meta["routing"]["fallback"]
    assert len(nothing) > 2


def test_other_names_are_read_with_a_question(book: ir.Corpus) -> None:
    book.store.set_config({**book.store.get_config(), "aliases": {"FB": "Fireball", "it": "IT"}})
    assert not ir.search(book, "fb", mode="lexical")
    hits = ir.search(book, "what is a fb, and does it burn", mode="lexical", aliases=True)
    assert titles(hits)[0] == "Fireball"
    assert hits.meta["aliases"] == ["Fireball"]
    own = ir.search(book, "the dinghy", mode="lexical", aliases={"boats": ["dinghy", "canoe"]})
    assert titles(own)[0] == "Boats"
    with pytest.raises(InvalidInput, match="aliases"):
        ir.search(book, "fb", aliases={"fb": 3})


def test_a_walk_from_names_goes_through_a_corpus_as_its_settings_say(book: ir.Corpus) -> None:
    walked = retrieve_candidates("What is burning?", book)
    assert (walked.intent, walked.names) == ("definition", ("burning",))
    told = {"policies": {"definition": {"edge_types": ["contains"], "depth": 1, "limit": 1}}, "version": "v2"}
    book.store.set_config({**book.store.get_config(), "traversal": told})
    strict = retrieve_candidates("What is burning?", book)
    assert len(strict.candidates) == 1
    assert book.store.get_record(strict.candidates[0]).artifact_id.endswith("burning")
    assert retrieve_candidates("What is love?", book).candidates == ()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 3), st.integers(1, 5), st.booleans(), st.sampled_from(["burning", "fireball web", "cover boats"]))
def test_a_walk_returns_no_more_than_its_policy_and_nothing_but_records(
    depth: int, limit: int, siblings: bool, asked: str
) -> None:
    source = ir.CorpusSource.from_mapping({"rules.md": RULES}, name="rules", strategy=Book())
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)
    policy = {"edge_types": ["contains", "next", "refers_to"], "depth": depth, "limit": limit, "siblings": siblings}
    config = TraversalConfig.of({"policies": {"definition": policy}})
    walked = retrieve_candidates(asked, corpus, config)
    assert len(walked.candidates) == len(set(walked.candidates)) <= limit
    assert set(walked.candidates) <= set(corpus.store.record_ids())
    assert all(distance <= depth + siblings for distance in walked.distances)
