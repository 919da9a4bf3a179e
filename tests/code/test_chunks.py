"""What a chunk of code is said to be, and what it is embedded with."""

from __future__ import annotations

import pytest

import ir
from ir.base import embedding_text
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore
from ir.strategy import strategy_id

pytest.importorskip("tree_sitter")

TEXT = '''import os


class Order(Base):
    """What a customer asks for."""

    limit = 3

    # Adds the prices.
    def total(self, prices: list[int]) -> int:
        """The sum."""
        return sum(prices)

    def pay(self):
        pass


def free():
    pass
'''


def chunks(text: str = TEXT, path: str = "shop/orders.py", **options: int) -> list[ir.Surface]:
    return Code(**options).decompose(path, text).surfaces  # type: ignore[arg-type]


def test_each_definition_is_a_chunk_that_says_what_it_is() -> None:
    found = [
        (one.metadata["symbolKey"].partition("/")[2], one.metadata["chunkLevel"], one.metadata["objectType"])
        for one in chunks(chunk_size=100, overlap=0)
    ]
    assert found == [
        ("orders.py/", "file", "module"),
        ("orders.py/Order#", "type", "type"),
        ("orders.py/Order#total().", "method", "method"),
        ("orders.py/Order#pay().", "method", "method"),
        ("orders.py/free().", "method", "function"),
    ]


def test_a_small_type_stays_whole_and_names_what_begins_in_it() -> None:
    (order,) = [one for one in chunks() if one.metadata["objectType"] == "type"]
    assert order.metadata["symbolKeys"] == [
        "python shop/orders.py/Order#total().",
        "python shop/orders.py/Order#pay().",
    ]
    assert order.text.startswith("class Order")
    assert order.text.endswith("pass")


def test_the_embedded_text_leads_with_path_owner_and_signature() -> None:
    total = chunks(chunk_size=100, overlap=0)[2]
    embedded = embedding_text(total.text, total.metadata)
    lead, _, rest = embedded.partition("\n")
    assert lead == "shop/orders.py > Order > def total(self, prices: list[int]) -> int"
    assert rest.lstrip().startswith("# Adds the prices.\n    def total")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.ts", "class A {\n  one(): void {\n    go();\n  }\n\n  two(): void {\n    go();\n  }\n}\n"),
        ("A.java", "class A {\n  void one() {\n    go();\n  }\n\n  void two() {\n    go();\n  }\n}\n"),
        ("a.rs", "impl A {\n    fn one() {\n        go();\n    }\n\n    fn two() {\n        go();\n    }\n}\n"),
    ],
)
def test_a_closing_brace_is_no_chunk_of_its_own(path: str, text: str) -> None:
    found = chunks(text, path, chunk_size=30, overlap=0)
    assert all(any(sign.isalpha() for sign in one.text) for one in found)
    assert found[-1].metadata["symbolKey"].endswith("two().")
    assert "".join(one.text for one in found).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace(
        "\n", ""
    )


def test_places_are_right_in_texts_of_any_script() -> None:
    text = "# größe: 大きさ 🙂\ndef größe():\n    '''大'''\n    return '🙂'\n\n\ndef 二():\n    pass\n"
    found = {one.metadata["symbolKey"].rpartition("/")[2]: one.text for one in chunks(text)}
    assert found == {
        "größe().": text.partition("\n\n\n")[0],
        "二().": "def 二():\n    pass",
    }


def test_another_branch_embeds_nothing_again() -> None:
    with CorpusStore.memory() as store:
        files = {"a.py": TEXT, "b.md": "# B\n\nText.\n"}
        first = ir.build(CorpusSource.from_mapping(files, name="p", strategy=Code(), embedder="light"), store=store)
        assert first.report is not None
        assert first.report.embedded
        other = CorpusSource.from_mapping(files, name="p", strategy=Code(branch="x"), embedder="light")
        second = ir.build(other, store=store)
        assert second.report is not None
        assert second.report.embedded == 0
        assert {hit.metadata["branch"] for hit in ir.search(second, "text of the order", k=9)} == {"x"}


def test_a_grammar_that_comes_later_makes_a_build_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    with_all = strategy_id(Code())
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    without = strategy_id(Code())
    assert "'go'" in with_all
    assert "'go'" not in without


def test_a_file_that_is_not_parsed_has_a_node_and_the_same_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Code().decompose("a.c", "int main() { return 0; }\n")
    assert [(node.id, node.type, node.properties["cut"]) for node in plan.nodes] == [
        ("text a.c/", "module", "there is no grammar for .c")
    ]
    about = plan.surfaces[0].metadata
    assert (about["symbolKey"], about["chunkLevel"], about["objectType"]) == ("text a.c/", "file", "module")
    assert Code().decompose("a.json", "{}").nodes[0].type == "file"


def test_a_strategy_around_it_keeps_nodes_and_links() -> None:
    around = ir.with_synopsis(Code(), synthesize=lambda artifact: "About it.", synthesizer_id="one")
    with CorpusStore.memory() as store:
        ir.build(
            CorpusSource.from_mapping(
                {"a.py": "def f():\n    g()\n\ndef g():\n    pass\n"}, name="p", strategy=around, embedder="light"
            ),
            store=store,
        )
        links = {(edge.type, edge.target) for edge in store.get_edges(["python a.py/f()."])["python a.py/f()."]}
        assert ("calls", "python a.py/g().") in links
