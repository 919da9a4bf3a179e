"""Reading, looking for lines, and what is alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app.conftest import BREAD, TEA

from ir.app.references import Reference
from ir.app.session import Session
from ir.errors import InvalidInput, NotFound


def texts(response: Any) -> list[str]:
    return [one.text for one in response.got]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("a.md", ("a.md", None, None)),
        ("a.md:3", ("a.md", 3, 3)),
        ("a.md:3-9", ("a.md", 3, 9)),
        ("a.md:3-", ("a.md", 3, None)),
        ("a.md#L3-L9", ("a.md", 3, 9)),
        ("a.md#L3", ("a.md", 3, 3)),
        ("ir://notes/x/a%20b.md#L3-L9", ("x/a b.md", 3, 9)),
    ],
)
def test_citations_are_read(word: str, told: tuple[str, int | None, int | None]) -> None:
    found = Reference.read(word)
    assert (found.name, found.first, found.last) == told


@pytest.mark.parametrize("word", ["a.md:0", "a.md:9-3", "ir://notes/", "ir:///a.md", " "])
def test_what_is_no_citation_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput):
        Reference.read(word)


def test_the_lines_are_those_of_the_file(corpus: str, notes: Path, session: Session) -> None:
    plain = {"target": corpus, "numbers": False}
    (tea,) = texts(session.call("get", {"items": ["tea.md"], **plain}))
    assert tea == TEA.rstrip("\n")
    bread = session.call("get", {"items": ["sub/bread.md:6-7"], **plain}).got[0]
    assert bread.text.split("\n") == BREAD.split("\n")[5:7]
    assert (bread.line, bread.end_line, bread.cited) == (6, 7, True)
    (whole,) = texts(session.call("get", {"items": [str(notes / "long.md")], **plain}))
    assert whole == (notes / "long.md").read_text("utf-8")
    (numbered,) = texts(session.call("get", {"items": [f"ir://{corpus}/long.md#L99-L100"], "target": corpus}))
    assert numbered == " 99  line 99 about gardens and plants\n100  line 100 about gardens and plants"


def test_what_does_not_fit_is_continued_until_all_is_read(corpus: str, notes: Path, session: Session) -> None:
    items, seen, rounds = ["long.md", "tea.md"], [], 0
    while items:
        done = session.call("get", {"items": items, "target": corpus, "max_tokens": 600, "numbers": False})
        assert done.tokens <= 600
        seen += texts(done)
        items, rounds = list(done.more), rounds + 1
    assert rounds > 3
    assert "\n".join(seen) == (notes / "long.md").read_text("utf-8") + "\n" + TEA.rstrip("\n")


def test_context_adds_lines_and_lines_that_are_not_there_are_named(corpus: str, session: Session) -> None:
    (one,) = session.call("get", {"items": ["long.md:10"], "context": 2, "target": corpus}).got
    assert (one.line, one.end_line) == (8, 12)
    with pytest.raises(NotFound, match="300"):
        session.call("get", {"items": ["long.md:301"], "target": corpus})


def test_grep_finds_every_line_once_and_goes_on(corpus: str, session: Session) -> None:
    every = session.call("grep", {"pattern": "plants", "target": corpus, "k": 10_000, "max_tokens": 100_000})
    assert [match.line for match in every.matches] == list(range(1, 301))
    assert every.counts == {"long.md": 300}
    skip: int | None = 0
    lines: list[int] = []
    while skip is not None:
        page = session.call("grep", {"pattern": "plants", "target": corpus, "k": 70, "skip": skip})
        lines += [match.line for match in page.matches]
        skip = page.next_skip
    assert lines == list(range(1, 301))


def test_grep_takes_expressions_capitals_paths_and_context(corpus: str, session: Session) -> None:
    found = session.call("grep", {"pattern": r"line 2\d\d ", "regex": True, "target": corpus})
    assert found.total == 100
    upper = {"pattern": "TEA", "ignore_case": True, "target": corpus}
    assert session.call("grep", upper).counts == {"sub/bread.md": 1, "tea.md": 3}
    assert session.call("grep", {**upper, "paths": ["sub/*"]}).counts == {"sub/bread.md": 1}
    (match,) = session.call("grep", {"pattern": "dough", "context": 1, "target": corpus}).matches
    assert [one.line for one in (*match.before, *match.after)] == [5, 7]
    start, end = match.marks[0]
    assert match.text[start:end] == "dough"


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|ab)*c", "a*b*c*d*e*f", r"(a)\1", "[", "a\nb", "x" * 2000])
def test_an_expression_that_could_run_away_is_refused(pattern: str, corpus: str, session: Session) -> None:
    with pytest.raises(InvalidInput):
        session.call("grep", {"pattern": pattern, "regex": True, "target": corpus})


def test_keys_are_not_shown(notes: Path, session: Session) -> None:
    key = "ghp_" + "a1B2c3D4" * 5
    (notes / "keys.txt").write_text(f"first line\nthe token is {key} here\n", "utf-8")
    corpus = session.call("build", {"target": str(notes), "embedder": "light"}).corpus
    for name, more in (
        ("get", {"items": ["keys.txt"]}),
        ("grep", {"pattern": "token", "context": 1}),
        ("expand", {"item": "keys.txt"}),
        ("similar", {"text": "the token is here"}),
        ("search", {"query": "token"}),
        ("traverse", {"query": "token"}),
    ):
        shown = str(session.call(name, {"target": corpus, **more}).to_dict())
        assert "a1B2c3D4a1B2" not in shown
        assert "keys.txt" in shown


def test_similar_leaves_the_thing_itself_out(corpus: str, session: Session) -> None:
    found = session.call("similar", {"item": "tea.md", "target": corpus}).found
    assert found[0].hit.artifact_id == "sub/bread.md"
    assert "tea.md" not in {one.hit.artifact_id for one in found}
    text = session.call("similar", {"text": "black tea takes minutes", "target": corpus}).found
    assert text[0].hit.artifact_id == "tea.md"


def test_expand_reads_on_around_a_line(corpus: str, session: Session) -> None:
    around = session.call("expand", {"item": "long.md:150", "target": corpus})
    assert around.line <= 150 <= around.end_line
    assert "line 150 about" in around.text
    more = session.call("expand", {"item": "long.md:150", "how": "parent", "target": corpus, "max_tokens": 500})
    assert more.more is not None
    rest = session.call("get", {"items": [more.more], "target": corpus, "numbers": False, "max_tokens": 100_000})
    assert (more.text + rest.got[0].text).count("\n") == 299


def test_several_corpora_are_asked_at_once(corpus: str, notes: Path, session: Session) -> None:
    session.call("register", {"name": "second", "path": str(notes / "sub")})
    session.call("build", {"target": "second", "embedder": "light"})
    found = session.call("search", {"query": "tea", "target": [corpus, "second"]})
    assert found.corpora == (corpus, "second")
    assert {one.hit.source for one in found.found} == {corpus, "second"}
    assert [floor.corpus for floor in found.floors] == [corpus, "second"]


def test_words_and_meaning_may_be_said_apart(corpus: str, session: Session) -> None:
    asked = {"query": "tea", "target": corpus}
    words = session.call("search", {**asked, "words": "dough", "mode": "lexical"})
    assert words.found[0].hit.artifact_id == "sub/bread.md"
    meant = session.call("search", {**asked, "meaning": "knead the dough", "mode": "dense"})
    assert meant.found[0].hit.artifact_id == "sub/bread.md"
    plain = session.call("search", {**asked, "mode": "dense"})
    assert plain.found[0].hit.artifact_id == "tea.md"


def test_a_hit_says_where_it_stands_and_why(corpus: str, session: Session) -> None:
    first = session.call("search", {"query": "black tea minutes", "target": corpus}).found[0]
    place = first.citation
    assert (place.line, place.end_line, place.first_line, place.last_line) == (7, 8, 1, 8)
    assert set(first.matched) >= {"black", "tea", "minutes"}
    assert first.citation.heading.startswith("Tea")


def test_status_says_what_can_be_asked(corpus: str, notes: Path, session: Session) -> None:
    (one,) = session.call("status", {}).corpora
    assert (one.name, one.state, one.records is not None, one.stale) == (corpus, "ready", True, None)
    (notes / "more.md").write_text("more", "utf-8")
    (one,) = session.call("status", {"target": corpus, "check": True}).corpora
    assert one.stale is True
    assert "1 file" in one.changes
    session.call("register", {"name": "later", "path": str(notes)})
    states = {each.name: each.state for each in session.call("status", {}).corpora}
    assert states["later"] == "not built"
