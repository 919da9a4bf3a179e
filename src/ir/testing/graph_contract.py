"""What a store knows of nodes and edges, from both ends and at one version."""

from __future__ import annotations

from typing import Any

import pytest

from ir.base import ledger_key
from ir.errors import InvalidInput
from ir.links import Edge, Neighbour, Node
from ir.protocols import Snapshot, Store
from ir.testing.made import made
from ir.testing.transaction_contract import abort


def calls(source: str, *targets: str, **properties: Any) -> list[Edge]:
    """Edges of type ``calls``."""
    return [Edge(source, "calls", target, None, properties) for target in targets]


def seen(snapshot: Snapshot, node: str, **asked: Any) -> list[tuple[str, str, str, str]]:
    """What leads out of or into a node, as ``(direction, type, id, place)``."""
    (found,) = snapshot.neighbours([node], **asked)
    return [(one.direction, one.type, one.id, one.place) for one in found]


class GraphContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    # -- nodes -------------------------------------------------------------------------------------------------

    def test_declared_nodes_come_back(self, store: Store) -> None:
        store.put_nodes([Node("f", "function", {"line": 3, "tags": ["x"]}), Node("m", "module")])
        store.put_nodes([Node("m", "package", {"size": 2.5})])
        assert store.get_nodes(["m", "f", "nobody"]) == {
            "f": Node("f", "function", {"line": 3, "tags": ["x"]}),
            "m": Node("m", "package", {"size": 2.5}),
        }
        assert [node.id for page in store.iter_nodes(1) for node in page] == ["f", "m"]
        store.delete_nodes(["m", "nobody"])
        assert list(store.iter_nodes()) == [[Node("f", "function", {"line": 3, "tags": ["x"]})]]

    def test_artifacts_and_records_are_nodes(self, store: Store) -> None:
        store.put_record(made("r", artifact="a"))
        store.set_ledger_entry(ledger_key("a"), {"artifact_id": "a", "record_ids": ["r"]})
        store.put_nodes([Node("e", "entity")])
        with store.snapshot() as snapshot:
            assert snapshot.nodes(["a", "r", "e", "nobody"]) == {
                "a": Node("a", "artifact"),
                "r": Node("r", "record"),
                "e": Node("e", "entity"),
            }
        store.put_nodes([Node("a", "document", {"pages": 2})])
        with store.snapshot() as snapshot:
            assert snapshot.nodes(["a"]) == {"a": Node("a", "document", {"pages": 2})}

    # -- edges -------------------------------------------------------------------------------------------------

    def test_edges_come_back_in_their_order_with_properties(self, store: Store) -> None:
        given = [
            Edge("f", "calls", "h", None, {"line": 9, "confidence": 0.5}),
            Edge("f", "calls", "g"),
            Edge("f", "imports", "os", "stdlib", {"as": None}),
            Edge("f", "calls", "g", None, {"line": 4}),
        ]
        store.set_edges({"f": given})
        assert store.get_edges(["f", "g"]) == {"f": given}
        assert store.get_links("f") == {"calls": ["h", "g", "g"], "imports": [["stdlib", "os"]]}
        store.set_edges({"f": given[1:2], "g": calls("g", "f")})
        assert store.get_edges(["g", "f"]) == {"f": given[1:2], "g": calls("g", "f")}
        store.set_edges({"f": (), "nobody": ()})
        assert list(store.iter_edges(1)) == [[("g", calls("g", "f"))]]

    def test_edges_are_seen_from_both_ends(self, store: Store) -> None:
        store.put_nodes([Node(name, "function") for name in ("f", "g", "h")])
        store.set_edges({"f": [*calls("f", "g"), Edge("f", "refers", "h")], "h": calls("h", "g", "f"), "g": ()})
        with store.snapshot() as snapshot:
            assert seen(snapshot, "f") == [("out", "calls", "g", "here"), ("out", "refers", "h", "here")]
            assert seen(snapshot, "g", direction="in") == [("in", "calls", "f", "here"), ("in", "calls", "h", "here")]
            assert seen(snapshot, "f", direction="both") == [
                *seen(snapshot, "f"),
                ("in", "calls", "h", "here"),
            ]
            assert seen(snapshot, "h", direction="in", types=["calls"]) == []
            assert seen(snapshot, "h", direction="in", types=["refers", "other"]) == [("in", "refers", "f", "here")]
            assert snapshot.neighbours(["g", "nobody", "g"], direction="in", limit=1) == [
                [Neighbour("f", "calls", "in", "here", None, {})],
                [],
                [Neighbour("f", "calls", "in", "here", None, {})],
            ]
            assert snapshot.degrees(["f", "g", "h", "nobody"], direction="both") == [3, 2, 3, 0]
            assert snapshot.degrees(["f", "g"]) == [2, 0]
            assert snapshot.degrees(["h", "g"], direction="in", types=["calls"]) == [0, 2]
            assert snapshot.neighbours([]) == []
            assert snapshot.degrees([]) == []

    def test_neighbours_carry_what_the_edge_says(self, store: Store) -> None:
        store.put_nodes([Node("g", "function")])
        store.set_edges({"f": calls("f", "g", line=4, confidence=1.0)})
        with store.snapshot() as snapshot:
            ((one,),) = snapshot.neighbours(["f"])
            ((back,),) = snapshot.neighbours(["g"], direction="in")
        assert one == Neighbour("g", "calls", "out", "here", None, {"line": 4, "confidence": 1.0})
        assert back == Neighbour("f", "calls", "in", "nowhere", None, {"line": 4, "confidence": 1.0})

    def test_other_corpora_and_names_that_stand_for_nothing_are_told_apart(self, store: Store) -> None:
        store.set_config({"name": "mine"})
        store.put_record(made("r", artifact="a"))
        store.set_ledger_entry(ledger_key("a"), {"artifact_id": "a", "record_ids": ["r"]})
        store.set_links("x", {"ref": ["a", "r", "gone", ["other", "a"], ["mine", "a"]]})
        with store.snapshot() as snapshot:
            assert [(one.id, one.corpus, one.place) for one in snapshot.neighbours(["x"])[0]] == [
                ("a", None, "here"),
                ("r", None, "here"),
                ("gone", None, "nowhere"),
                ("a", "other", "elsewhere"),
                ("a", "mine", "here"),
            ]
            assert len(snapshot.neighbours(["a"], direction="in")[0]) == 2  # not the one that another corpus has
        store.delete_ledger_entry(ledger_key("a"))
        with store.snapshot() as snapshot:
            assert [one.place for one in snapshot.neighbours(["x"])[0]][:2] == ["nowhere", "here"]

    def test_an_edge_to_itself_is_one_of_each_direction(self, store: Store) -> None:
        store.put_nodes([Node("f", "function")])
        store.set_edges({"f": calls("f", "f")})
        with store.snapshot() as snapshot:
            assert seen(snapshot, "f", direction="both") == [
                ("out", "calls", "f", "here"),
                ("in", "calls", "f", "here"),
            ]

    def test_many_edges_on_one_node(self, store: Store) -> None:
        names = [f"f{number:05d}" for number in range(2000)]
        store.set_edges({"hub": calls("hub", *names), **{name: calls(name, "hub") for name in names}})
        with store.snapshot() as snapshot:
            assert snapshot.degrees(["hub"], direction="out") == [2000]
            assert snapshot.degrees(["hub"], direction="both") == [4000]
            found = snapshot.neighbours(["hub"], direction="both", limit=3)[0]
        assert [one.id for one in found] == names[:3] * 2

    def test_strange_names_of_nodes(self, store: Store) -> None:
        name = "ünï·çødé/日本語 'quoted\" 🦊 \n%_"
        store.put_nodes([Node(name, name, {name: name})])
        store.set_edges({name: [Edge(name, name, name, None, {name: name})]})
        with store.snapshot() as snapshot:
            (found,) = snapshot.neighbours([name], direction="in", types=[name])
            assert found == [Neighbour(name, name, "in", "here", None, {name: name})]
            assert snapshot.nodes([name])[name] == Node(name, name, {name: name})

    @pytest.mark.parametrize(
        ("edge", "complaint"),
        [
            (Edge("f", "calls", ""), "leads nowhere"),
            (Edge("f", "calls", None), "leads nowhere"),  # type: ignore[arg-type]
            (Edge("f", "", "g"), "type"),
            (Edge("g", "calls", "f"), "'g' was given among those out of 'f'"),
            (Edge("f", "calls", "g", None, {"how": object()}), "not JSON"),
            (Edge("f", "calls", "g", None, {"how": float("nan")}), "not JSON"),
            (Edge("f", "calls", "g", None, ["a list"]), "must be a mapping"),  # type: ignore[arg-type]
        ],
    )
    def test_what_is_no_edge_is_refused(self, store: Store, edge: Edge, complaint: str) -> None:
        store.set_edges({"f": calls("f", "kept")})
        with pytest.raises(InvalidInput, match=complaint):
            store.set_edges({"other": calls("other", "new"), "f": [edge]})
        assert store.get_edges(["f", "other"]) == {"f": calls("f", "kept")}

    def test_what_is_no_node_is_refused(self, store: Store) -> None:
        for wrong in (Node("", "x"), Node("a", ""), Node("a", "x", {"p": {1, 2}})):
            with pytest.raises(InvalidInput):
                store.put_nodes([Node("good", "x"), wrong])
        assert list(store.iter_nodes()) == []

    def test_an_unknown_direction_is_refused(self, store: Store) -> None:
        with store.snapshot() as snapshot, pytest.raises(InvalidInput, match="'out', 'in' or 'both'"):
            snapshot.neighbours(["a"], direction="up")  # type: ignore[arg-type]

    # -- versions ----------------------------------------------------------------------------------------------

    def test_a_snapshot_keeps_its_graph(self, store: Store) -> None:
        store.put_nodes([Node("f", "function"), Node("g", "function")])
        store.set_edges({"f": calls("f", "g")})
        with store.snapshot() as held:
            store.set_edges({"f": calls("f", "h"), "g": calls("g", "f")})
            store.delete_nodes(["g"])
            store.put_nodes([Node("f", "method"), Node("h", "function")])
            assert seen(held, "f", direction="both") == [("out", "calls", "g", "here")]
            assert held.degrees(["f", "g"], direction="in") == [0, 1]
            assert held.nodes(["f", "h"]) == {"f": Node("f", "function")}
        with store.snapshot() as later:
            assert later.version != held.version
            assert seen(later, "f", direction="both") == [
                ("out", "calls", "h", "here"),
                ("in", "calls", "g", "nowhere"),
            ]

    def test_a_failed_transaction_leaves_the_graph(self, store: Store) -> None:
        store.put_nodes([Node("f", "function")])
        store.set_edges({"f": calls("f", "g", line=1)})

        def spoil(store: Store) -> None:
            store.put_nodes([Node("f", "method"), Node("g", "function")])
            store.set_edges({"f": (), "g": calls("g", "f")})
            with store.snapshot() as inside:
                assert seen(inside, "f", direction="both") == [("in", "calls", "g", "here")]

        with pytest.raises(ValueError, match="stop"):
            abort(store, spoil)
        assert list(store.iter_nodes()) == [[Node("f", "function")]]
        assert store.get_edges(["f", "g"]) == {"f": calls("f", "g", line=1)}

    def test_names_of_an_item(self, store: Store) -> None:
        assert store.get_symbols("k") is None
        store.set_symbols("k", {"defines": {"f": "node"}, "uses": [1, 2]})
        store.set_symbols("l", ["anything"])
        assert store.get_symbols("k") == {"defines": {"f": "node"}, "uses": [1, 2]}
        assert sorted(entry for page in store.iter_entries("symbols", 1) for entry in page) == [
            ("k", {"defines": {"f": "node"}, "uses": [1, 2]}),
            ("l", ["anything"]),
        ]
        store.set_symbols("k", None)
        store.set_symbols("k", None)
        assert store.get_symbols("k") is None
