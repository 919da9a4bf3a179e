"""Links as a stage of a search."""

from __future__ import annotations

import pytest

import ir
from ir.book import Book, GraphBoost
from ir.errors import InvalidInput

ENTRIES = {
    "fireball": {
        "title": "Fireball",
        "text": "A bright streak. Flames may grapple you like a kraken.",
    },
    "kraken": {"title": "Kraken", "text": "A beast of the deep sea with many arms."},
    "streak": {"title": "Streaking", "text": "A bright streak of paint on a wall."},
    "other": {"title": "Walls", "text": "A wall may be bright in the sun, and flames may not."},
}


@pytest.fixture
def corpus() -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(ENTRIES, name="rules", strategy=Book())
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)


def order(corpus: ir.Corpus, **options: object) -> list[str]:
    return [hit.artifact_id for hit in ir.search(corpus, "flames may grapple", mode="hybrid", k=4, **options)]  # type: ignore[arg-type]


def test_expand_puts_what_the_best_leads_to_right_behind_it(corpus: ir.Corpus) -> None:
    plain = order(corpus, graph="none")
    assert plain[0] == "fireball"
    assert plain.index("kraken") > 1
    assert order(corpus, graph="expand")[:2] == ["fireball", "kraken"]
    assert order(corpus, graph="none", boosts=GraphBoost("expand"))[:2] == ["fireball", "kraken"]


def test_a_book_is_searched_along_its_links_unless_told_otherwise(corpus: ir.Corpus) -> None:
    assert corpus.store.get_config()["graph"] == "expand"
    assert order(corpus) == order(corpus, graph="expand") != order(corpus, graph="none")


@pytest.mark.parametrize("variant", ["additive", "frontier", "propagate"])
def test_what_is_linked_gains_and_explain_says_by_what(corpus: ir.Corpus, variant: str) -> None:
    hits = ir.search(corpus, "flames may grapple", mode="hybrid", k=4, graph=variant, explain=True)
    kraken = next(hit for hit in hits if hit.artifact_id == "kraken")
    assert kraken.explanation is not None
    assert kraken.explanation["boosts"][variant] > 0


def test_other_relations_and_hubs_are_passed_over(corpus: ir.Corpus) -> None:
    assert order(corpus, graph=GraphBoost("expand", relations=("similar_to",))) == order(corpus, graph="none")


def test_a_variant_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'propagate'"):
        GraphBoost("propagates")


RULES = """# Rules

## 1 Fireball
A bright streak flashes. Whoever is hit is grappled, see Rule 2 and chapter 3.

## 2 Grappled
Zzz.

# 3 Chapter of monsters

## 3.1 Otyugh
It is near.
"""


def test_what_a_link_brings_says_so_and_scores_less_than_what_it_follows() -> None:
    source = ir.CorpusSource.from_mapping({"rules.md": RULES}, name="rules", strategy=Book())
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)
    plain = ir.search(corpus, "bright streak", mode="hybrid", graph="none")
    hits = ir.search(corpus, "bright streak", mode="hybrid", explain=True)
    first, second = hits[:2]
    assert (first.score, first.metadata.get("linked")) == (plain[0].score, None)
    assert (second.artifact_id, second.metadata["linked"]) == ("rules.md#rules/2-grappled", True)
    assert 0.2 * first.score == pytest.approx(second.score)
    assert second.explanation is not None
    assert second.explanation["boosts"]["expand"] > 0
    # A heading without text is no answer, and what no link leads to gains nothing.
    assert all(hit.score == 0 and "linked" not in hit.metadata for hit in hits[2:])
    # Floors read what the channels found, which links do not change.
    assert first.channels == plain[0].channels
