from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from ir.errors import SourceError
from ir.index import build
from ir.sources import CorpusSource
from ir.store import CorpusStore

RECORDS: list[Any] = [{"id": 1, "text": "one", "lang": "en"}, {"_id": "two", "text": "2"}]


def fetch() -> list[Any]:
    return RECORDS


def test_records_have_an_id_and_their_other_fields_can_be_filtered_on() -> None:
    source = CorpusSource.from_records(fetch, embedder="light")
    assert list(source.scope) == ["1", "two"]
    assert (source.name, source.embedder) == ("records", "light")
    assert source.indexing_strategy.decompose("1", source.scope["1"]).filter_fields == {"lang": "en"}


def test_times_read_the_same_whoever_names_the_fields() -> None:
    def timed() -> list[Any]:
        return [{"id": "a", "text": "words", "at": datetime(2024, 1, 2, 3, tzinfo=UTC), "day": date(2024, 1, 2)}]

    own = CorpusSource.from_records(timed)
    named = CorpusSource.from_records(timed, metadata_of=lambda id, raw: {"at": raw["at"], "day": raw["day"]})
    for source in (own, named):
        corpus = build(source, store=CorpusStore.memory(), embedder="light")
        (hit,) = corpus.search("words", filter={"at": {"$gte": "2024-01-02T00:00:00"}})
        assert hit.metadata == {"at": "2024-01-02T03:00:00+00:00", "day": "2024-01-02"}


def test_a_fetcher_may_be_named_and_keys_chosen() -> None:
    source = CorpusSource.from_records("json.decoder:JSONDecoder", id_key="x")
    with pytest.raises(SourceError, match="The fetcher failed with TypeError"):
        list(source.scope)
    chosen = CorpusSource.from_records(lambda: [{"key": "a", "q": "words"}], id_key="key", text_key="q")
    assert chosen.indexing_strategy.decompose("a", chosen.scope["a"]).surfaces[0].text == "words"


def test_iterating_fetches_again() -> None:
    records = [{"id": "a", "text": "x"}]
    scope = CorpusSource.from_records(lambda: records).scope
    assert list(scope) == ["a"]
    records.append({"id": "b", "text": "y"})
    assert list(scope) == ["a", "b"]
    assert scope["b"] == {"text": "y"}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": "a"}, {"id": "a"}], "The id 'a' comes twice: record 1 and record 2"),
        ([{"text": "x"}], "record 1 has no id under '_id' or 'id'; it has 'text'.*id_key="),
        (["x"], "record 1 is a str; a mapping is expected"),
    ],
)
def test_bad_records_are_refused(records: list[Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        list(CorpusSource.from_records(lambda: records).scope)


@pytest.mark.parametrize("fetcher", ["no.such:thing", "json:nothing", "", ":", "json:__name__", ".near:thing", 3])
def test_a_fetcher_that_does_not_exist_is_refused(fetcher: Any) -> None:
    with pytest.raises(SourceError, match="fetcher"):
        CorpusSource.from_records(fetcher)


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"_id": "a", "text": "x", "n": 1}\n\n  \n{"_id": "b", "text": "y"}')
    source = CorpusSource.from_jsonl(file)
    assert source.name == "data"
    assert dict(source.scope) == {"a": {"text": "x", "n": 1}, "b": {"text": "y"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "a"}\n{"id": ', r"data.jsonl:2 cannot be used: it is not JSON .*Mend or remove that line"),
        (b'{"id": "a"}\n\n{"id": "a"}', r"The id 'a' comes twice: data.jsonl:1 and data.jsonl:3"),
        (b'["id"]', r"data.jsonl:1 cannot be used: a JSON object is expected, not list"),
        (b'{"id": "\xff"}', r"data.jsonl:1 cannot be used: it is not UTF-8 text"),
        (b"[" * 100_000, r"data.jsonl:1 cannot be used: its JSON is out of bounds"),
        (b'{"text": "x"}', r"data.jsonl:1 has no id under '_id' or 'id'; it has 'text'"),
    ],
    ids=["broken", "twice", "list", "bytes", "deep", "no id"],
)
def test_bad_lines_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(CorpusSource.from_jsonl(file).scope)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere.jsonl' cannot be read: No such file"):
        list(CorpusSource.from_jsonl(tmp_path / "nowhere.jsonl").scope)
