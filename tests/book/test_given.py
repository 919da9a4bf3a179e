"""Books that another pipeline has cut: read as they are, written in the same form, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.book.source import book_files
from ir.book.writing import write_files
from ir.errors import SourceError

RULES = """# The Rules

Front matter, see the Monster Manual.

## 1 Spells

### 1.1 Fireball
Casting Time: 1 action
Range: 150 feet

A bright streak flashes. See Burning Hands for a weaker one, and Rule 2.1(3).

### 1.2 Burning Hands
Fire shoots from your fingers. Each creature makes a saving throw as for a fireball.

## 2 Combat

### 2.1 Cover
Table 2-1: Cover
Walls and trees give cover. Prerequisite: 5th level.
"""
CHUNKS: list[dict[str, Any]] = [
    {"id": "c1", "text": "# Spells", "page": 1, "block_type": "SectionHeader"},
    {
        "id": "c2",
        "text": "Fireball deals fire damage. See Grappled.",
        "page": 1,
        "section_hierarchy": {"2": "Fireball", "1": "c1"},
        "content_kind": "spell",
        "is_rule_bearing": True,
        "tags": ["fire"],
        "traits": ["evocation"],
    },
    {"id": "c4", "text": "Grappled creatures cannot move.", "page": 3, "section_path": ["Conditions", "Grappled"]},
    {"id": "c3", "text": "Oil burns longer.", "page": 2, "section_path": []},
]


def built(*paths: Path, **options: Any) -> ir.Corpus:
    source = book_files([str(path) for path in paths], name="core", run_id="run-1", **options)
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)


def written(folder: Path, name: str, told: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(told if isinstance(told, str) else json.dumps(told), "utf-8")
    return path


def found(corpus: ir.Corpus, query: str) -> Any:
    return ir.search(corpus, query, mode="lexical", k=1)[0]


def edges(corpus: ir.Corpus, *relations: str) -> set[tuple[str, str, str]]:
    return {
        (edge.source, edge.type, edge.target)
        for batch in corpus.store.iter_edges()
        for _, out in batch
        for edge in out
        if edge.type in relations
    }


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_chunk_is_a_result_with_all_that_its_file_says_of_it(tmp_path: Path) -> None:
    path = written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    hit = found(built(path), "fire damage")
    assert hit.artifact_id == "c2"
    about = {name: hit.metadata.get(name) for name in ("chunk", "page", "content_kind", "tags", "traits", "run_id")}
    assert about == {
        "chunk": "c2",
        "page": 1,
        "content_kind": "spell",
        "tags": ["fire"],
        "traits": ["evocation"],
        "run_id": "run-1",
    }
    assert hit.metadata["is_rule_bearing"] is True


def test_an_empty_path_is_that_of_the_headings_and_carried_on_in_the_order_of_pages(tmp_path: Path) -> None:
    corpus = built(written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS}))
    assert found(corpus, "fire damage").metadata["section_path"] == ["Spells", "Fireball"]
    assert found(corpus, "oil burns").metadata["section_path"] == ["Spells", "Fireball"]
    assert found(corpus, "creatures move").metadata["chapter"] == "Conditions"


def test_chunks_without_a_graph_get_one(tmp_path: Path) -> None:
    corpus = built(written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS}))
    assert ("c2", "refers_to", "c4") in edges(corpus, "refers_to")
    assert {("c1", "next", "c2"), ("c2", "next", "c3"), ("c3", "next", "c4")} == edges(corpus, "next")
    assert {("c2", "has_tag", "tag:fire"), ("c2", "has_trait", "trait:evocation")} <= edges(
        corpus, "has_tag", "has_trait"
    )
    assert ("c2", "describes", "spell:fireball") in edges(corpus, "describes")


@pytest.mark.parametrize("names", [("source", "target"), ("source_id", "target_id")])
def test_a_given_graph_is_taken_and_what_it_leaves_out_is_drawn(tmp_path: Path, names: tuple[str, str]) -> None:
    path = written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    ends = [("core", "contains", "c2"), ("c2", "mentions", "spell:fireball"), ("c2", "mentions", "spell:gone")]
    written(
        tmp_path,
        "core.graph.json",
        {
            "nodes": [
                {"id": "core", "type": "document"},
                {"id": "spell:fireball", "type": "spell", "name": "Fireball"},
            ],
            "edges": [{names[0]: one, names[1]: other, "relation": relation} for one, relation, other in ends],
        },
    )
    source = book_files([str(path)], name="core")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light", floor=False)
    assert edges(corpus, "contains") == {("core", "contains", "c2")}
    assert edges(corpus, "mentions") == {("c2", "mentions", "spell:fireball")}
    assert ("c2", "refers_to", "c4") in edges(corpus, "refers_to")
    (dropped,) = source.scope.dropped  # type: ignore[attr-defined]
    assert (dropped.target, dropped.unknown, Path(dropped.file).name) == ("spell:gone", "spell:gone", "core.graph.json")
    with corpus.store.snapshot() as snapshot:
        node = snapshot.nodes(["spell:fireball"])["spell:fireball"]
        assert (node.type, node.properties["name"], node.properties["kind"]) == ("entity", "Fireball", "spell")


def test_a_graph_that_lists_no_nodes_knows_those_of_its_edges(tmp_path: Path) -> None:
    path = written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    written(tmp_path, "core.graph.json", {"edges": [{"source": "c2", "target": "e:fire", "relation": "mentions"}]})
    assert ("c2", "mentions", "e:fire") in edges(built(path), "mentions")


def test_a_merged_file_repeats_the_others_and_its_graph_joins_them(tmp_path: Path) -> None:
    other = [{"id": "d1", "text": "A game master's word.", "section_path": ["Running"]}]
    written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    written(tmp_path, "gm.enriched.json", {"document": "gm", "chunks": other})
    both = [{**one, "document": "core"} for one in CHUNKS] + [{**one, "document": "gm"} for one in other]
    written(tmp_path, "merged.enriched.json", {"chunks": both})
    across = {"source": "d1", "target": "c2", "relation": "refers_to"}
    nodes = [{"id": one["id"], "type": "chunk"} for one in both]
    written(tmp_path, "merged.graph.json", {"nodes": nodes, "edges": [across]})
    corpus = built(tmp_path)
    assert len(corpus.store) == 5
    assert ("d1", "refers_to", "c2") in edges(corpus, "refers_to")
    assert {found(corpus, "fire damage").metadata["book"], found(corpus, "game master").metadata["book"]} == {
        "core",
        "gm",
    }
    alone = built(tmp_path / "merged.enriched.json")
    assert len(alone.store) == 5
    assert found(alone, "game master").metadata["book"] == "gm"


def test_questions_that_come_along_are_counted_with_those_that_nothing_here_answers(tmp_path: Path) -> None:
    from ir.book.census import book_census

    path = written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    asked = [
        {"id": "q1", "query_text": "What burns?", "query_type": "lookup", "expected_chunk_ids": ["c2"]},
        {"id": "q2", "query_text": "What is gone?", "query_type": "lookup", "expected_chunk_ids": ["c99"]},
    ]
    written(tmp_path, "core.evaluation_queries.json", {"document": "core", "queries": asked})
    census = book_census(built(path).store)
    assert (census.queries, census.unanswerable) == (2, ["q2"])


# -- writing ---------------------------------------------------------------------------------------------------------


def everything(corpus: ir.Corpus) -> dict[str, Any]:
    """All that a corpus holds but where its files were."""
    beside = ("path", "format", "encoding")
    records = {
        record.id: (
            record.artifact_id,
            record.surface_kind,
            record.text,
            {key: value for key, value in record.metadata.items() if key not in beside},
        )
        for batch in corpus.store.iter_records()
        for record in batch
    }
    nodes = {node.id: (node.type, node.properties) for batch in corpus.store.iter_nodes() for node in batch}
    links = sorted(
        (edge.source, edge.type, edge.target, edge.corpus or "", json.dumps(edge.properties, sort_keys=True))
        for batch in corpus.store.iter_edges()
        for _, out in batch
        for edge in out
    )
    return {"records": records, "nodes": nodes, "links": links}


def test_what_is_written_is_read_back_as_the_same_corpus(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rules.md").write_text(RULES)
    (tmp_path / "in" / "more.md").write_text("# More\n\n## Darts\nNo fireball reaches them. See Cover.\n")
    first = built(tmp_path / "in")
    folder = write_files(first.store, tmp_path / "out", "run-1")
    assert folder == tmp_path / "out" / "outputs" / "runs" / "run-1" / "enriched"
    assert sorted(path.name for path in folder.iterdir()) == [
        "merged.enriched.json",
        "merged.graph.json",
        "more.md.enriched.json",
        "more.md.graph.json",
        "rules.md.enriched.json",
        "rules.md.graph.json",
    ]
    again = everything(built(tmp_path / "out"))
    before = everything(first)
    assert again["records"] == before["records"]
    assert again["nodes"] == before["nodes"]
    assert again["links"] == before["links"]
    assert str(tmp_path) not in (folder / "merged.enriched.json").read_text()
    alone = everything(built(folder / "merged.enriched.json"))
    assert (alone["records"], alone["links"]) == (before["records"], before["links"])


def test_chunks_of_others_are_written_back_as_they_came(tmp_path: Path) -> None:
    asked = [{"id": "q1", "query_text": "What burns?", "query_type": "lookup", "expected_chunk_ids": ["c2"]}]
    path = written(
        tmp_path / "in",
        "core.enriched.json",
        {"document": "core", "page_summaries": {"1": "Fire burns."}, "chunks": CHUNKS},
    )
    written(tmp_path / "in", "core.evaluation_queries.json", {"document": "core", "queries": asked})
    first = built(path)
    folder = write_files(first.store, tmp_path / "out", "run-1")
    assert everything(built(folder / "core.enriched.json")) == everything(first)
    told = json.loads((folder / "core.enriched.json").read_text())
    assert {chunk["run_id"] for chunk in told["chunks"]} == {"run-1"}
    assert json.loads((folder / "core.evaluation_queries.json").read_text())["queries"] == asked


def test_of_several_runs_the_newest_is_read(tmp_path: Path) -> None:
    for run, text in (("20250101T000000Z", "An old word."), ("20260101T000000Z", "A new word.")):
        written(
            tmp_path / "outputs" / "runs" / run / "enriched",
            "core.enriched.json",
            {"document": "core", "chunks": [{"id": "c", "text": text}]},
        )
    corpus = built(tmp_path)
    assert [record.text for batch in corpus.store.iter_records() for record in batch] == ["A new word."]


# -- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("{", "is not JSON: .* in line 1, column 2"),
        ("[1]", "an object is needed, not a list"),
        ({"document": "x"}, "at chunks: a list of chunks is needed, not nothing"),
        ({"chunks": ["x"]}, r"at chunks\[0\]: an object is needed, not a text"),
        ({"chunks": [{"text": "x"}]}, r"at chunks\[0\].id: a chunk needs an id"),
        ({"chunks": [{"id": "a"}]}, r"at chunks\[0\].text: the text of a chunk is needed"),
        ({"chunks": [{"id": "a", "text": "x", "page": [1]}]}, r"at chunks\[0\].page: a page is a number"),
        ({"chunks": [{"id": "a", "text": "x", "tags": {"a": 1}}]}, r"at chunks\[0\].tags: a list of texts"),
        ({"chunks": [{"id": "a", "text": "x", "is_rule_bearing": 1}]}, r"chunks\[0\].is_rule_bearing: true or false"),
        (
            {"chunks": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
            r"at chunks\[1\]: the chunk id 'a' comes twice, first at chunks\[0\]",
        ),
    ],
)
def test_what_is_wrong_with_chunks_is_said_with_file_and_place(tmp_path: Path, told: Any, said: str) -> None:
    path = written(tmp_path, "core.enriched.json", told)
    with pytest.raises(SourceError, match=said) as caught:
        built(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"nodes": 1, "edges": []}, "at nodes: a list of nodes"),
        ({"nodes": []}, "at edges: a list of edges"),
        (
            {"edges": [{"source": "c1", "relation": "next"}]},
            r"at edges\[0\].target: an edge needs the id of its target",
        ),
        ({"edges": [{"source": "c1", "target": "c2"}]}, r"at edges\[0\].relation: an edge needs a relation"),
        ({"nodes": [{"name": "x"}], "edges": []}, r"at nodes\[0\].id: a node needs an id"),
    ],
)
def test_what_is_wrong_with_a_graph_is_said_with_file_and_place(tmp_path: Path, told: Any, said: str) -> None:
    path = written(tmp_path, "core.enriched.json", {"document": "core", "chunks": CHUNKS})
    written(tmp_path, "core.graph.json", told)
    with pytest.raises(SourceError, match=said) as caught:
        built(path)
    assert "core.graph.json" in str(caught.value)


def test_one_id_in_two_files_is_refused_with_both(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path, f"{name}.enriched.json", {"document": name, "chunks": [{"id": "same", "text": name}]})
    with pytest.raises(SourceError, match=r"'same' comes twice: in .*a.enriched.json and in .*b.enriched.json"):
        built(tmp_path)


def test_a_graph_without_its_chunks_and_json_of_another_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="says nothing without its chunks"):
        built(written(tmp_path, "core.graph.json", {"nodes": [], "edges": []}))
    with pytest.raises(SourceError, match="not called as the file of a book"):
        built(written(tmp_path, "core.json", {}))


def test_what_a_chunk_says_of_files_opens_none(tmp_path: Path) -> None:
    chunk = {"id": "a", "text": "words here", "path": "/etc/passwd", "metadata": {"path": "/etc/passwd", "_id": 1}}
    hit = found(built(written(tmp_path, "core.enriched.json", {"chunks": [chunk]})), "words")
    assert hit.pointer is None
    assert "path" not in hit.metadata


def test_vectors_of_two_lengths_in_one_file_are_refused(tmp_path: Path) -> None:
    chunks = [{"id": "a", "text": "x", "embedding": [0.1, 0.2]}, {"id": "b", "text": "y", "embedding": [0.1]}]
    with pytest.raises(SourceError, match=r"chunks\[1\].embedding: it has 1 numbers, and those before have 2"):
        built(written(tmp_path, "core.enriched.json", {"chunks": chunks}))


def test_a_model_whose_vectors_change_their_length_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    import numpy as np

    from ir.errors import EmbedderError

    lengths = iter((3, 4, 5))

    def odd(texts: Any, *, input_type: str = "document") -> Any:
        return np.ones((len(texts), next(lengths)), dtype=np.float32)

    text = "\n".join(f"# Section {number}\nwords and more words of {number}\n" for number in range(400))
    (tmp_path / "core.md").write_text(text)
    store = ir.CorpusStore.memory()
    with pytest.raises(EmbedderError, match="All vectors of an embedder must have one length"):
        ir.build(book_files(str(tmp_path / "core.md")), store=store, embedder=odd, floor=False, batch_size=64)
    assert len(store) == 0
