"""A mirror sends what changed and nothing else, whatever happens to it on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.base import Record
from ir.errors import InvalidInput, KeywordError
from ir.keyword import EmbeddedKeywords, KeywordMirror
from ir.testing.keyword_contract import as_records


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Engine:
    """An engine in memory that notes what it was sent. ``left`` calls go well; then it dies, before or after."""

    name: str = "engine"
    texts: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    calls: int = 0
    left: int | None = None
    dies_after: bool = False
    held: str | None = None
    error: type[BaseException] = Killed

    def mark(self, collection: str) -> str | None:
        return self.held

    def ids(self, collection: str) -> Iterator[str]:
        yield from sorted(self.texts)

    def apply(
        self, collection: str, records: Sequence[Record], gone: Sequence[str], *, mark: str, settings: Mapping[str, Any]
    ) -> None:
        if self.left == 0 and not self.dies_after:
            raise self.error("gone")
        self.calls += 1
        self.held = mark
        for record in records:
            self.texts[record.id] = f"{record.text}|{sorted(record.metadata.items())}"
            self.sent.append(record.id)
        for one in gone:
            self.texts.pop(one, None)
            self.removed.append(one)
        if self.left == 0:
            raise self.error("gone")
        if self.left is not None:
            self.left -= 1

    def forget(self) -> None:
        self.sent.clear()
        self.removed.clear()


def expected(store: Any) -> dict[str, str]:
    return {
        record.id: f"{record.text}|{sorted(record.metadata.items())}"
        for page in store.iter_records()
        for record in page
    }


def built(texts: Mapping[str, str], store: Any) -> Any:
    return ir.build(ir.CorpusSource.from_mapping(texts, name="n"), store=store, embedder="light")


def test_after_a_build_only_what_changed_is_sent(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine()
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    texts = {f"a{at}": f"text {at}" for at in range(20)}
    built(texts, store)
    before = mirror.behind()
    assert (before.added, before.changed, before.removed, before.mirrored_version) == (20, 0, 0, None)
    assert mirror.sync().added == 20
    assert engine.texts == expected(store)
    assert mirror.behind().total == 0
    assert mirror.behind().mirrored_version == store.content_version

    engine.forget()
    texts["a3"] = "another text"
    del texts["a4"]
    texts["new"] = "a new one"
    built(texts, store)
    assert engine.sent == []
    done = mirror.sync()
    assert (done.added, done.changed, done.removed) == (1, 1, 1)
    assert (len(engine.sent), len(engine.removed)) == (2, 1)
    assert engine.texts == expected(store)

    engine.forget()
    calls = engine.calls
    assert mirror.sync().total == 0
    assert engine.calls == calls


def test_a_change_that_is_taken_back_is_not_sent(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine()
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    built({"a": "one", "b": "two"}, store)
    mirror.sync()
    engine.forget()
    built({"a": "other", "b": "two"}, store)
    built({"a": "one", "b": "two"}, store)
    assert mirror.sync().total == 0
    assert engine.sent == []


def test_of_a_long_text_only_the_chunks_that_differ_are_sent(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine()
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    parts = [f"# Part {at}\n\n" + f"word{at} " * 200 for at in range(12)]

    def build(parts: list[str]) -> None:
        (tmp_path / "docs" / "a.md").write_text("\n\n".join(parts), "utf-8")
        ir.build(ir.CorpusSource.from_files(tmp_path / "docs"), store=store, embedder="light")

    (tmp_path / "docs").mkdir()
    build(parts)
    mirror.sync()
    many = len(store)
    engine.forget()
    build([*parts[:-1], "# Part 11\n\n" + "other " * 200])
    mirror.sync()
    assert 0 < len(engine.sent) < many / 2
    assert engine.texts == expected(store)


def test_records_that_no_build_wrote_are_mirrored_too(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine()
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    store.put_records(as_records({"a": ("one", {"k": "v"}), "b": ("two", {})}))
    mirror.sync()
    store.put_records(as_records({"a": ("one", {"k": "w"})}))
    store.delete_record("b")
    done = mirror.sync()
    assert (done.added, done.changed, done.removed) == (0, 1, 1)
    assert engine.texts == expected(store)
    store.delete_record("a")
    assert mirror.sync().removed == 1
    assert engine.texts == {}


@pytest.mark.parametrize("dies_after", [False, True])
def test_a_mirror_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_after: bool
) -> None:
    monkeypatch.setattr("ir.keyword.mirror._BATCH", 3)
    store, engine = ir.CorpusStore.memory(), Engine(dies_after=dies_after)
    built({f"a{at:02}": f"text {at}" for at in range(20)}, store)
    for _ in range(40):
        engine.left = 2
        try:
            KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
            break
        except Killed:
            assert KeywordMirror(store, engine, "c", tmp_path / "notes.db").behind().mirrored_version is None
    assert engine.texts == expected(store)
    # What was sent twice is what was on the way when it was killed.
    assert len(engine.sent) <= 20 + (3 * 20 if dies_after else 0)
    assert KeywordMirror(store, engine, "c", tmp_path / "notes.db").behind().total == 0


def test_killed_on_the_way_to_a_change_that_is_then_taken_back(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine(dies_after=True)
    built({"a": "one"}, store)
    KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    built({"a": "other"}, store)
    engine.left = 0
    with pytest.raises(Killed):
        KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    engine.left = None
    built({"a": "one"}, store)
    KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    assert engine.texts == expected(store)

    built({"a": "one", "b": "two"}, store)
    engine.left = 0
    with pytest.raises(Killed):
        KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    engine.left = None
    built({"a": "one"}, store)
    assert KeywordMirror(store, engine, "c", tmp_path / "notes.db").behind().removed == 1
    KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    assert engine.texts == expected(store)


def test_a_fault_of_the_engine_leaves_it_behind_and_the_next_sync_mends_it(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine(left=0, error=KeywordError)
    built({"a": "one"}, store)
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    with pytest.raises(KeywordError):
        mirror.sync()
    engine.left = None
    assert mirror.sync().added == 1
    assert engine.texts == expected(store)


def test_an_engine_that_was_emptied_or_belongs_to_somebody_else_is_filled_anew(tmp_path: Path) -> None:
    store, engine = ir.CorpusStore.memory(), Engine()
    built({"a": "one", "b": "two"}, store)
    mirror = KeywordMirror(store, engine, "c", tmp_path / "notes.db")
    mirror.sync()
    engine.texts, engine.held = {}, None
    assert mirror.behind().added == 2
    mirror.sync()
    assert engine.texts == expected(store)

    engine.texts["stranger"], engine.held = "x", "somebody's"
    mirror.sync()
    assert engine.texts == expected(store)
    # Notes that are lost are as good as those of somebody else.
    built({"b": "two"}, store)
    KeywordMirror(store, engine, "c", tmp_path / "other.db").sync()
    assert engine.texts == expected(store)


@pytest.mark.slow
def test_any_order_of_builds_syncs_and_kills_ends_with_what_the_corpus_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir.keyword.mirror._BATCH", 2)
    chance = random.Random(7)
    store, engine, texts = ir.CorpusStore.memory(), Engine(), {"a0": "first"}
    for _ in range(30):
        for _ in range(chance.randint(1, 4)):
            name = f"a{chance.randint(0, 9)}"
            if chance.random() < 0.3 and len(texts) > 1:
                texts.pop(name, None)
            else:
                texts[name] = f"text {chance.randint(0, 3)}"
        built(texts or {"a0": "first"}, store)
        engine.left, engine.dies_after = chance.choice([None, 0, 1]), chance.random() < 0.5
        try:
            KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
        except Killed:
            pass
        else:
            assert engine.texts == expected(store)
    engine.left = None
    KeywordMirror(store, engine, "c", tmp_path / "notes.db").sync()
    assert engine.texts == expected(store)


def test_what_keeps_no_words_by_itself_cannot_be_mirrored_to(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to mirror to"):
        KeywordMirror(ir.CorpusStore.memory(), EmbeddedKeywords({}), "c", tmp_path / "n.db")  # type: ignore[arg-type]
