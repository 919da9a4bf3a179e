"""Files that no reader likes: each is indexed, none is fatal, and what could not be read is said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ir.code.languages import LANGUAGES, language_named
from ir.code.strategy import Code

Make = Callable[..., Any]


def test_broken_syntax_leaves_the_rest(project: Make) -> None:
    program = project(
        {
            "a.py": "def good():\n    pass\n\ndef bad(:\n    x = = 2\n\ndef also():\n    good()\n",
            "b.js": "function good() {}\nfunction bad( { ;\nfunction also() { good(); }\n",
        }
    )
    assert {"a.py/good().", "b.js/good()."} <= set(program.nodes())
    assert not program.report.failed
    remarks = str(program.report.remarks)
    assert "a.py" in remarks
    assert "b.js" in remarks
    assert "parsed in part: line" in remarks


DEEP = {
    "python": ("a.py", "x = " + "(" * 5000 + "1" + ")" * 5000 + "\n\ndef f():\n    g()\n\ndef g():\n    pass\n"),
    "blocks": (
        "b.py",
        "".join(" " * i + "if x:\n" for i in range(95)) + " " * 95 + "pass\ndef f():\n    g()\n\ndef g():\n    pass\n",
    ),
    "chain": ("c.py", "x = a" + ".b()" * 5000 + "\ndef f():\n    g()\n\ndef g():\n    pass\n"),
    "javascript": ("a.js", "x = " + "[" * 5000 + "]" * 5000 + ";\nfunction f() { g(); }\nfunction g() {}\n"),
    "typescript": ("a.ts", "let x = " + "(" * 5000 + "1" + ")" * 5000 + ";\nfunction f() { g(); }\nfunction g() {}\n"),
    "java": ("A.java", "class A { int x = " + "(" * 5000 + "1" + ")" * 5000 + "; void f() { g(); }\n void g() {} }\n"),
    "csharp": ("A.cs", "class A { int x = " + "(" * 5000 + "1" + ")" * 5000 + "; void f() { g(); }\n void g() {} }\n"),
    "go": ("a.go", "package a\nvar x = " + "(" * 5000 + "1" + ")" * 5000 + "\nfunc f() { g() }\nfunc g() {}\n"),
    "rust": ("src/a.rs", "fn x() { let y = " + "(" * 5000 + "1" + ")" * 5000 + "; }\nfn f() { g(); }\nfn g() {}\n"),
}


@pytest.mark.parametrize("which", DEEP)
def test_what_is_nested_too_deeply_is_left_out_and_the_rest_is_read(project: Make, which: str) -> None:
    path, text = DEEP[which]
    program = project({path: text})
    assert not program.report.failed
    assert any("f(). -> " in one and one.endswith("g().") for one in program.calls()), program.calls()


def test_a_file_that_is_too_long_is_cut_as_text_and_said(project: Make) -> None:
    program = project({"data.py": "x = 1\n" * 200_000, "a.py": "def f(): pass\n"})
    assert "too long" in str(program.report.remarks)
    assert [key for key in program.nodes() if key.startswith("data.py/")] == ["data.py/"]  # the file, nothing in it
    assert "a.py/f()." in program.nodes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "# only a comment",
        "\ufeffdef f():\r\n    g()\r\n\r\ndef g(): pass",
        "def größe(): pass\ndef f():\n    größe()",
        "x = '\udc80'\ndef f(): pass\n",
        "x = '\x00'\ndef f(): pass\n",
    ],
)
def test_odd_texts(project: Make, text: str) -> None:
    program = project(
        {"a.py": text, "b.js": text.replace("def", "function").replace(": pass", "{}").replace("#", "//")}
    )
    assert not program.report.failed
    assert program.nodes()["a.py/"] == "module"
    assert program.nodes()["b.js/"] == "module"
    if "größe" in text:
        assert program.calls("a.py/f().") == {"a.py/größe()."}
    if "\r" in text:
        assert program.calls("a.py/f().") == {"a.py/g()."}
        assert [e[3]["line"] for e in program.edges() if e[1] == "calls"] == [2]


def test_a_grammar_that_is_not_installed_is_said_and_the_file_is_cut_as_text(
    project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    program = project({"a.go": "package a\nfunc f() {}\n", "a.py": "def f(): pass\n"})
    (note,) = program.report.notes
    assert "tree-sitter-go is not installed" in note
    assert "pip install 'ir-substrate[code]'" in note
    assert not program.report.failed
    assert not program.report.remarks
    assert set(program.nodes()) == {"a.go/", "a.py/", "a.py/f()."}
    assert program.report.records >= 2


def test_files_are_read_alike_in_many_threads() -> None:
    texts = {
        "python": "def f():\n    g()\ndef g(): pass\n" * 40,
        "javascript": "function f() { g(); }\nfunction g() {}\n" * 40,
    }
    alone = {name: language_named(name).read(text, "a") for name, text in texts.items()}
    with ThreadPoolExecutor(8) as pool:
        asked = [
            (name, pool.submit(language_named(name).read, text, "a")) for _ in range(30) for name, text in texts.items()
        ]
        assert all(found.result() == alone[name] for name, found in asked)


def test_every_language_has_a_grammar_and_a_reader_here() -> None:
    for language in LANGUAGES:
        assert language.missing() is None
        assert language.read("", f"a.{language.suffixes[0]}").definitions[0].kind == "module"
        assert language.rules().name == language.family


def test_the_strategy_says_which_version_of_itself_made_a_plan() -> None:
    assert isinstance(Code().code_version, int)
