"""Evaluating books: every measure on books that are small enough to check by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

import ir
from ir.app.operation import find_operation
from ir.app.schema import response_schema
from ir.app.session import Session
from ir.book import Book
from ir.cli.main import run
from ir.config import cases_dir
from ir.errors import InvalidInput, IrError
from ir.eval.books import BookQuestion, BookReport, Gold, evaluate_books, find_questions, read_questions
from ir.eval.books.gold import Resolved, longest_run
from ir.eval.books.measuring import (
    Ranked,
    all_found,
    answer_similarity,
    contamination,
    gold_ranks,
    hits_and_mrr,
    section_hits,
)
from ir.eval.books.passages import Passage, plain

CORE = """# Spells

## Fireball

A bright streak flashes to a point of your choice and blossoms into an explosion of flame. See Shield.

## Shield

An invisible barrier of magical force appears and protects you until the start of your next turn.

# Combat

## Cover

Walls and trees provide cover during a fight, which makes a target more difficult to harm.

## Grappling

You can use an action to seize a creature and wrestle with it.

# Travel

## Rowing

A boat moves three miles an hour on calm water.
"""
GUIDE = """# Traps

## Chests

A jet of flame burns whoever opens the chest.

# Weather

## Storms

Heavy rain puts out every open fire within a minute.
"""


def books(**options: Any) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping({"core": CORE, "guide": GUIDE}, name="rules", strategy=Book(**options))
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)


@pytest.fixture
def corpus() -> ir.Corpus:
    return books()


def chunk(corpus: ir.Corpus, artifact: str) -> str:
    """The id of the first chunk of a section."""
    records = [record for batch in corpus.store.iter_records() for record in batch if record.artifact_id == artifact]
    return str(min(records, key=lambda record: record.surface_index).metadata["chunk"])


def asked(text: str, *gold: Any, **about: Any) -> BookQuestion:
    return BookQuestion(text, text, tuple(Gold.read(one, "here") for one in gold), **about)


def measured(corpus: ir.Corpus, questions: list[BookQuestion], **options: Any) -> BookReport:
    """By words alone and without following links, so that every figure can be told by hand."""
    return evaluate_books([corpus], questions, how={"mode": "lexical", "graph": "none"}, **options)[0]


# -- the measures, from rankings ---------------------------------------------------------------------------------------


def passage(at: int, book: str = "a", section: str = "S", text: str = "") -> Passage:
    return Passage(f"c{at}", f"r{at}", f"x{at}", "corpus", book, (section,), None, None, text, at)


def ranked(gold: list[Passage], found: list[Passage], book: str | None = "a", **more: Any) -> Ranked:
    return Ranked(Resolved(asked("q", "c"), tuple(gold), ("id",), book), tuple(found), **more)


def test_hits_and_mrr_are_what_they_are_by_hand() -> None:
    one, two, three = (passage(at) for at in range(3))
    rankings = [ranked([one], [one, two]), ranked([two], [three, one, two]), ranked([three], [one, two])]
    assert gold_ranks(rankings) == [1, 3, 0]
    assert hits_and_mrr([1, 3, 0], [1, 3]) == {"hit@1": 1 / 3, "hit@3": 2 / 3, "mrr": (1 + 1 / 3) / 3}
    assert hits_and_mrr([], [1, 3]) == {}


def test_a_passage_of_the_right_section_is_counted_apart() -> None:
    gold, beside, other = passage(0, section="Fire"), passage(1, section="Fire"), passage(2, section="Ice")
    abroad = passage(3, book="b", section="Fire")
    rankings = [ranked([gold], [other, beside]), ranked([gold], [abroad, other])]
    assert section_hits(rankings, [1, 3]) == {"section_hit@1": 0.0, "section_hit@3": 0.5, "section_mrr": 0.25}
    assert gold_ranks(rankings) == [0, 0]


def test_all_gold_of_several_has_to_be_among_the_first() -> None:
    one, two, three = (passage(at) for at in range(3))

    def several(found: list[Passage], *each: list[Passage]) -> Ranked:
        gold = tuple(passage for group in each for passage in group)
        question = asked("q", *(f"g{at}" for at in range(len(each))))
        groups = tuple(tuple(group) for group in each)
        return Ranked(Resolved(question, gold, ("id",) * len(each), "a", groups), tuple(found))

    rankings = [
        several([one, three, two], [one], [two]),  # both, the second on the third place
        several([one, three], [one], [two]),
        several([one, three], [one], [two, three]),  # either of two passages has the second
        several([one], [one]),  # one gold is no several
    ]
    assert all_found(rankings, [1, 2, 3]) == pytest.approx({"all@1": 0.0, "all@2": 1 / 3, "all@3": 2 / 3})
    assert all_found(rankings[3:], [1]) == {}


def test_contamination_is_the_share_of_other_books_and_of_questions_with_any() -> None:
    own, strange = passage(0, "a"), passage(1, "b")
    rankings = [ranked([own], [own, strange, strange]), ranked([own], [own, own, own])]
    unknown = ranked([own], [strange], book=None)
    assert contamination([*rankings, unknown], [1, 3]) == {
        "share@1": 0.0,
        "any@1": 0.0,
        "share@3": pytest.approx((2 / 3 + 0) / 2),
        "any@3": 0.5,
    }
    assert contamination([unknown], [1]) == {}


def test_similarity_is_that_of_the_nearest_of_the_first() -> None:
    one = passage(0)
    rankings = [
        ranked([one], [one, one], similar=(0.2, 0.8)),
        ranked([one], [one], similar=(0.4,)),
        ranked([one], [one]),
    ]
    assert answer_similarity(rankings, [1, 3]) == {
        "similarity@1": pytest.approx(0.3),
        "similarity@3": pytest.approx(0.6),
    }


# -- finding gold ------------------------------------------------------------------------------------------------------


def test_gold_is_found_by_id_else_by_what_is_quoted_from_where(corpus: ir.Corpus) -> None:
    fireball = chunk(corpus, "core#spells/fireball")
    report = measured(
        corpus,
        [
            asked("one", fireball),
            asked("two", "core#combat/cover"),
            asked("three", {"id": "gone", "book": "core", "section": "Spells > Shield", "quote": "barrier of magical"}),
            asked("four", {"section": "Spells", "quote": "wrestle with it"}),
            asked("five", {"book": "guide.md", "section": ["Storms"]}),
            asked("six", "gone", "gone too"),
            asked("seven", {"book": "no such book", "quote": "barrier of magical"}),
            asked("eight", fireball, "gone"),
            asked("nine"),
        ],
    )
    how = {row.query: row.how for row in report.questions}
    assert how == {
        "one": ("id",),
        "two": ("id",),
        "three": ("span",),
        "four": ("moved",),
        "five": ("place",),
        "eight": ("id", "missing"),
    }
    assert report.resolved == {"id": 3, "span": 1, "moved": 1, "place": 1, "missing": 4}
    assert report.counts == {"questions": 9, "with_gold": 8, "evaluable": 6, "all_gold_found": 5} | {
        "asked": 6,
        "with_several_gold": 0,
    }
    assert report.evaluability == 6 / 8
    assert report.missing["six"] == [{"id": "gone"}, {"id": "gone too"}]
    assert set(report.missing) == {"six", "seven", "eight"}


def test_gold_with_a_place_survives_another_cut(corpus: ir.Corpus, tmp_path: Path) -> None:
    fireball, cover = chunk(corpus, "core#spells/fireball"), chunk(corpus, "core#combat/cover")
    questions = [asked("explosion of flame", fireball), asked("walls and trees", cover)]
    report, pinned = evaluate_books([corpus], questions, how={"mode": "lexical"})
    assert report.metrics["hit@1"] == 1.0
    assert pinned[0].gold[0].section == ("Spells", "Fireball")
    other = books(chunk_size=60, overlap=0)
    assert measured(other, questions).evaluability == 1.0  # the first chunk of a section keeps its id
    lost = [replace(one, gold=(Gold("gone"),)) for one in questions]
    assert measured(other, lost).evaluability == 0.0
    kept = [replace(one, gold=(replace(one.gold[0], id="gone"),)) for one in pinned]
    again = measured(other, kept)
    assert again.evaluability == 1.0
    assert again.resolved == {"span": 2}
    assert again.metrics["hit@3"] == 1.0


def test_a_quote_that_a_chunk_ends_in_is_found_in_its_parts() -> None:
    words = ["a", "bright", "streak", "flashes", "to", "a", "point", "of", "your", "choice"]
    assert longest_run(words, plain("… A bright streak, flashes to: a point. Of your")) == 9
    assert longest_run(words, plain("of your choice")) == 3
    assert longest_run([], plain("x")) == 0


def test_ids_of_several_books_are_told_apart_by_the_book_of_the_question() -> None:
    source = {
        "x": {"text": "Steep tea.", "book": "one", "section_path": ["Drinks"]},
        "y": {"text": "Knead dough.", "book": "two", "section_path": ["Drinks"]},
    }
    corpus = ir.build(
        ir.CorpusSource.from_mapping(source, name="few"), store=ir.CorpusStore.memory(), embedder="light", floor=False
    )
    report = measured(corpus, [asked("steep", {"section": "Drinks"}, book="two"), asked("knead", "y", book="none")])
    assert report.questions[0].gold == (chunk_of(corpus, "y"),)
    assert report.unknown_books == {"none": 1}
    assert report.questions[1].book == "two"


def chunk_of(corpus: ir.Corpus, artifact: str) -> str:
    return next(r.id for batch in corpus.store.iter_records() for r in batch if r.artifact_id == artifact)


# -- questions that quote ----------------------------------------------------------------------------------------------


def test_questions_that_quote_their_gold_are_counted_and_can_be_left_out(corpus: ir.Corpus) -> None:
    shield, cover = chunk(corpus, "core#spells/shield"), chunk(corpus, "core#combat/cover")
    quoting = asked("does an invisible barrier of magical force appear?", shield)
    whole = asked("makes a target more difficult to harm", cover)
    short = asked("magical force", shield)
    free = asked("what hides me behind walls", cover)
    questions = [quoting, whole, short, free]
    report = measured(corpus, questions, quote_words=6)
    assert report.quotes["ids"] == [quoting.id, whole.id]
    assert (report.quotes["questions"], report.quotes["share"], report.counts["asked"]) == (2, 0.5, 4)
    assert report.metrics["hit@1"] == 1.0
    assert report.without_quotes["hit@1"] == 1.0
    assert [row.quotes for row in report.questions] == [True, True, False, False]
    assert measured(corpus, questions, quote_words=7).quotes["questions"] == 1  # only the one that is all there
    left = measured(corpus, questions, quote_words=6, leave_out_quotes=True)
    assert [row.query for row in left.questions] == [short.text, free.text]
    assert (left.counts["asked"], left.evaluability, left.quotes["left_out"]) == (2, 1.0, True)


# -- the whole harness -------------------------------------------------------------------------------------------------


def test_a_book_is_measured_as_by_hand(corpus: ir.Corpus) -> None:
    report = measured(
        corpus,
        [
            asked("explosion of flame", chunk(corpus, "core#spells/fireball"), type="lookup"),
            asked("flame", chunk(corpus, "core#spells/fireball"), type="lookup"),
            asked("boat", chunk(corpus, "core#travel/rowing"), type="definition"),
            asked("zzz", chunk(corpus, "core#travel/rowing"), type="definition"),
        ],
    )
    ranks = {row.query: row.rank for row in report.questions}
    assert (ranks["explosion of flame"], ranks["boat"], ranks["zzz"]) == (1, 1, None)
    assert ranks["flame"] in (1, 2)
    expected = [1, ranks["flame"], 1, 0]
    assert report.metrics["hit@1"] == sum(rank == 1 for rank in expected) / 4
    assert report.metrics["hit@3"] == 0.75
    assert report.metrics["mrr"] == pytest.approx(sum(1 / rank for rank in expected if rank) / 4)
    # Flame is said in both books, and a boat in one; where nothing was found nothing is strange.
    assert report.contamination["any@3"] == pytest.approx(2 / 3)
    assert report.contamination["share@3"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    low, high = report.intervals["hit@3"]
    assert 0.0 <= low < 0.75 < high <= 1.0
    assert report.by_type["definition"]["hit@1"] == 0.5
    assert report.by_type["lookup"]["questions"] == 2
    assert report.by_book["core"]["questions"] == 4
    assert report.curves["hit"]["3"] == 0.75
    assert report.answers == {"gold": 4}
    assert report.similarity["similarity@10"] == pytest.approx(0.75, abs=0.001)  # gold was found three times of four


def test_nearness_is_to_the_answer_that_is_given(corpus: ir.Corpus) -> None:
    text = next(r.text for batch in corpus.store.iter_records() for r in batch if r.artifact_id == "guide#traps/chests")
    gold = chunk(corpus, "core#spells/fireball")
    same = measured(corpus, [asked("flame", gold, answer=text)])
    assert same.answers == {"given": 1}
    assert same.similarity["similarity@10"] > 0.9  # the passage that says it, beside the headings it stands under
    other = measured(corpus, [asked("flame", gold, answer="A treaty on tariffs.")])
    assert other.similarity["similarity@10"] < 0.5


def test_what_gold_is_linked_to_counts_if_that_is_asked_for(corpus: ir.Corpus) -> None:
    question = asked("invisible barrier", chunk(corpus, "core#spells/fireball"))
    report = measured(corpus, [question], expand_gold=True)
    assert report.metrics["hit@1"] == 0.0
    assert report.expanded is not None
    assert report.expanded["metrics"]["hit@1"] == 1.0  # Fireball says "See Shield", and that came first
    assert report.expanded["gain"]["mrr"] == 1.0
    assert 1 <= report.expanded["added"] <= 12
    assert measured(corpus, [question]).expanded is None


def test_expanded_gold_has_at_most_twelve_for_a_question() -> None:
    entries = {f"e{n}": f"# Entry {n}\n\nSomething about number {n}." for n in range(20)}
    entries["hub"] = "# Hub\n\n" + " ".join(f"See Entry {n}." for n in range(20))
    corpus = ir.build(
        ir.CorpusSource.from_mapping(entries, name="many", strategy=Book()),
        store=ir.CorpusStore.memory(),
        embedder="light",
        floor=False,
    )
    report = measured(corpus, [asked("hub", "hub#hub")], expand_gold=True)
    assert report.expanded is not None
    assert report.expanded["added"] == 12


def test_routing_trades_what_can_be_found_for_fewer_chapters(corpus: ir.Corpus) -> None:
    questions = [
        asked("explosion of flame", chunk(corpus, "core#spells/fireball")),
        asked("seize a creature", chunk(corpus, "core#combat/grappling")),
        asked("boat on calm water", chunk(corpus, "core#travel/rowing")),
        asked("lost", "gone"),
    ]
    report = evaluate_books([corpus], questions, how={"mode": "hybrid"}, top_n=[1, 2, 50])[0]
    assert report.routing is not None
    rows = {row.top_n: row for row in report.routing}
    assert list(rows) == [None, 1, 2, 50]
    assert rows[None].evaluability == rows[50].evaluability == 0.75
    assert rows[50].metrics == rows[None].metrics
    assert rows[None].metrics["mrr"] == report.metrics["mrr"]
    assert rows[1].evaluability is not None
    assert rows[2].evaluability is not None
    assert rows[1].evaluability <= rows[2].evaluability <= 0.75
    assert set(rows[1].overall) == {"hit@1", "hit@3", "hit@5", "hit@10", "mrr"}
    assert rows[50].overall == rows[None].overall


def test_each_way_to_follow_links_is_held_against_none(corpus: ir.Corpus) -> None:
    questions = [
        asked("bright streak explosion flame", chunk(corpus, "core#spells/shield")),
        asked("boat on calm water", chunk(corpus, "core#travel/rowing")),
    ]
    report = measured(corpus, questions, graphs=["expand", "additive"])
    assert report.graph is not None
    rows = {row.graph: row for row in report.graph}
    assert list(rows) == ["none", "expand", "additive"]
    assert rows["none"].gain == {}
    expand = rows["expand"]
    assert expand.metrics["hit@3"] == 1.0  # Fireball leads to Shield, which the words do not
    assert rows["none"].metrics["hit@3"] == 0.5
    assert expand.gain["hit@3"] == 0.5
    assert expand.p == 1.0  # one question of two says nothing


def test_questions_are_asked_of_several_corpora_at_once() -> None:
    made = [
        ir.build(
            ir.CorpusSource.from_mapping({name: text}, name=name, strategy=Book()),
            store=ir.CorpusStore.memory(),
            embedder="light",
            floor=False,
        )
        for name, text in (("core", CORE), ("guide", GUIDE))
    ]
    gold = {"section": "Fireball"}
    report, _ = evaluate_books(made, [asked("flame", gold, book="core")], how={"mode": "lexical", "graph": "none"})
    assert report.corpora == ("core", "guide")
    assert report.metrics["hit@1"] == 1.0
    assert report.contamination == pytest.approx(
        {
            f"{name}@{k}": 0.0 if k == 1 else (1.0 if name == "any" else 0.5)
            for name in ("share", "any")
            for k in (1, 3, 5, 10)
        }
    )


# -- files of questions ------------------------------------------------------------------------------------------------


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


def reference(*queries: dict[str, Any], document: str = "core") -> dict[str, Any]:
    return {"document": document, "queries": list(queries)}


def test_the_files_of_the_reference_and_lines_are_read(tmp_path: Path) -> None:
    one = {"id": "q1", "query_text": "flame?", "query_type": "lookup", "expected_chunk_ids": ["c1", "c2"]}
    write(tmp_path / "core.evaluation_queries.json", reference(one))
    write(tmp_path / "merged.evaluation_queries.json", reference(one))
    other = {"id": "q1", "query": "rain?", "book": "core", "gold": [{"page": 12, "quote": "puts out"}], "answer": "yes"}
    lines = [json.dumps(line) for line in ({"__meta__": {"set": "x"}}, other, {"query": "wind?", "gold": "c9"})]
    write(tmp_path / "more.jsonl", "\n".join(lines))
    write(tmp_path / "core.enriched.json", "{}")
    questions, repeated = read_questions(find_questions(tmp_path))
    assert repeated == 1
    assert [(one.id, one.book, one.type) for one in questions] == [
        ("q1", "core", "lookup"),
        ("q1-2", "core", None),
        ("q00001", None, None),
    ]
    assert questions[0].gold == (Gold("c1"), Gold("c2"))
    assert questions[1].gold == (Gold(page="12", quote="puts out"),)
    assert questions[1].answer == "yes"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.evaluation_queries.json", "{", "a.evaluation_queries.json:1"),
        ("a.evaluation_queries.json", "[]", "list of 'queries'"),
        ("a.evaluation_queries.json", '{"queries": [3]}', "queries[0]"),
        ("a.evaluation_queries.json", '{"queries": [{"query_text": " ", "expected_chunk_ids": []}]}', "its text"),
        ("a.evaluation_queries.json", '{"queries": [{"query_text": "x"}]}', "expected_chunk_ids"),
        ("a.evaluation_queries.json", "\ufffe\x00", "not valid JSON"),
        ("a.jsonl", '{"query": "x", "gold": [{"pages": 3}]}', "no 'pages'"),
        ("a.jsonl", '{"query": "x", "gold": [{}]}', "an id, a section"),
        ("a.jsonl", '{"query": "x", "gold": [{"section": 3}]}', "section"),
        ("a.jsonl", '{"query": "x", "gold": [true]}', "not True"),
        ("a.jsonl", '{"query": "x"}', "needs 'gold'"),
        ("a.txt", "", "no questions"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(tmp_path: Path, name: str, text: str, told: str) -> None:
    write(tmp_path / name, text)
    with pytest.raises(InvalidInput) as refused:
        read_questions(find_questions(tmp_path))
    assert told in str(refused.value)


def test_without_questions_or_passages_there_is_nothing_to_measure(corpus: ir.Corpus) -> None:
    with pytest.raises(InvalidInput, match="no questions"):
        measured(corpus, [])
    with pytest.raises(InvalidInput, match="guide"):
        measured(corpus, [asked("x", "y")], books=["no such book"])
    empty = ir.build(
        ir.CorpusSource.from_mapping({}, name="none"), store=ir.CorpusStore.memory(), embedder="light", floor=False
    )
    with pytest.raises(InvalidInput, match="no passage"):
        measured(empty, [asked("x", "y")])
    report = measured(corpus, [asked("flame", "gone")])
    assert (report.metrics, report.evaluability, report.questions) == ({}, 0.0, ())
    assert "nothing of what answers" in report.notes[0]


# -- the operation and the command -------------------------------------------------------------------------------------


@pytest.fixture
def rules() -> str:
    """The books as a corpus that has a name."""
    source = ir.CorpusSource.from_mapping(
        {"core": CORE, "guide": GUIDE}, name="rules", strategy=Book(), embedder="light"
    )
    ir.build(source).store.close()
    return "rules"


@pytest.fixture
def queries(tmp_path: Path, rules: str) -> Path:
    folder = tmp_path / "queries"
    folder.mkdir()
    found = {"id": "q1", "query_text": "explosion of flame", "query_type": "lookup"}
    write(
        folder / "core.evaluation_queries.json",
        reference(
            {**found, "expected_chunk_ids": ["core#spells/fireball"]},
            {"id": "q2", "query_text": "boat on calm water", "expected_chunk_ids": ["core#travel/rowing"]},
            {"id": "q3", "query_text": "dragons", "expected_chunk_ids": ["gone"]},
        ),
    )
    write(
        folder / "guide.evaluation_queries.json",
        reference({"id": "q1", "query_text": "rain", "expected_chunk_ids": ["guide#weather/storms"]}, document="guide"),
    )
    return folder


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as made:
        yield made


@pytest.mark.slow
def test_the_command_writes_a_report_with_every_part(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("matplotlib")
    place = tmp_path / "report"
    flags = ["--best-practice-eval", "--best-practice-boost", "--expand-gold", "--chapter-routing-report"]
    more = ["--top-n", "1", "--top-n", "2", "--graph-report", "--model-id", "light", "--report-dir", str(place)]
    assert run(["eval", "book", "rules", "--queries-dir", str(queries), *flags, *more, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    report = told["report"]
    assert report["counts"]["questions"] == 4
    assert report["evaluability"] == 0.75
    assert report["missing"] == {"core/q3": [{"id": "gone"}]}
    assert report["settings"]["fusion"] == "minmax_corpus"
    assert report["settings"]["graph"] == {
        "variant": "frontier",
        "seeds": 3,
        "depth": 2,
        "boost": 0.05,
        "decay": 0.4,
        "top_k": 50,
    }
    assert [row["top_n"] for row in report["routing"]] == [None, 1, 2]
    assert [row["graph"] for row in report["graph"]] == ["none", "additive", "frontier", "propagate", "expand"]
    assert report["expanded"]["most"] == 12
    assert report["metrics"]["hit@1"] == 1.0
    names = ["graph.png", "hits.png", "report.html", "report.json", "report.md", "routing.png"]
    assert sorted(path.name for path in place.iterdir()) == names
    assert json.loads((place / "report.json").read_text("utf-8")) == report
    text = (place / "report.md").read_text("utf-8")
    assert "![Hits by depth](hits.png)" in text
    assert "## Routing by chapters" in text
    assert "core/q3" in text
    assert (place / "report.html").read_text("utf-8").count("<img") == 3
    assert run(["eval", "book", "rules", "--queries-dir", str(queries), *flags[2:], "--graph-report"]) == 0
    shown = capsys.readouterr().out
    assert "evaluability\t0.750\t3 of 4" in shown
    assert "not in the corpus\tcore/q3\tgone" in shown
    assert "hit in the right section\t" in shown


def test_the_questions_of_the_reference_come_with_its_books(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    chunks = [
        {"id": "c1", "text": "Fireball deals fire damage. See Grappled.", "page": 1, "section_path": ["Spells"]},
        {"id": "c2", "text": "Grappled creatures cannot move.", "page": 3, "section_path": ["Conditions"]},
    ]
    edges = [{"source": "c1", "target": "c2", "relation": "mentions"}]
    nodes = [{"id": one["id"], "type": "chunk"} for one in chunks]
    write(folder / "core.enriched.json", {"document": "core", "chunks": chunks})
    write(folder / "core.graph.json", {"nodes": nodes, "edges": edges})
    query = {"id": "q1", "query_text": "what does fireball deal", "query_type": "definition"}
    write(
        folder / "core.evaluation_queries.json",
        reference(
            {**query, "expected_chunk_ids": ["c1"]},
            {"id": "q2", "query_text": "fireball damage", "expected_chunk_ids": ["c2", "c9"]},
            {"id": "q3", "query_text": "who can fly", "expected_chunk_ids": ["c8"]},
        ),
    )
    assert run(["ingest", "book", str(folder), "--book", "core", "--embedder", "light"]) == 0
    capsys.readouterr()
    common = ["eval", "book", "core", "--mode", "lexical", "--graph", "none", "--expand-gold", "--json"]
    assert run(common) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    counts = {"questions": 3, "with_gold": 3, "evaluable": 2, "all_gold_found": 1, "asked": 2, "with_several_gold": 0}
    assert report["counts"] == counts
    assert report["resolved"] == {"id": 2, "missing": 2}
    assert [row["gold"] for row in report["questions"]] == [["c1"], ["c2"]]
    assert report["metrics"]["hit@1"] == 0.5
    assert report["expanded"]["metrics"]["hit@1"] == 1.0  # the passage that was found names the one that was not
    assert run([*common, "--queries-dir", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == report


def test_gold_is_pinned_and_the_pinned_file_measures_the_same(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pinned.jsonl"
    common = ["eval", "book", "rules", "--mode", "lexical", "--json"]
    assert run([*common, "--queries-dir", str(queries), "--pin", str(file)]) == 0
    before = json.loads(capsys.readouterr().out)["report"]
    assert run([*common, "--queries-dir", str(file)]) == 0
    after = json.loads(capsys.readouterr().out)["report"]
    assert after["metrics"] == before["metrics"]
    first = json.loads(file.read_text("utf-8").splitlines()[0])
    assert first["gold"][0]["section"] == ["Spells", "Fireball"]
    assert first["gold"][0]["quote"].startswith("A bright streak")
    assert json.loads(file.read_text("utf-8").splitlines()[2])["gold"] == [{"id": "gone"}]


def test_a_set_that_was_judged_is_asked_over_http_and_the_run_is_kept(session: Session, rules: str) -> None:
    judged = {"set": "mine", "query": "boat", "items": ["core#travel/rowing"], "corpus": rules}
    session.call("judge", judged, door="http")
    done = session.call("eval-book", {"corpora": [rules], "cases": "mine", "save": True, "label": "x"}, door="http")
    assert done.report.metrics["hit@1"] == 1.0
    shown = session.call("runs", {"id": done.saved}, door="http")
    assert (shown.runs[0].settings["kind"], shown.runs[0].metrics["mrr"], shown.queries[0].rank) == ("book", 1.0, 1)
    assert session.call("compare", {"run_a": done.saved, "run_b": done.saved}, door="http").comparison.n_queries == 1
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    Draft202012Validator(response_schema(find_operation("eval-book"))).validate(done.to_dict())


def test_nobody_names_files_over_http(session: Session, rules: str, queries: Path, tmp_path: Path) -> None:
    for wrong in (
        {"queries_dir": str(queries)},
        {"cases": str(queries / "core.evaluation_queries.json")},
        {"cases": "../x"},
        {"cases": "mine", "report_dir": str(tmp_path / "r")},
        {"cases": "mine", "pin": str(tmp_path / "p")},
        {"corpora": [str(tmp_path)]},
        {"corpora": []},
    ):
        with pytest.raises(IrError):
            session.call("eval-book", {"corpora": [rules], **wrong}, door="http")
    assert not (tmp_path / "r").exists()


def test_only_the_books_that_are_meant_are_asked_about(queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["eval", "book", "rules", "--queries-dir", str(queries), "--mode", "lexical"]
    assert run([*common, "--book", "Guide.pdf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["counts"]["questions"] == 1
    assert run([*common, "--book", "nothing"]) == 2
    assert "core, guide" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--queries-dir", "nowhere"], "nowhere"),
        ([], "--queries-dir"),
        (["--cases", "nothing"], "nothing"),
        (["--queries-dir", "QUERIES", "--model-id", "bge"], "light-512"),
        (["--queries-dir", "QUERIES", "--best-practice-eval", "--mode", "dense"], "Best practice"),
        (["--queries-dir", "QUERIES", "--best-practice-boost", "--graph", "none"], "Best practice"),
        (["--queries-dir", "QUERIES", "--top-n", "3"], "routing"),
        (["--queries-dir", "QUERIES", "--min-score", "0.2"], "--min-score"),
        (["--queries-dir", "QUERIES", "--html", "x"], "--html"),
        (["--queries-dir", "QUERIES", "--cases", "mine"], "not both"),
        (["--queries-dir", "QUERIES", "-k", "0"], "at least 1"),
        (["--queries-dir", "QUERIES", "--report-dir", "FILE"], "is a file"),
    ],
)
def test_wrong_words_are_refused(
    queries: Path, tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "file", "x")
    stand = {"QUERIES": str(queries), "FILE": str(file)}
    assert run(["eval", "book", "rules", *(stand.get(word, word) for word in words)]) in (2, 3)
    assert told in capsys.readouterr().err
    assert run(["eval", "rules", "cases.jsonl", "--expand-gold"]) == 2
    assert "--expand-gold" in capsys.readouterr().err


def test_cases_can_be_named_by_an_option(rules: str, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    judged = {"set": "mine", "query": "boat", "items": ["core#travel/rowing"], "corpus": rules}
    session.call("judge", judged)
    for cases in ("mine", str(cases_dir() / "mine.jsonl")):
        assert run(["eval", "rules", "--cases", cases, "--graph", "expand"]) == 0
        assert "rules: 1 cases" in capsys.readouterr().out
