"""Records and tools have no file of their own; who chooses one still needs all of it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ir
from ir.store import CorpusStore

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Which file."}},
    "required": ["path"],
}
TOOL = {"name": "read_file", "description": "Read a file from the disk.", "inputSchema": SCHEMA}


def discovered(corpus: ir.Corpus, query: str, level: str = "body") -> Any:
    return ir.discover(corpus, query, mode="lexical", disclose_level=level).results[0]


def tools(given: Any, store: CorpusStore | None = None) -> ir.Corpus:
    source = ir.CorpusSource.from_mcp_tools(given, name="tools")
    return ir.build(source, store=store or CorpusStore.memory(), embedder="light")


def test_the_body_of_a_tool_is_its_whole_definition() -> None:
    corpus = tools([TOOL])
    shown = discovered(corpus, "read a file")
    assert json.loads(shown.body) == TOOL
    assert "disclosure" not in shown.metadata
    assert discovered(corpus, "read a file", "metadata").body is None
    assert "inputSchema" not in json.dumps(corpus.search("read a file", mode="lexical")[0].to_dict())


def test_tools_that_are_objects_are_defined_too() -> None:
    shown = discovered(tools([SimpleNamespace(**TOOL)]), "read a file")
    assert json.loads(shown.body) == TOOL


def test_a_schema_that_changed_alone_is_taken_in_by_the_next_build() -> None:
    store = CorpusStore.memory()
    tools([TOOL], store)
    wider = {**TOOL, "inputSchema": {**SCHEMA, "required": []}}
    corpus = tools([wider], store)
    assert json.loads(discovered(corpus, "read a file").body) == wider


def test_the_body_of_a_record_in_json_lines_is_the_record_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "teas.jsonl"
    green = {"id": "green", "text": "steep green tea", "at": {"degrees": 80}, "names": ["sencha"]}
    other = {"id": 7, "text": "knead the dough; see green"}
    file.write_text("\n".join(json.dumps(record) for record in (other, green)) + "\n")
    corpus = ir.build(ir.CorpusSource.from_jsonl(file), store=CorpusStore.memory(), embedder="light")
    assert json.loads(discovered(corpus, "green tea").body) == green
    assert json.loads(discovered(corpus, "knead dough").body) == other
    # Lines above it may come and go.
    file.write_text(json.dumps({**green, "new": True}) + "\n")
    assert json.loads(discovered(corpus, "green tea").body)["new"] is True
    gone = discovered(corpus, "knead dough")
    assert gone.body is None
    assert "has no record '7' any more" in gone.metadata["disclosure"]
    file.unlink()
    assert "unreadable" in discovered(corpus, "green tea").metadata["disclosure"]


@pytest.mark.parametrize("id", ['say "tea"', "grüner", "a/b", "a\\b"])
def test_a_record_is_found_however_its_id_is_written(tmp_path: Path, id: str) -> None:
    file = tmp_path / "teas.jsonl"
    for ascii_only in (True, False):
        file.write_text(json.dumps({"key": id, "text": "steep tea"}, ensure_ascii=ascii_only) + "\n", "utf-8")
        source = ir.CorpusSource.from_jsonl(file, id_key="key")
        corpus = ir.build(source, store=CorpusStore.memory(), embedder="light")
        assert json.loads(discovered(corpus, "steep tea").body)["key"] == id


def test_the_body_of_a_fetched_record_is_kept_with_it() -> None:
    record = {"id": "green", "text": "steep green tea", "at": {"degrees": 80}}
    source = ir.CorpusSource.from_records(lambda: [record])
    corpus = ir.build(source, store=CorpusStore.memory(), embedder="light")
    assert json.loads(discovered(corpus, "green tea").body) == record


def test_disclose_says_where_such_a_body_can_be_had() -> None:
    corpus = tools([TOOL])
    chosen = ir.select(corpus.search("read a file", mode="lexical"))
    (shown,) = ir.disclose(chosen)
    assert shown.body is None
    assert "corpus=" in shown.metadata["disclosure"]
    for home in (corpus, corpus.store, {"tools": corpus}):
        (shown,) = ir.disclose(chosen, corpus=home)
        assert json.loads(shown.body or "") == TOOL
    plain = ir.build(
        ir.CorpusSource.from_mapping({"a": "steep tea"}, name="m"), store=CorpusStore.memory(), embedder="light"
    )
    assert "not kept" in discovered(plain, "steep tea").metadata["disclosure"]


def test_bodies_travel_with_the_corpus(tmp_path: Path) -> None:
    from ir.portable import export_corpus, import_corpus

    export_corpus(tools([TOOL], CorpusStore.local("tools")).store, tmp_path / "tools.irc")
    import_corpus(tmp_path / "tools.irc", CorpusStore.local("again"), name="again")
    assert json.loads(discovered(ir.open_corpus("again"), "read a file").body) == TOOL
