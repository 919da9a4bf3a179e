"""Documents beside code: their sections, and the definitions that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ir.code.docs import whole_name
from ir.code.folder import is_code
from ir.code.strategy import Code

Make = Callable[..., Any]

PROGRAM = {
    "shop/__init__.py": "from .orders import Order\n",
    "shop/orders.py": "class Order:\n    def total(self):\n        pass\n    def pay(self):\n        pass\n\ndef checkout():\n    pass\n",
    "shop/other.py": "class Other:\n    def pay(self):\n        pass\n\ndef make_basket():\n    class Inner:\n        pass\n",
}


def test_sections_are_nodes_below_the_headings_that_they_stand_under(project: Make) -> None:
    program = project({"a.md": "Intro.\n\n# One\n\nx\n\n## Two\n\ny\n\n# One\n\nz\n", "b.py": "x = 1\n"})
    assert {key: kind for key, kind in program.nodes().items() if key.startswith("a.md/")} == {
        "a.md/": "doc",
        "a.md/#one": "doc",
        "a.md/#two": "doc",
        "a.md/#one-1": "doc",
    }
    assert program.links("contains") == {"a.md/ -> a.md/#one", "a.md/#one -> a.md/#two", "a.md/ -> a.md/#one-1"}
    lines = {
        node.id: (node.properties["line_start"], node.properties["line_end"])
        for batch in program.store.iter_nodes()
        for node in batch
    }
    assert (lines["doc a.md/#one"], lines["doc a.md/#two"], lines["doc a.md/#one-1"]) == ((3, 9), (7, 9), (11, 13))


def test_a_section_documents_what_it_names_and_says_how_that_is_known(project: Make) -> None:
    text = (
        "# Guide\n\nSee `Order`, `Order.total()`, `shop.make_basket` and shop.orders.checkout.\n\n## Files\n\n"
        "The code is in [here](../shop/orders.py#L3) and in `shop/other.py`.\n"
    )
    program = project({**PROGRAM, "docs/guide.md": text})
    assert program.links("documents") == {
        "docs/guide.md/#guide -> ?shop/orders.py/Order#",
        "docs/guide.md/#guide -> shop/orders.py/Order#total().",
        "docs/guide.md/#guide -> shop/orders.py/checkout().",
        "docs/guide.md/#guide -> ~shop/other.py/make_basket().",
        "docs/guide.md/#files -> shop/orders.py/",
        "docs/guide.md/#files -> shop/other.py/",
    }
    lines = {target: about["line"] for _, kind, target, about in program.edges() if kind == "documents"}
    assert (lines["shop/orders.py/checkout()."], lines["shop/other.py/"]) == (3, 7)


def test_a_name_that_could_mean_several_things_or_nothing_is_not_linked(project: Make) -> None:
    text = (
        "# Guide\n\n`pay` and `pay()` are two, `total` is a word, `orders.total` has another owner, `nothing` is not "
        "there, nor is `shop/gone.py`; `x = checkout(1)` is a statement, and checkout is a word; `Inner` is local.\n\n"
        "    shop.orders.checkout\n\n"
        "```python\nmake_basket()\n```\n"
    )
    program = project({**PROGRAM, "guide.md": text})
    assert program.links("documents") == set()


def test_a_renamed_definition_is_not_documented_any_more(project: Make) -> None:
    program = project({**PROGRAM, "guide.md": "# Guide\n\n`checkout()` ends it.\n"})
    assert program.links("documents") == {"guide.md/#guide -> ?shop/orders.py/checkout()."}
    program.files["shop/orders.py"] = program.files["shop/orders.py"].replace("def checkout", "def buy")
    program.build()
    assert program.links("documents") == set()
    assert program.report.changed == ["shop/orders.py"]


def test_restructured_text_has_sections_and_roles(project: Make) -> None:
    text = "Guide\n=====\n\n:meth:`~shop.orders.Order.total` and :func:`go on <checkout>`.\n\nMore\n----\n\n``Other``\n"
    program = project({**PROGRAM, "guide.rst": text})
    assert program.links("documents") == {
        "guide.rst/#guide -> shop/orders.py/Order#total().",
        "guide.rst/#guide -> ?shop/orders.py/checkout().",
        "guide.rst/#more -> ?shop/other.py/Other#",
    }
    assert "guide.rst/#guide -> guide.rst/#more" in program.links("contains")


def test_overloads_count_as_one_and_other_documents_are_references(project: Make) -> None:
    program = project(
        {
            "A.java": "class A { void run() {} void run(int x) {} }\n",
            "README.md": "# Read\n\n`A.run()` and [more](docs/more.md).\n",
            "docs/more.md": "# More\n",
        }
    )
    assert program.links("documents") == {"README.md/#read -> A.java/A#run()."}
    assert program.links("references", "README.md/#read") == {"README.md/#read -> docs/more.md/"}


def test_chunks_of_documents_say_which_section_they_are_of() -> None:
    plan = Code(branch="dev").decompose("a.md", "# One\n\nSome words.\n")
    (chunk,) = plan.surfaces
    about = chunk.metadata
    assert (about["symbolKey"], about["objectType"], about["chunkLevel"]) == ("doc a.md/#one", "doc", "doc")
    assert (about["provenance"], about["branch"], about["line_start"]) == ("ingested", "dev", 1)
    assert len(about["contentHash"]) == 32


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("python src/app.py/App#run().", ["src", "app", "App", "run"]),
        ("java A.java/A#run(+1).", ["A", "A", "run"]),
        ("javascript next.js/src/a.b.ts/f().g().", ["next.js", "src", "a.b", "f", "g"]),
        ("go m.go/", ["m"]),
        ("python shop/__init__.py/f().", ["shop", "f"]),
    ],
)
def test_the_whole_name_of_a_definition(key: str, parts: list[str]) -> None:
    assert whole_name(key) == parts


def test_a_folder_is_code_if_more_of_it_is_code_than_text() -> None:
    assert is_code(["a.py", "b.go", "notes.md", "data.csv", "data.json"])
    assert not is_code(["a.py", "notes.md"])
    assert is_code(["go.mod", "a.go", *(f"docs/{n}.md" for n in range(4))])
    assert not is_code(["go.mod", "a.go", *(f"docs/{n}.md" for n in range(5))])
    assert not is_code(["a.c", "b.c"])  # nothing that could be read as definitions
    assert not is_code([])
