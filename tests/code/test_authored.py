"""Records that somebody wrote: found, linked, and reported where they are wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ir
from ir.code.authored import authored_plan
from ir.code.census import census
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore

pytest.importorskip("tree_sitter")

CODE = "class Order:\n    def total(self):\n        pass\n"
RECORDS = """\
records:
  - name: Basket
    type: concept
    description: What a customer has chosen.
    owner: shop team
    links:
      becomes: Order
      seeAlso: [orders.py, "python orders.py/Order#total().", Area 51, gone.py]
  - name: Area 51
    type: area
"""


def plan(text: str, name: str = "model.yaml") -> ir.IndexPlan:
    return authored_plan(name, text, {}, branch="main")


def corpus(store: CorpusStore, **files: str) -> ir.Corpus:
    items: dict[str, Any] = {name.replace("_", "."): text for name, text in files.items()}
    for name in items:
        if name.endswith("yaml"):
            items[name] = {"text": items[name], "format": "yaml", "_authored": True}
    return ir.build(CorpusSource.from_mapping(items, name="p", strategy=Code(), embedder="light"), store=store)


def test_records_are_nodes_that_can_be_searched_and_lead_to_code() -> None:
    with CorpusStore.memory() as store:
        made = corpus(store, orders_py=CODE, model_yaml=RECORDS)
        hit = ir.search(made, "what has the customer chosen", k=1)[0]
        assert hit.metadata["symbolKey"] == "record model.yaml/Basket"
        assert (hit.metadata["objectType"], hit.metadata["provenance"]) == ("concept", "hand-authored")
        assert (hit.metadata["line_start"], hit.metadata["line_end"]) == (2, 8)
        edges = store.get_edges(["record model.yaml/Basket"])["record model.yaml/Basket"]
        assert [(edge.type, edge.target, edge.properties["resolution"]) for edge in edges] == [
            ("becomes", "python orders.py/Order#", "unique-name"),
            ("seeAlso", "python orders.py/", "exact"),
            ("seeAlso", "python orders.py/Order#total().", "exact"),
            ("seeAlso", "record model.yaml/Area 51", "exact"),
        ]
        assert census(store).problems == [("model.yaml", "line 2: 'gone.py' names nothing here, or several things")]


def test_a_link_is_drawn_as_soon_as_its_target_is_there() -> None:
    with CorpusStore.memory() as store:
        corpus(store, model_yaml=RECORDS)
        assert len(census(store).problems) == 4
        corpus(store, model_yaml=RECORDS, orders_py=CODE, gone_py="x = 1\n")
        assert census(store).problems == []


def test_json_is_read_as_yaml_is() -> None:
    told = {"records": [{"name": "Basket", "description": "Chosen.", "links": {"becomes": ["Order"]}}]}
    assert [node.id for node in plan(json.dumps(told), "m.json").nodes] == ["record m.json/", "record m.json/Basket"]
    assert [node.id for node in plan(json.dumps(told["records"]), "m.json").nodes][1:] == ["record m.json/Basket"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it holds no records"),
        ("a: 1\n", "line 1: it has no list of records; begin with: records:"),
        ("records: 3\n", "line 1: records must be a list"),
        ("- name: A\n- type: x\n", "line 2: a record needs a name"),
        ("- 17\n", "line 1: a record is a mapping with a name, not int"),
        ("- name: A\n- name: A\n", "line 2: 'A' is on line 1 already; give one an id"),
        ("- name: A\n  links: [B]\n", "line 1: the links of 'A' must be a mapping of types to targets"),
        ("- name: A\n  links: {to: 3}\n", "line 1: the links of 'A' of type 'to' must lead to a name, or to a list"),
        ("- name: A\n  type: [x]\n", "line 1: the type of 'A' must be a text"),
        ("- name: A\n  x: [1\n", "line 3: it is not YAML"),
        ("- &a\n  name: A\n- *a\n", "it has aliases (*name), which are not read here"),
        ("- name: " + "[" * 3000, "it is"),
        ("- !!python/object/apply:os.system ['true']\n", "line 1: it cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_the_rest_is_taken(text: str, said: str) -> None:
    made = plan(text)
    assert said in (made.remark or "")
    assert len(made.nodes) <= 2


def test_two_records_of_one_name_are_told_apart_by_their_ids() -> None:
    made = plan("- name: A\n  id: one\n- name: A\n  id: two/2\n")
    assert [node.id for node in made.nodes][1:] == ["record model.yaml/one", "record model.yaml/two-2"]
    assert made.remark is None
