"""A book in a corpus: its sections, its chunks and the links between them."""

from __future__ import annotations

from typing import Any

import pytest

import ir
from ir.book import Book, Enrichment
from ir.errors import InvalidInput

RULES = """# The Rules

Front matter.

## 1 Spells

### 1.1 Fireball
A bright streak flashes. See Burning Hands for a weaker one, and Rule 2.1(3).

### 1.2 Burning Hands
Fire shoots from your fingers. Each creature makes a saving throw as for a fireball.

## 2 Combat

### 2.1 Cover
Table 2-1: Cover
Walls and trees give cover. See the Monster Manual.
"""


def built(books: dict[str, Any], **options: Any) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(books, name="rules", strategy=Book(**options))
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)


def links(corpus: ir.Corpus, section: str, *types: str) -> list[tuple[str, str, str]]:
    with corpus.store.snapshot() as snapshot:
        (parts,) = snapshot.neighbours([section], types=["contains"])
        chunks = [one.id for one in parts]
        found = snapshot.neighbours(chunks, types=types)
        return [(one.type, one.id, one.place) for near in found for one in near]


def test_a_result_is_a_section_with_the_headings_above_it() -> None:
    hit = ir.search(built({"rules.md": RULES}), "streak flashes", mode="lexical", k=1)[0]
    assert hit.artifact_id == "rules.md#the-rules/1-spells/1.1-fireball"
    assert hit.metadata["section_path"] == ["The Rules", "1 Spells", "1.1 Fireball"]
    assert hit.metadata["line_start"] == 7


def test_see_and_numbers_are_resolved_in_the_book_and_what_leads_nowhere_is_kept() -> None:
    corpus = built({"rules.md": RULES})
    fireball = links(corpus, "rules.md#the-rules/1-spells/1.1-fireball", "refers_to")
    assert ("refers_to", "rules.md#the-rules/2-combat/2.1-cover", "here") in fireball
    cover = links(corpus, "rules.md#the-rules/2-combat/2.1-cover", "refers_to")
    assert ("refers_to", "name:monster manual", "nowhere") in cover


def test_names_lead_to_the_section_that_is_called_so() -> None:
    books = {"one": {"title": "Fireball", "text": "A bright streak."}, "two": "Weaker than a fireball."}
    corpus = built(books)
    assert links(corpus, "two", "mentions") == [("mentions", "one", "here")]


def test_a_name_of_another_book_is_found_as_soon_as_that_is_there() -> None:
    corpus = built({"two": "Weaker than a fireball."})
    assert links(corpus, "two", "mentions") == []
    source = ir.CorpusSource.from_mapping(
        {"two": "Weaker than a fireball.", "one": {"title": "Fireball", "text": "Streak."}},
        name="rules",
        strategy=Book(),
    )
    corpus = ir.build(source, store=corpus.store, embedder="light", floor=False)
    assert links(corpus, "two", "mentions") == [("mentions", "one", "here")]


def test_rules_say_what_a_passage_is_and_what_they_do_not_know_stays_unknown() -> None:
    rules = Enrichment.of(
        [
            {"kind": "spell", "when": {"section": "Spells"}, "tags": ["magic"]},
            {"when": {"text": "saving throw"}, "is_rule_bearing": True, "traits": ["save"]},
        ]
    )
    corpus = built({"rules.md": RULES}, enrichment=rules)
    spell = ir.search(corpus, "fire shoots", mode="lexical", k=1)[0].metadata
    assert (spell["content_kind"], spell["tags"], spell["is_rule_bearing"]) == ("spell", ["magic"], True)
    cover = ir.search(corpus, "walls trees", mode="lexical", k=1)[0].metadata
    assert "content_kind" not in cover
    assert links(corpus, "rules.md#the-rules/1-spells/1.2-burning-hands", "has_trait") == [
        ("has_trait", "trait:save", "here")
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"kind": "spel", "when": {"text": "x"}}, "Did you mean 'spell'"),
        ({"kind": "spell"}, "needs `when`"),
        ({"when": {"words": "x"}}, "'words'"),
        ({"when": {"text": "("}}, "not a regular expression"),
        ({"when": {"text": "x"}, "tags": "magic"}, "list of texts"),
        ({"when": {"text": "x"}, "colour": "red"}, "'colour'"),
        ("spell", "not a table"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_by_its_number(rule: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=r"[Rr]ule 1 of the rules") as caught:
        Enrichment.of([rule])
    assert said in str(caught.value)


def test_a_text_without_headings_and_an_empty_one_are_books_too() -> None:
    corpus = built({"plain": "No headings here.", "empty": "", "only": "# Heading"})
    assert {hit.artifact_id for hit in ir.search(corpus, "headings", mode="lexical")} <= {"plain", "only#heading"}


def test_two_sections_of_one_name_are_told_apart() -> None:
    corpus = built({"book": "# A\n\n## Notes\nfirst words\n\n# B\n\n## Notes\nsecond words\n\n## Notes\nthird words"})
    found = {hit.artifact_id for hit in ir.search(corpus, "words", mode="lexical")}
    assert found == {"book#a/notes", "book#b/notes", "book#b/notes-2"}


def test_a_passage_says_which_book_chapter_and_section_it_is_of() -> None:
    corpus = built({"rules.md": RULES})
    about = ir.search(corpus, "streak flashes", mode="lexical", k=1)[0].metadata
    assert (about["book"], about["chapter"], about["section"]) == (
        "rules",
        "1 Spells",
        "The Rules > 1 Spells > 1.1 Fireball",
    )
    with corpus.store.snapshot() as snapshot:
        assert snapshot.nodes([about["chunk"]])[about["chunk"]].type == "chunk"


def test_chapters_are_the_first_headings_where_no_title_is_above_them() -> None:
    corpus = built({"book": {"title": "B", "book": "Core", "text": "# One\nfirst words\n\n## Deep\nx\n\n# Two\nlast"}})
    about = ir.search(corpus, "first words", mode="lexical", k=1)[0].metadata
    assert (about["book"], about["chapter"]) == ("Core", "One")


def test_a_book_of_several_chapters_is_not_called_as_the_first_of_them() -> None:
    corpus = built(
        {"guide.md": "# One\nfirst words\n\n# Two\nlast words", "law.md": "# Law\n\n## Article 5\nNo parking."}
    )
    assert ir.search(corpus, "last words", mode="lexical", k=1)[0].metadata["title"] == "guide"
    assert ir.search(corpus, "parking", mode="lexical", k=1)[0].metadata["title"] == "Law"
