"""Books in the collections that other systems read and write: DocumentDB, not mongod."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.extras import reason_for

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

import pymongo
from pymongo.errors import DuplicateKeyError

import ir
from ir.book import (
    Book,
    Enrichment,
    TraversalConfig,
    TraversalIndex,
    load_from_mongo,
    retrieve_candidates,
    store_to_mongo,
)
from ir.book.mongo import write_traversal
from ir.errors import EmbedderError, InvalidInput, NotFound
from ir.index.spaces import add_space
from ir.store import CorpusStore
from ir.store.mongo.collections import COLLECTIONS, BookCollections
from ir.store.mongo.stored_book import StoredBook
from ir.testing import ToyEmbedder

RULES = """# Spells

## Fireball

A burst of fire. See Shield.

## Shield

A wall of force that stops a Fireball.

# Gear

## Rope

Hemp, fifty feet.
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Any]:
    client: Any = pymongo.MongoClient(database_url)
    yield client[database_url.rpartition("/")[2]]
    client.close()


@pytest.fixture
def corpus() -> ir.Corpus:
    return built(RULES)


def built(text: str, store: Any = None) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(
        {"rules.md": text}, name="rules", strategy=Book(enrichment=Enrichment(), run_id="r1")
    )
    return ir.build(source, store=store or CorpusStore.memory(), embedder=ToyEmbedder(16))


def rows(database: Any, name: str, **query: Any) -> list[dict[str, Any]]:
    return list(database[name].find(query, {"_id": 0}))


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_corpus_is_written_with_the_names_fields_and_indexes_of_the_reference(
    corpus: ir.Corpus, database_url: str, database: Any
) -> None:
    done = store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules")
    assert set(database.list_collection_names()) == set(COLLECTIONS)
    chunks = rows(database, "enriched_chunks")
    fields = "chunk_id ruleset_id book_id run_id text page content_kind tags traits section_path is_rule_bearing"
    assert {frozenset(chunk) for chunk in chunks} == {frozenset(fields.split())}
    assert [chunk["section_path"][-1] for chunk in chunks] == ["Spells", "Fireball", "Shield", "Gear", "Rope"]
    assert {(chunk["ruleset_id"], chunk["book_id"], chunk["run_id"]) for chunk in chunks} == {("dnd", "rules", "r1")}
    embeddings = rows(database, "chunk_embeddings")
    assert {one["chunk_id"] for one in embeddings} == {chunk["chunk_id"] for chunk in chunks}
    assert {len(one["embedding"]) for one in embeddings} == {16}
    assert all(len(one["metadata"]["text_hash"]) == 64 and one["metadata"]["created_at"] for one in embeddings)
    relations = {edge["relation"] for edge in rows(database, "graph_edges")}
    assert {"contains", "next", "refers_to", "mentions"} <= relations
    assert {node["node_type"] for node in rows(database, "graph_nodes")} >= {"document", "section", "chunk"}
    assert rows(database, "traversal_indexes")[0]["chunks"] == 5
    assert done["rules"].written["enriched_chunks"] == 5
    indexes = {
        name: [(list(index["key"].items()), bool(index.get("unique"))) for index in database[name].list_indexes()]
        for name in COLLECTIONS
    }
    assert ([("chunk_id", 1), ("model_id", 1)], True) in indexes["chunk_embeddings"]
    assert ([("ruleset_id", 1), ("book_id", 1), ("model_id", 1)], False) in indexes["chunk_embeddings"]
    assert {key[0][0][0] for key in indexes["graph_edges"]} == {"_id", "ruleset_id", "source_id", "target_id"}
    assert ([("ruleset_id", 1), ("version", -1)], True) in indexes["traversal_configs"]
    assert ([("ruleset_id", 1), ("book_id", 1), ("run_id", 1)], True) in indexes["traversal_indexes"]
    with pytest.raises(DuplicateKeyError):
        database["chunk_embeddings"].insert_one({key: embeddings[0][key] for key in ("chunk_id", "model_id")})


def test_only_what_changed_is_written_again(corpus: ir.Corpus, database_url: str, database: Any) -> None:
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules")
    before = {one["chunk_id"]: one for one in rows(database, "chunk_embeddings")}
    again = store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules")["rules"]
    assert (sum(again.written.values()), sum(again.removed.values())) == (0, 0)
    changed = RULES.replace("fifty feet", "sixty feet").replace("## Shield", "## Ward").replace("stops a Fireball", "x")
    built(changed, corpus.store)
    done = store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules", run_id="r2")["rules"]
    assert done.written["chunk_embeddings"] == 2
    assert (done.unchanged["chunk_embeddings"], done.removed["chunk_embeddings"]) == (3, 1)
    after = {one["chunk_id"]: one for one in rows(database, "chunk_embeddings")}
    kept = [name for name in after if before.get(name) == after[name]]
    assert len(kept) == 3
    assert after.keys() == {chunk["chunk_id"] for chunk in rows(database, "enriched_chunks")}
    assert sorted(one["run_id"] for one in rows(database, "traversal_indexes")) == ["r1", "r2"]


def test_a_second_model_adds_and_does_not_replace(corpus: ir.Corpus, database_url: str, database: Any) -> None:
    add_space(corpus, "large", embedder=ToyEmbedder(32))
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd", models={"main": "small", "large": "large"})
    sizes = {(one["model_id"], len(one["embedding"])) for one in rows(database, "chunk_embeddings")}
    assert sizes == {("small", 16), ("large", 32)}
    small = load_from_mongo("dnd", "rules", "small", database_url)
    large = load_from_mongo("dnd", "rules", "large", database_url)
    assert small.chunk_ids == large.chunk_ids
    assert small.embeddings is not None
    assert large.embeddings is not None
    assert (small.embeddings.shape, large.embeddings.shape) == ((5, 16), (5, 32))


@pytest.mark.parametrize("size", [16, 32])
def test_another_model_of_the_same_name_replaces_all(
    size: int, corpus: ir.Corpus, database_url: str, database: Any
) -> None:
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd", models={"main": "model"})
    names = corpus.store.record_ids()
    corpus.store.add_space("other")
    corpus.store.put_vectors("other", {name: np.full(size, 0.25) for name in names})
    done = store_to_mongo(corpus.store, database_url, ruleset_id="dnd", models={"other": "model"})["rules"]
    assert done.written["chunk_embeddings"] == 5
    assert {tuple(one["embedding"]) for one in rows(database, "chunk_embeddings")} == {(0.25,) * size}


def test_a_chunk_without_an_embedding_is_named(corpus: ir.Corpus, database_url: str, database: Any) -> None:
    one = next(iter(corpus.store.iter_records()))[0]
    corpus.store.put_record(ir.Record(**{**vars(one), "vector": np.empty(0)}))
    with pytest.raises(InvalidInput, match=f"The chunk '{one.id}' of dnd/rules has no embedding by"):
        store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules")
    assert rows(database, "enriched_chunks") == []


def test_the_chunks_of_another_book_are_not_overwritten(corpus: ir.Corpus, database_url: str, database: Any) -> None:
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd", book_id="rules")
    with pytest.raises(InvalidInput, match="belongs to dnd/rules"):
        store_to_mongo(corpus.store, database_url, ruleset_id="pathfinder", book_id="rules")
    assert {one["ruleset_id"] for one in rows(database, "chunk_embeddings")} == {"dnd"}


def test_without_an_address(corpus: ir.Corpus, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.delenv("MONGODB_URI", raising=False)
    with pytest.raises(InvalidInput, match="MONGODB_URI"):
        store_to_mongo(corpus.store, ruleset_id="dnd")
    monkeypatch.setenv("MONGODB_URI", database_url)
    assert list(store_to_mongo(corpus.store, ruleset_id="dnd")) == ["rules"]


# -- reading -----------------------------------------------------------------------------------------------------------


def reference(database: Any) -> np.ndarray[Any, Any]:
    """A book as the reference's own pipeline stores it; its embeddings, by chunk."""
    texts = ["Fireball deals fire damage.", "General overview of spells.", "Grabbed: you cannot move."]
    vectors = np.random.default_rng(1).normal(size=(3, 8))
    key = {"ruleset_id": "sf2e", "book_id": "core"}
    database["enriched_chunks"].insert_many(
        {
            **key,
            "chunk_id": f"c{at}",
            "run_id": "20260101",
            "text": text,
            "page": at + 1,
            "content_kind": "spell" if at == 0 else "rule",
            "tags": ["magic"],
            "traits": [],
            "section_path": ["Magic", f"Part {at}"],
            "is_rule_bearing": True,
        }
        for at, text in enumerate(texts)
    )
    database["chunk_embeddings"].insert_many(
        {
            **key,
            "chunk_id": f"c{at}",
            "model_id": "nomic",
            "embedding": vectors[at].tolist(),
            "metadata": {"text_hash": hashlib.sha256(text.encode()).hexdigest()},
        }
        for at, text in reversed(list(enumerate(texts)))
    )
    edges = [("c0", "next", "c1"), ("c1", "next", "c2"), ("c2", "mentions", "grabbed")]
    database["graph_edges"].insert_many(
        {**key, "source_id": source, "target_id": target, "relation": relation, "metadata": {"weight": 1}}
        for source, relation, target in edges
    )
    return vectors


def test_a_book_of_the_reference_is_loaded_as_the_reference_does(database_url: str, database: Any) -> None:
    vectors = reference(database)
    book = load_from_mongo("sf2e", "core", "nomic", database_url)
    assert (book.chunk_ids, book.chunk_id_to_index) == (["c0", "c1", "c2"], {"c0": 0, "c1": 1, "c2": 2})
    assert book.embeddings == pytest.approx(vectors.astype(np.float32))
    assert book.graph_adjacency == {"c0": {"c1"}, "c1": {"c0", "c2"}, "c2": {"c1", "grabbed"}, "grabbed": {"c2"}}
    assert (book.stale, book.dropped) == ([], [])
    index = TraversalIndex.build({**book.graph, "nodes": [{"id": "grabbed", "name": "Grabbed"}]}, book.chunks)
    found = retrieve_candidates("What happens when I am grabbed?", index, TraversalConfig())
    assert found.seeds == ("grabbed",)


def test_a_book_of_the_reference_is_indexed_and_found(database_url: str, database: Any) -> None:
    vectors = reference(database)
    book = load_from_mongo("sf2e", "core", "nomic", database_url)
    corpus = ir.build(book.source(), store=CorpusStore.memory(), embedder=book.embedder(ToyEmbedder(8)))
    (hit,) = corpus.search("fire damage", mode="lexical", k=1)
    assert hit.artifact_id == "c0"
    assert {key: hit.metadata[key] for key in ("page", "content_kind", "book", "run_id")} == {
        "page": 1,
        "content_kind": "spell",
        "book": "core",
        "run_id": "20260101",
    }
    held = corpus.store.get_vectors(corpus.store.record_ids())
    by_chunk = {record.metadata["chunk"]: held[record.id] for page in corpus.store.iter_records() for record in page}
    for at in range(3):
        assert by_chunk[f"c{at}"] == pytest.approx(vectors[at].astype(np.float32))
    with corpus.store.snapshot() as snapshot:
        assert [one.id for one in snapshot.neighbours(["c1"], types=["next"])[0]] == ["c2"]
    assert len(corpus.search("fire damage", k=3)) == 3
    assert not ir.build(book.source(), store=corpus.store, embedder=book.embedder()).report.changed


def test_there_and_back_a_book_is_the_same(corpus: ir.Corpus, database_url: str) -> None:
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd", models={"main": "toy"})
    book = load_from_mongo("dnd", "rules", "toy", database_url)
    assert book.stale == book.dropped == []
    again = ir.build(book.source(), store=CorpusStore.memory(), embedder=book.embedder(ToyEmbedder(16)))
    for question in ("wall of force", "fifty feet of hemp"):
        (before,), (after,) = (one.search(question, mode="lexical", k=1) for one in (corpus, again))
        assert before.text == after.text
    assert relations(corpus) == relations(again)


def relations(corpus: ir.Corpus) -> set[str]:
    return {edge.type for page in corpus.store.iter_edges() for _, out in page for edge in out}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            lambda db: db["chunk_embeddings"].delete_one({"chunk_id": "c1"}),
            "The chunk 'c1' of sf2e/core has no embedding",
        ),
        (
            lambda db: db["chunk_embeddings"].update_one({"chunk_id": "c1"}, {"$set": {"embedding": [1.0, 2.0]}}),
            "'c1' of sf2e/core by 'nomic' has 2 dimensions, that of 'c0' 8",
        ),
        (
            lambda db: db["enriched_chunks"].insert_one(
                {"chunk_id": "c1", "ruleset_id": "sf2e", "book_id": "core", "text": "twice"}
            ),
            "The chunk 'c1' of sf2e/core comes twice",
        ),
    ],
)
def test_what_is_wrong_with_a_stored_book_is_said(wrong: Any, said: str, database_url: str, database: Any) -> None:
    reference(database)
    wrong(database)
    with pytest.raises(InvalidInput, match=said):
        load_from_mongo("sf2e", "core", "nomic", database_url)


def test_what_is_not_there_is_told_with_what_is(database_url: str, database: Any) -> None:
    reference(database)
    with pytest.raises(NotFound, match=r"no book sf2e/gm .* there are: sf2e/core"):
        load_from_mongo("sf2e", "gm", "nomic", database_url)
    with pytest.raises(NotFound, match=r"no embeddings by 'bge' .* there are those by: nomic"):
        load_from_mongo("sf2e", "core", "bge", database_url)
    with BookCollections(database_url) as collections:
        assert (collections.books(), collections.models("sf2e", "core")) == ([("sf2e", "core")], ["nomic"])


def test_an_embedding_of_another_text_is_told(database_url: str, database: Any) -> None:
    reference(database)
    database["enriched_chunks"].update_one({"chunk_id": "c2"}, {"$set": {"text": "Grabbed: you may move."}})
    assert load_from_mongo("sf2e", "core", "nomic", database_url).stale == ["c2"]


def test_edges_to_nodes_that_nobody_declared_are_dropped_and_told(database_url: str, database: Any) -> None:
    reference(database)
    database["graph_nodes"].insert_one({"ruleset_id": "sf2e", "book_id": "core", "node_id": "x", "node_type": "entity"})
    book = load_from_mongo("sf2e", "core", "nomic", database_url)
    assert [(edge["source_id"], edge["target_id"]) for edge in book.dropped] == [("c2", "grabbed")]


def test_a_question_needs_the_model_that_made_the_vectors(database_url: str, database: Any) -> None:
    reference(database)
    book = load_from_mongo("sf2e", "core", "nomic", database_url)
    with pytest.raises(EmbedderError, match="Only the vectors of chunks are known"):
        book.embedder()(["a question"], input_type="query")
    with pytest.raises(EmbedderError, match="4 dimensions, those of 'mongo:nomic' have 8"):
        book.embedder(ToyEmbedder(4))(["a question"], input_type="query")
    with pytest.raises(InvalidInput, match="without embeddings"):
        load_from_mongo("sf2e", "core", mongo_uri=database_url).embedder()


# -- how to walk -------------------------------------------------------------------------------------------------------


def test_the_latest_traversal_configuration_is_read(database_url: str, database: Any) -> None:
    for number in (2, 10, 9):
        told = {"spell_names": [f"Spell {number}"], "policies": {"lookup": {"edge_types": ["next"], "limit": number}}}
        database["traversal_configs"].insert_one({"ruleset_id": "sf2e", "version": f"v{number}", **told})
    config = TraversalConfig.load_from_mongo(ruleset_id="sf2e", mongo_uri=database_url)
    assert (config.version, config.spell_names, config.policy_for("lookup").limit) == ("v10", ("Spell 10",), 10)
    assert TraversalConfig.load_from_mongo("sf2e", database_url, version="v2").spell_names == ("Spell 2",)
    with pytest.raises(NotFound, match=r"of 'dnd' in .* there are those of: sf2e"):
        TraversalConfig.load_from_mongo("dnd", database_url)


def test_a_traversal_configuration_goes_there_and_back(corpus: ir.Corpus, database_url: str, database: Any) -> None:
    config = TraversalConfig(ruleset_id="dnd", version="v3", condition_names=("grabbed",), gm_keywords=("monster",))
    write_traversal(config, database_url)
    write_traversal(config, database_url)
    assert TraversalConfig.load_from_mongo("dnd", database_url) == config
    (row,) = rows(database, "traversal_configs")
    assert row["created_at"] <= row["updated_at"]
    corpus.store.set_config({**corpus.store.get_config(), "traversal": {"version": "v4", "spell_names": ["Shield"]}})
    store_to_mongo(corpus.store, database_url, ruleset_id="dnd")
    assert TraversalConfig.load_from_mongo("dnd", database_url).spell_names == ("Shield",)


def test_numbers_that_no_document_holds_and_names_with_a_meaning(database_url: str) -> None:
    odd = {"large": 2**80, "$set": {"a.b": 1}, "list": [2**64]}
    book = StoredBook(
        "r", "b", [{"chunk_id": "c", "text": "t"}], {}, [], [{"node_id": "n", "node_type": "entity", "metadata": odd}]
    )
    with BookCollections(database_url) as collections:
        for expected in (1, 0):
            assert collections.write(book, run_id="1").written["graph_nodes"] == expected
        (node,) = collections.read("r", "b").nodes
    assert node["metadata"] == {"large": str(2**80), "$set": {"a.b": 1}, "list": [str(2**64)]}
