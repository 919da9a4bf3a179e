"""What a build does to a store: what changed and nothing else, and all of it or none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from ir.base import IndexPlan, Record, Surface, ledger_key
from ir.errors import EmbedderError, InvalidInput
from ir.index import Progress, build
from ir.sources import CorpusSource
from ir.store import CorpusStore
from ir.strategy import Chunked, Fitted, WholeText

from .conftest import Axes, Shelf

SourceOf = Callable[..., CorpusSource]
NOTES = {"tea": "steep it", "bread": "knead it", "soup": "boil it"}


class Picky:
    """A strategy that cannot take everything apart."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        if artifact_id in self._refused:
            raise RuntimeError("cannot take it apart")
        return IndexPlan({"size": len(raw)}, [Surface(artifact_id, "document", raw)])


def state(store: CorpusStore) -> dict[str, Any]:
    records = [store.get_record(record_id) for record_id in sorted(store.record_ids())]
    return {
        "records": [{**vars(record), "vector": record.vector.tolist()} for record in records],
        "ledger": dict(store.ledger_items()),
        "links": dict(store.link_items()),
        "config": store.get_config(),
    }


def texts(store: CorpusStore) -> dict[str, str]:
    return {store.get_record(key).artifact_id: store.get_record(key).text for key in store.record_ids()}


def test_a_first_build_holds_everything(store: CorpusStore, source_of: SourceOf) -> None:
    corpus = build(source_of(NOTES), store=store)
    assert corpus.report is not None
    assert corpus.report.added == list(NOTES)
    assert (corpus.name, corpus.report.records, corpus.report.embedded) == ("notes", 3, 3)
    assert texts(store) == NOTES
    entry = store.get_ledger_entry(ledger_key("tea"))
    assert entry is not None
    assert entry["artifact_id"] == "tea"
    assert entry["embedder_id"] == corpus.embedder_id
    assert entry["record_ids"] == [Record.make_id("tea", "document", 0)]
    config = store.get_config()
    assert config["name"] == "notes"
    assert config["embedder"] == "light"
    assert config["dim"] == len(store.get_record(entry["record_ids"][0]).vector)
    assert config["language"] == "english"
    assert config["fingerprint"]
    assert json.loads(json.dumps(corpus.report.to_dict()))["added"] == list(NOTES)


def test_a_second_build_writes_nothing(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store)
    version, before = store.version, state(store)
    report = build(source_of(dict(NOTES)), store=store).report
    assert report is not None
    assert (report.unchanged, report.embedded, report.version) == (list(NOTES), 0, version)
    assert (store.version, state(store)) == (version, before)


def test_only_what_changed_is_embedded(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store)
    report = build(source_of({"tea": "steep it longer", "bread": "knead it", "rice": "rinse it"}), store=store).report
    assert report is not None
    assert (report.added, report.changed, report.removed) == (["rice"], ["tea"], ["soup"])
    assert (report.unchanged, report.embedded) == (["bread"], 2)
    assert texts(store) == {"tea": "steep it longer", "bread": "knead it", "rice": "rinse it"}
    assert store.get_ledger_entry(ledger_key("soup")) is None


def test_without_full_nothing_is_removed(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store)
    report = build(source_of({"tea": "steep it"}), store=store, full=False).report
    assert report is not None
    assert report.removed == []
    assert texts(store) == NOTES


def test_a_few_artifacts_of_many_are_looked_up_one_by_one(
    store: CorpusStore, source_of: SourceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"note {number}": f"about the number {number}" for number in range(60)}
    build(source_of(many), store=store)

    def read_all(*names: str) -> Any:
        raise AssertionError("the whole ledger was read")

    monkeypatch.setattr(store, "ledger_fields", read_all)
    some = {"note 7": many["note 7"], "note 8": "something else", "more": "quite new"}
    report = build(source_of(some), store=store, full=False).report
    assert report is not None
    assert (report.unchanged, report.changed, report.added, report.removed) == (["note 7"], ["note 8"], ["more"], [])
    assert (report.embedded, texts(store)) == (2, many | some)
    monkeypatch.undo()
    report = build(source_of(some), store=store, full=False, embedder=Axes(6, name="six")).report
    assert report is not None
    assert report.embedded == 61


def test_unchanged_chunks_keep_their_vectors(store: CorpusStore, source_of: SourceOf) -> None:
    paragraphs = [f"Paragraph {number} says something about it." for number in range(20)]
    strategy = Chunked(chunk_size=100, overlap=0)
    build(source_of({"a": "\n\n".join(paragraphs)}, strategy=strategy), store=store)
    held = len(store)
    paragraphs[-1] = "The end is another one now."
    report = build(source_of({"a": "\n\n".join(paragraphs)}, strategy=strategy), store=store).report
    assert report is not None
    assert report.reused >= held - 2
    assert 1 <= report.embedded <= 2
    assert "another one" in " ".join(store.get_record(key).text for key in store.record_ids())


def test_fewer_surfaces_leave_no_old_records(store: CorpusStore, source_of: SourceOf) -> None:
    strategy = Chunked(chunk_size=40, overlap=0)
    build(source_of({"a": "One sentence here. " * 20}, strategy=strategy), store=store)
    build(source_of({"a": "One sentence here."}, strategy=strategy), store=store)
    entry = store.get_ledger_entry(ledger_key("a"))
    assert entry is not None
    assert store.record_ids() == entry["record_ids"]
    assert len(store) == 1


def test_another_strategy_takes_everything_apart_again(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store)
    report = build(source_of(NOTES, strategy=WholeText(kind="note")), store=store).report
    assert report is not None
    assert report.changed == list(NOTES)
    assert (report.embedded, report.reused) == (0, 3)
    assert {store.get_record(key).surface_kind for key in store.record_ids()} == {"note"}


def test_record_metadata_is_the_fields_overlaid_by_the_surface(store: CorpusStore, source_of: SourceOf) -> None:
    class Two:
        def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
            surfaces = [
                Surface(artifact_id, "a", "first", metadata={"part": 1}),
                Surface(artifact_id, "a", "  "),
                Surface(artifact_id, "b", "third"),
            ]
            return IndexPlan({"part": 0, "owner": (metadata or {}).get("owner")}, surfaces)

    source = source_of({"x": "raw"}, strategy=Two(), metadata_of=lambda artifact_id, raw: {"owner": artifact_id + raw})
    build(source, store=store)
    first = store.get_record(Record.make_id("x", "a", 0))
    third = store.get_record(Record.make_id("x", "b", 2))
    assert (first.metadata, third.metadata) == ({"part": 1, "owner": "xraw"}, {"part": 0, "owner": "xraw"})
    assert len(store) == 2


def test_an_artifact_without_text_is_remembered(store: CorpusStore, source_of: SourceOf) -> None:
    report = build(source_of({"a": "  ", "b": "text"}), store=store).report
    assert report is not None
    assert (report.added, report.empty, report.records) == (["a", "b"], 1, 1)
    again = build(source_of({"a": "  ", "b": "text"}), store=store).report
    assert again is not None
    assert again.unchanged == ["a", "b"]


# -- what goes wrong -------------------------------------------------------------------------------------------


def test_what_cannot_be_taken_apart_stays_as_it_was(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES, strategy=Picky()), store=store)
    changed = {**NOTES, "tea": "steep it twice", "bread": "knead it twice"}
    report = build(source_of(changed, strategy=Picky("tea")), store=store).report
    assert report is not None
    assert [(problem.id, problem.reason) for problem in report.failed] == [
        ("tea", "the strategy failed: RuntimeError: cannot take it apart")
    ]
    assert texts(store) == {**NOTES, "bread": "knead it twice"}
    mended = build(source_of(changed, strategy=Picky()), store=store).report
    assert mended is not None
    assert mended.changed == ["tea"]
    assert texts(store) == changed


def test_what_cannot_be_read_stays_and_is_not_pruned(store: CorpusStore, source_of: SourceOf) -> None:
    shelf = Shelf(NOTES)
    build(source_of(shelf), store=store)
    shelf.broken.add("tea")
    shelf.stats["tea"] = "2"
    report = build(source_of(shelf), store=store).report
    assert report is not None
    assert [problem.id for problem in report.skipped] == ["tea"]
    assert "Permission denied" in report.skipped[0].reason
    assert texts(store) == NOTES


class _Odd(Mapping[Any, str]):
    def __iter__(self) -> Iterator[Any]:
        return iter(["a", "", "a", 7, "\n", "b"])

    def __len__(self) -> int:
        return 6

    def __getitem__(self, key: Any) -> str:
        return f"text of {key}"


def test_blank_and_double_ids_are_reported(store: CorpusStore, source_of: SourceOf) -> None:
    report = build(source_of(_Odd()), store=store).report
    assert report is not None
    assert report.added == ["a", "b"]
    reasons = [problem.reason for problem in report.skipped]
    assert len(reasons) == 4
    assert sum("twice" in reason for reason in reasons) == 1
    assert sum("blank" in reason for reason in reasons) == 3


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda texts: 1 / 0, r"failed on a batch of 1 texts: ZeroDivisionError"),
        (lambda texts: np.zeros((len(texts) + 1, 3)), r"shape \(2, 3\) for 1 texts"),
        (lambda texts: np.zeros(3), r"shape"),
        (lambda texts: np.full((len(texts), 4), np.nan), r"finite"),
    ],
)
def test_a_broken_embedder_changes_nothing(
    store: CorpusStore, source_of: SourceOf, broken: Callable[[Any], Any], message: str
) -> None:
    good = Axes(name="mine")
    build(source_of(NOTES), store=store, embedder=good)
    before = state(store)

    def embed(texts: Any) -> Any:
        return broken(texts) if "new" in texts else good(texts)

    embed._ir_id = "mine"  # type: ignore[attr-defined]
    with pytest.raises(EmbedderError, match=message):
        build(source_of({**NOTES, "soup": "other", "more": "new"}), store=store, embedder=embed, batch_size=1)
    assert state(store) == before


def test_an_interrupt_leaves_the_corpus_as_it_was(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store)
    before = state(store)

    def interrupt(step: Progress) -> None:
        if step.stage == "embed":
            raise KeyboardInterrupt

    many = {f"n{number}": f"text {number}" for number in range(50)}
    with pytest.raises(KeyboardInterrupt):
        build(source_of(many), store=store, batch_size=1, progress=interrupt)
    assert state(store) == before


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, True, "9"])
def test_a_bad_batch_size(store: CorpusStore, source_of: SourceOf, batch_size: Any) -> None:
    with pytest.raises(InvalidInput, match="batch_size"):
        build(source_of(NOTES), store=store, batch_size=batch_size)


# -- embedders -------------------------------------------------------------------------------------------------


def test_another_embedder_embeds_everything_again(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store, embedder=Axes(4, name="four"))
    report = build(source_of(NOTES), store=store, embedder=Axes(6, name="six")).report
    assert report is not None
    assert (report.changed, report.embedded, report.reused) == (list(NOTES), 3, 0)
    assert {len(store.get_record(key).vector) for key in store.record_ids()} == {6}
    assert (store.get_config()["embedder_id"], store.get_config()["dim"]) == ("six", 6)
    assert store.get_config()["embedder"] == "custom"


def test_what_the_source_cannot_give_again_is_embedded_from_the_store(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES, strategy=Picky()), store=store, embedder=Axes(4, name="four"))
    left = {"tea": "steep it well", "bread": "knead it"}
    report = build(source_of(left, strategy=Picky("tea")), store=store, embedder=Axes(6, name="six"), full=False).report
    assert report is not None
    assert [problem.id for problem in report.failed] == ["tea"]
    assert texts(store) == NOTES
    assert {len(store.get_record(key).vector) for key in store.record_ids()} == {6}
    assert {entry["embedder_id"] for _, entry in store.ledger_items()} == {"six"}


def test_a_nameless_embedder_is_known_by_what_it_computes(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store, embedder=Axes(4))
    same = build(source_of(NOTES), store=store, embedder=Axes(4)).report
    other = build(source_of(NOTES), store=store, embedder=Axes(4, scale=-2.0)).report
    assert same is not None
    assert other is not None
    assert same.unchanged == list(NOTES)
    assert other.changed == list(NOTES)


def test_batches_are_no_larger_than_asked_and_equal_texts_are_embedded_once(
    store: CorpusStore, source_of: SourceOf
) -> None:
    embedder = Axes()
    report = build(
        source_of({str(n): f"text {n % 10}" for n in range(30)}), store=store, embedder=embedder, batch_size=4
    )
    assert report.report is not None
    assert max(embedder.batches) <= 4
    assert (report.report.embedded, len(store)) == (10, 30)


def test_texts_are_embedded_while_the_source_is_still_read(store: CorpusStore, source_of: SourceOf) -> None:
    shelf = Shelf({f"n{number}": f"text {number}" for number in range(100)})
    seen: list[int] = []

    def embed(texts: Any) -> Any:
        seen.append(len(shelf.reads))
        return Axes()(texts)

    build(source_of(shelf), store=store, embedder=embed, batch_size=2)
    assert any(0 < reads < 100 for reads in seen)
    assert len(store) == 100


def test_the_token_budget_of_the_embedder_is_kept(store: CorpusStore, source_of: SourceOf) -> None:
    class Narrow(Axes):
        max_tokens = 20

    long = {"a": "A sentence of some words. " * 40}
    build(source_of(long, strategy=Chunked()), store=store, embedder=Axes(name="wide"))
    wide = len(store)
    build(source_of(long, strategy=Chunked()), store=store, embedder=Narrow(name="narrow"))
    assert len(store) > 3 * wide
    assert "20" in store.get_config()["strategy_id"]


def test_texts_that_are_longer_than_the_embedder_reads_are_counted(store: CorpusStore, source_of: SourceOf) -> None:
    class Narrow(Axes):
        max_tokens = 20

    notes = {"long": "A sentence of some words. " * 10, "longer": "More of the same. " * 50, "short": "Few words."}
    for embedder, cut in ((Narrow(name="narrow"), 2), (Axes(name="wide"), 0)):
        report = build(source_of(notes, strategy=WholeText()), store=store, embedder=embedder).report
        assert report is not None
        assert (report.cut, report.to_dict()["cut"]) == (cut, cut)
    again = build(source_of(notes, strategy=Fitted()), store=store, embedder=Narrow(name="narrow")).report
    assert again is not None
    assert again.cut == 0
    assert {entry["artifact_id"]: len(entry["record_ids"]) > 1 for _, entry in store.ledger_items()} == {
        "long": True,
        "longer": True,
        "short": False,
    }


# -- cheap change tests, links, language -----------------------------------------------------------------------


def test_an_equal_stat_means_nothing_is_read(store: CorpusStore, source_of: SourceOf) -> None:
    shelf = Shelf(NOTES)
    build(source_of(shelf), store=store)
    shelf.reads.clear()
    report = build(source_of(shelf), store=store).report
    assert report is not None
    assert (shelf.reads, report.unchanged) == ([], list(NOTES))


def test_a_touched_file_is_read_once_and_not_embedded(store: CorpusStore, source_of: SourceOf) -> None:
    shelf = Shelf(NOTES)
    build(source_of(shelf), store=store)
    shelf.stats["tea"] = "2"
    shelf.reads.clear()
    first = build(source_of(shelf), store=store).report
    build(source_of(shelf), store=store)
    assert first is not None
    assert (first.unchanged, first.embedded, shelf.reads) == (list(NOTES), 0, ["tea"])


def test_links_are_written_for_all_and_stay_without_an_extractor(store: CorpusStore, source_of: SourceOf) -> None:
    def sizes(artifact_id: str, fields: Mapping[str, Any]) -> dict[str, list[Any]]:
        return {"size": [str(fields["size"])], "none": []}

    source = source_of(NOTES, strategy=Picky())
    build(source, store=store)
    assert dict(store.link_items()) == {}
    linked = build(source, store=store, edge_extractor=sizes).report
    assert linked is not None
    assert linked.embedded == 0
    assert dict(store.link_items()) == {name: {"size": [str(len(text))]} for name, text in NOTES.items()}
    version = store.version
    build(source, store=store, edge_extractor=sizes)
    assert store.version == version
    build(source_of({"tea": "steep it now"}, strategy=Picky()), store=store)
    assert dict(store.link_items()) == {"tea": {"size": ["8"]}}


def test_an_extractor_that_fails_keeps_the_links(store: CorpusStore, source_of: SourceOf) -> None:
    def fail(artifact_id: str, fields: Mapping[str, Any]) -> dict[str, list[Any]]:
        if artifact_id == "tea":
            raise LookupError("no such field")
        return {"ref": ["x"]}

    store.set_links("tea", {"ref": ["old"]})
    report = build(source_of(NOTES), store=store, edge_extractor=fail).report
    assert report is not None
    assert [problem.id for problem in report.failed] == ["tea"]
    assert store.get_links("tea") == {"ref": ["old"]}
    assert store.get_links("soup") == {"ref": ["x"]}
    assert texts(store) == NOTES


def test_the_language_is_asked_for_and_then_kept(store: CorpusStore, source_of: SourceOf) -> None:
    build(source_of(NOTES), store=store, language="german")
    assert store.get_config()["language"] == "german"
    build(source_of(NOTES), store=store)
    assert store.get_config()["language"] == "german"
    with pytest.raises(InvalidInput, match="klingon"):
        build(source_of(NOTES), store=store, language="klingon")


def test_progress_ends_at_its_total(store: CorpusStore, source_of: SourceOf) -> None:
    seen: list[Progress] = []
    build(source_of(NOTES), store=store, progress=seen.append)
    assert [step for step in seen if step.stage == "scan"][-1] == Progress("scan", 3, 3)
    assert [step for step in seen if step.stage == "embed"][-1] == Progress("embed", 3, 3)


@pytest.mark.parametrize("thing", [None, {"a": "some text"}, "notes", ["some text"]])
def test_what_is_no_source_is_refused_in_words(thing: Any) -> None:
    with pytest.raises(InvalidInput, match=r"built from a source, not from .*CorpusSource\.from_mapping"):
        build(thing)


@pytest.mark.parametrize("texts", [["some text"], ("some text",), {"some text"}, "some text"])
def test_texts_without_ids_are_no_scope(texts: Any) -> None:
    with pytest.raises(InvalidInput, match=r"mapping of ids to items, not from a .* enumerate"):
        CorpusSource.from_mapping(texts, name="own")


@pytest.mark.parametrize("strategy", [WholeText, "Chunked", object()])
def test_what_cannot_take_an_item_apart_is_no_strategy(strategy: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is not a strategy\. Give an object with a decompose method"):
        CorpusSource.from_mapping({"a": "some text"}, name="own", strategy=strategy)


def test_a_corpus_has_a_length_and_is_shown_in_a_line_whatever_its_size(source_of: SourceOf) -> None:
    corpus = build(source_of({f"note {number}": f"text {number}" for number in range(2000)}))
    assert len(corpus) == len(corpus.store) == 2000
    assert len(repr(corpus)) < 300
    assert repr(corpus).startswith("Corpus('notes', LocalStore(")
    assert corpus.report is not None
    assert "added=2000" in repr(corpus.report)
    assert len(repr(corpus.report)) < 300
    empty = build(source_of({}), store=CorpusStore.memory())
    assert len(empty) == 0
    assert empty
