"""A workspace keeps its corpora to itself, whatever store they are in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.extras import needs

import ir
from ir.config import corpora_dir, embeddings_cache_dir, registry_path
from ir.config.workspace import current_workspace, in_workspace
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.store.milvus.address import Address as MilvusAddress
from ir.store.mongo.address import Address as MongoAddress


def built(text: str) -> ir.Corpus:
    return ir.build(ir.CorpusSource.from_mapping({"note": text}, name="notes"), embedder="light")


def test_two_workspaces_have_corpora_of_one_name() -> None:
    built("about apples")
    with in_workspace("team-a"):
        with pytest.raises(CorpusNotBuilt):
            ir.open_corpus("notes")
        built("about pears")
        assert [hit.text for hit in ir.search("notes", "fruit")] == ["about pears"]
    assert [hit.text for hit in ir.search("notes", "fruit")] == ["about apples"]


def test_the_registry_and_the_caches_belong_to_a_workspace(tmp_path: Path) -> None:
    ir.register("docs", "files", root=str(tmp_path))
    with in_workspace("team-a"):
        assert "docs" not in ir.corpora()
        inside = corpora_dir(), registry_path(), embeddings_cache_dir("m")
    outside = corpora_dir(), registry_path(), embeddings_cache_dir("m")
    assert not set(inside) & set(outside)
    assert all("team-a" in path.parts for path in inside)


def test_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_workspace() == "default"
    monkeypatch.setenv("IR_WORKSPACE", "team-b")
    assert current_workspace() == "team-b"
    with in_workspace("default"):
        assert current_workspace() == "default"


@pytest.mark.parametrize("name", ["", "../up", "Team", "a_b", "-a", "x" * 33, "a/b", "a.b"])
def test_names_that_no_workspace_can_have(name: str) -> None:
    with pytest.raises(InvalidInput, match="workspace cannot be called"), in_workspace(name):
        pass


def test_an_address_cannot_name_another_workspace() -> None:
    plain = MilvusAddress.parse("milvus://host/db/notes")
    with in_workspace("team-a"):
        inside = MilvusAddress.parse("milvus://host/db/notes")
    assert plain.prefix != inside.prefix
    with pytest.raises(InvalidInput):
        MilvusAddress.parse("milvus://host/db/notes?workspace=team-a")
    for corpus in (inside.prefix.removeprefix("ir"), inside.prefix, "w_notes"):
        assert MilvusAddress.parse(f"milvus://host/db?corpus={corpus}").prefix != inside.prefix


def test_collections_in_mongodb_belong_to_one_workspace() -> None:
    names = ["notes", "a_notes", "w_a_notes", "a b", "a_b", "n" * 79, "n" * 90, "n" * 91, "é" * 40]
    prefixes = {}
    for workspace in ("default", "a", "team-a", "x" * 32):
        with in_workspace(workspace):
            for name in names:
                prefixes[workspace, name] = MongoAddress.parse(f"mongodb://host/db?corpus={name}").prefix
    assert len(set(prefixes.values())) == len(prefixes)
    assert max(len(prefix.encode()) for prefix in prefixes.values()) < 150


def test_a_schema_belongs_to_one_workspace() -> None:
    needs("psycopg")
    from ir.store.postgres.address import Address

    names = ["notes", "a_notes", "w_a_notes", "n" * 58, "n" * 90, "é" * 40]
    schemas = {}
    for workspace in ("default", "a", "team-a", "x" * 32):
        with in_workspace(workspace):
            for name in names:
                schema = Address.parse(f"postgresql://host/db/{name}").schema
                assert len(schema.encode()) <= 63
                schemas[workspace, name] = schema
    assert len(set(schemas.values())) == len(schemas)
    assert os.environ.get("IR_WORKSPACE") is None
