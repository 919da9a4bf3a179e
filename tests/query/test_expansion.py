"""DR-6: what the results are linked to, one step away."""

from __future__ import annotations

from typing import Any

import pytest

from ir.base import Row
from ir.errors import InvalidInput
from ir.index.showing import shown
from ir.links import Node
from ir.query import ExpandedContext, HybridQueryOptions, OntologyQuery, expand, ontology_query


def context(shop: Any, query: str = "parse the lines of a file", **given: Any) -> dict[str, ExpandedContext]:
    asked = OntologyQuery.of(query, **{"follow_links": True, "top_k": 1, **given})
    found = ontology_query(shop, asked, HybridQueryOptions()).meta.expanded_context
    assert len({one.linked_node for one in found}) == len(found)
    return {one.linked_node.partition(" ")[2]: one for one in found}


def test_each_linked_node_tells_link_direction_chunk_and_result(shop: Any) -> None:
    asked = OntologyQuery("send_receipt", follow_links=True, top_k=1)
    answer = ontology_query(shop, asked, HybridQueryOptions())
    first = answer.results[0]
    assert first.symbol_key == "python shop/mail.py/send_receipt()."
    told = {one.linked_node.partition(" ")[2]: one for one in answer.meta.expanded_context}
    called, tested = told["shop/files.py/FileStore#"], told["tests/test_mail.py/test_a_receipt_is_sent()."]
    assert (called.direction, tested.direction) == ("out", "in")
    assert tested.link_name in ("calls", "tests")
    assert {one.linked_from_document_id for one in told.values()} == {first.chunk_id}
    assert called.to_dict()["linkedNode"]["symbolKey"] == "python shop/files.py/FileStore#"


def test_a_node_that_several_results_lead_to_is_told_once(shop: Any) -> None:
    found = context(shop, "load an order", top_k=10)
    assert "shop/store.py/Store#" in found


def test_of_the_chunks_of_a_node_that_of_a_type_is_preferred_then_that_of_a_method() -> None:
    def chunk(number: int, level: str, key: str, *others: str) -> Row:
        about = {"chunkLevel": level, "symbolKey": key, "symbolKeys": list(others)}
        return Row(f"r{number}", "a.py", "chunk", number, "text", about)

    rows = [
        chunk(0, "file", "m", "A", "B"),
        chunk(1, "method", "A", "A.run"),
        chunk(2, "type", "A", "A.stop"),
        chunk(3, "method", "A.run"),
        chunk(4, "method", "C", "B"),
    ]
    nodes = shown([Node(key) for key in ("m", "A", "A.stop", "A.run", "B", "C", "unnamed")], rows)
    found = {node.id: node.properties["chunk"] for node in nodes}
    assert found == {"m": "r0", "A": "r2", "A.stop": "r2", "A.run": "r3", "B": "r4", "C": "r4", "unnamed": "r2"}
    assert shown([Node("x")], [Row("r", "a.md", "chunk", 0, "text", {})]) == [Node("x")]


def test_every_definition_of_a_program_is_shown_by_a_chunk_that_holds_it(shop: Any) -> None:
    nodes = [node for batch in shop.store.iter_nodes() for node in batch]
    assert len(nodes) > 10
    for node in nodes:
        record = shop.store.get_record(node.properties["chunk"])
        first, last = record.metadata["line_start"], record.metadata["line_end"]
        assert record.artifact_id == node.properties["path"]
        assert first <= node.properties["line_end"]
        assert last >= node.properties["line_start"]


def test_a_node_without_an_indexed_chunk_has_none(shop: Any) -> None:
    node = "python shop/files.py/parse_order()."
    (chunk,) = [shop.store.get_nodes([node])[node].properties["chunk"]]
    shop.store.delete_record(chunk)
    with shop.store.snapshot() as snapshot:
        found = expand(snapshot, [("d", ["python shop/files.py/FileStore#load()."])])
    assert {one.linked_node: one.representative_chunk_id for one in found}[node] is None


def test_one_kind_of_link_can_be_chosen(shop: Any) -> None:
    found = context(shop, "orders in files, one file for each", traverse_link="inherits", follow_links=False)
    assert {one.link_name for one in found.values()} == {"inherits"}


def test_an_unknown_link_names_those_there_are(shop: Any) -> None:
    with pytest.raises(InvalidInput, match=r"'marries'.*'calls'"):
        context(shop, traverse_link="marries")


def test_more_than_one_step_is_refused(shop: Any) -> None:
    with shop.store.snapshot() as snapshot, pytest.raises(InvalidInput, match="linkDepth must be 1"):
        expand(snapshot, [("d", ["python shop/store.py/Store#"])], depth=2)


def test_results_without_nodes_have_no_context(shop: Any) -> None:
    with shop.store.snapshot() as snapshot:
        assert expand(snapshot, []) == []
        assert expand(snapshot, [("d", ["nobody"])]) == []
