"""Cross references as real manuals write them."""

from __future__ import annotations

import ir
from ir.book import Book
from ir.book.references import references_in

RULES = """# Manual
## 9.1 Overwriting files in other packages
Text of nine.
# Archive
## The main archive area
See Overwriting
files in other packages, and see Non-
Maintainer Uploads for more. Fig. 2 shows it.
## NonMaintainer uploads
Written in chapter 9. The PAGER of P. L is less.
Fig. 2: A picture of files.
# Index
Overwriting files in other packages, 4; see Archive
"""


def _links(text: str) -> set[tuple[str, str]]:
    source = ir.CorpusSource.from_mapping({"m.md": text}, name="m", strategy=Book())
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    found = set()
    for page in corpus.store.iter_edges():
        for _, edges in page:
            for edge in edges:
                if edge.type in ("refers_to", "mentions"):
                    found.add((str(edge.properties.get("said")), edge.target))
    return found


def test_a_title_is_found_across_lines_and_written_as_a_sentence() -> None:
    assert ("see Overwriting files in other packages", "m.md#manual/9.1-overwriting-files-in-other-packages") in _links(
        RULES
    )
    assert ("see NonMaintainer Uploads", "m.md#archive/nonmaintainer-uploads") in _links(RULES.replace("Non-\n", "Non"))
    assert any(target == "m.md#archive/nonmaintainer-uploads" for _, target in _links(RULES))


def test_one_see_may_name_several_titles() -> None:
    text = "# Hiding\nx\n# Moving far\ny\n# Z\nSee Hiding and Moving far for more; see Figure 1.\n# 1 One\nz\n"
    found = _links(text)
    assert {("see Hiding", "m.md#hiding"), ("see Moving far", "m.md#moving-far")} <= found
    assert ("Figure 1", "m.md#1-one") not in found


def test_the_number_of_a_chapter_is_known_by_those_of_its_sections() -> None:
    assert ("chapter 9", "m.md#manual") in _links(RULES)


def test_a_figure_is_found_by_the_short_form_of_its_caption() -> None:
    assert not any(target.startswith("figure:") for _, target in _links(RULES))


def test_words_that_only_begin_like_a_reference_are_none() -> None:
    assert not list(references_in("The PAGER of P. L is less, PARTICLE 3 is not, and partI neither."))


def test_an_index_names_everything_and_links_nothing() -> None:
    assert _links(RULES) == _links(RULES[: RULES.index("# Index")])
