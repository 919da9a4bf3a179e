"""Several hits of one artifact, when they are apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.errors import InvalidInput
from ir.strategy import Chunked

FILLER = "The brown fox jumps over a lazy dog near the river bank, as it does on any other day of the week. "
#: A book in which kettles come up in the first, the middle and the last part.
BOOK = "\n\n".join(
    f"## Part {number}\n\n{'A kettle is needed here. ' if number in (0, 5, 9) else ''}{FILLER * 10}"
    for number in range(10)
)


@pytest.fixture
def shelf() -> ir.Corpus:
    books = {"book.md": BOOK, "other.md": f"A kettle. {FILLER}", "third.md": FILLER}
    source = ir.CorpusSource.from_mapping(books, name="shelf", strategy=Chunked(), embedder="light")
    return ir.build(source, store=ir.CorpusStore.memory())


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
@pytest.mark.parametrize("each", [1, 2, 3])
def test_no_more_than_so_many_of_one_artifact_and_no_neighbours(shelf: ir.Corpus, mode: str, each: int) -> None:
    hits = shelf.search("kettle", k=10, mode=mode, per_artifact=each)
    own = sorted(hit.surface_index or 0 for hit in hits if hit.artifact_id == "book.md")
    assert 1 <= len(own) <= each
    assert all(after - before > 1 for before, after in itertools.pairwise(own))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_all_places_of_a_book_are_found(shelf: ir.Corpus) -> None:
    hits = shelf.search("kettle", k=4, mode="lexical", per_artifact=3)
    assert [hit.artifact_id for hit in hits].count("book.md") == 3
    assert all("kettle" in hit.text for hit in hits)


def test_one_is_what_true_means_and_the_default(shelf: ir.Corpus) -> None:
    plain, true, one = (
        [(hit.artifact_id, hit.surface_index) for hit in shelf.search("kettle", mode="hybrid", **options)]
        for options in ({}, {"per_artifact": True}, {"per_artifact": 1})
    )
    assert plain == true == one


def test_several_queries_keep_to_it_too(shelf: ir.Corpus) -> None:
    hits = shelf.search("x", mode="lexical", per_artifact=2, formulate=lambda query: ["kettle", "needed"])
    own = [hit.surface_index or 0 for hit in hits if hit.artifact_id == "book.md"]
    assert len(own) == 2
    assert abs(own[0] - own[1]) > 1


def test_a_number_below_one_is_refused(shelf: ir.Corpus) -> None:
    with pytest.raises(InvalidInput, match="per_artifact must be a whole number of at least 1"):
        shelf.search("kettle", per_artifact=0)


class TestCommandLine:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("IR_EMBEDDER", "light")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "book.md").write_text(BOOK)
        (tmp_path / "docs" / "other.md").write_text(f"A kettle. {FILLER}")
        return tmp_path

    @pytest.fixture
    def found(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[Any]]:
        import json

        from ir.cli.main import run

        def call(*words: str) -> list[Any]:
            capsys.readouterr()
            assert run(["search", *words, "--mode", "lexical", "--json"]) == 0
            return list(json.loads(capsys.readouterr().out)["found"])

        return call

    def test_two_by_default_and_as_many_as_asked_for(self, found: Callable[..., list[Any]]) -> None:
        def count(*words: str) -> int:
            return sum(hit["artifact_id"] == "book.md" for hit in found("docs", "kettle", *words))

        assert (count(), count("--per-file", "1"), count("--per-file", "3")) == (2, 1, 3)

    def test_in_one_file_all_places_count(self, found: Callable[..., list[Any]]) -> None:
        assert len(found("docs/book.md", "kettle")) == 3
