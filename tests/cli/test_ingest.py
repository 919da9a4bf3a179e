"""``ir ingest code``, and folders of code that are read as such without being asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ir.code.folder import branch_of
from ir.index import open_store
from ir.registry import entered, name_for_path, register
from ir.sources import CorpusSource

pytest.importorskip("tree_sitter")

Ir = Callable[..., Any]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program with a document, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "orders.py").write_text(
        "from basket import Basket\n\n\nclass Order(Basket):\n    def total(self):\n        return add(self)\n\n\n"
        "def add(numbers):\n    return sum(numbers)\n"
    )
    (folder / "basket.py").write_text("class Basket:\n    def put(self, thing):\n        thing.unknown()\n")
    (folder / "README.md").write_text("# Shop\n\nAn `Order` has a `Order.total()`.\n")
    return folder


def name_of(folder: Path) -> str:
    return name_for_path(folder.resolve())


def git(folder: Path, *words: str) -> None:
    named = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


# -- what is found ---------------------------------------------------------------------------------------------------


def test_ingest_says_what_it_found(ir: Ir, shop: Path) -> None:
    told = ir("ingest", "code", "shop", "--json").json
    assert told["files"] == {"python": 2, "markdown": 1}
    assert told["definitions"] == {"type": 2, "method": 2, "function": 1}
    assert told["links"]["calls"] == {"exact": 1}
    assert told["links"]["inherits"] == {"exact": 1}
    assert told["links"]["documents"] == {"exact": 1, "unique-name": 1}
    assert told["calls"] == {"project": 1, "outside": 1, "unresolved": 1}
    assert (told["branch"], told["added"]) == ("main", 3)
    text = ir("ingest", "code", "shop").out
    assert "nothing changed, 3 unchanged" in text
    assert "33.3% of 3 in the project, 33.3% external or builtin, 33.3% unresolved" in text


def test_what_was_not_parsed_is_told_also_when_nothing_changed(
    ir: Ir, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ir.code.strategy.LARGEST", 1000)
    (shop / "broken.py").write_text("def good():\n    pass\n\ndef bad(:\n    x = = 2\n")
    (shop / "long.py").write_text("x = 1\n" * 200)
    (shop / "main.c").write_text("int main() { return 0; }\n")
    for _ in range(2):
        told = ir("ingest", "code", "shop", "--json").json
        assert {one["reason"]: one["paths"] for one in told["cut"]} == {
            "longer than 1,000 characters, too long to be parsed": ["long.py"],
            "there is no grammar for .c": ["main.c"],
        }
        assert told["partial"] == [{"id": "broken.py", "line": 4}]
    out = ir("ingest", "code", "shop").out
    assert "parsed in part\tbroken.py\tline 4 could not be read" in out
    assert "cut as text\t1 file: there is no grammar for .c\tmain.c" in out


def test_an_unknown_kind_names_the_one_that_there_is(ir: Ir, shop: Path) -> None:
    failed = ir("ingest", "prose", "shop")
    assert failed.code == 2
    assert "'code'" in failed.err
    assert "no file or folder" in ir("ingest", "code", "./nowhere").err
    assert "not made of a folder" in _of_records(ir).err


def _of_records(ir: Ir) -> Any:
    register("rows", "records", fetcher="json:loads")
    return ir("ingest", "code", "rows")


def test_records_stay_part_of_the_corpus(ir: Ir, shop: Path) -> None:
    (shop.parent / "model.yaml").write_text("- name: Checkout\n  description: Paying.\n  links: {uses: Order}\n- 3\n")
    (shop / "inner.json").write_text('[{"name": "Inner", "links": {"uses": "Nobody"}}]')
    asked = ("--records", "model.yaml", "--records", "shop/inner.json")
    told = ir("ingest", "code", "shop", *asked, "--json").json
    assert told["records"] == {"concept": 2}
    assert told["links"]["uses"] == {"unique-name": 1}
    assert {(one["id"], one["reason"].partition(":")[0]) for one in told["problems"]} == {
        ("records/model.yaml", "line 4"),
        ("inner.json", "line 1"),
    }
    ir("build", "shop")
    again = ir("ingest", "code", "shop", "--json").json
    assert (again["records"], again["changed"], again["removed"]) == ({"concept": 2}, 0, 0)
    assert "model.yaml" in ir("search", "shop", "paying").out
    assert "no file or folder 'gone.yaml' of records" in ir("ingest", "code", "shop", "--records", "gone.yaml").err


# -- without being asked ---------------------------------------------------------------------------------------------


def test_a_folder_that_is_mostly_code_is_read_as_code(ir: Ir, shop: Path) -> None:
    assert ir("search", "shop", "total of an order").code == 0
    entry = entered()[name_of(shop)]
    assert (entry["kind"], entry["params"]["branch"]) == ("code", "main")
    with open_store(name_of(shop)) as store:
        assert store.get_config()["source_kind"] == "code"
        assert store.get_edges(["python orders.py/Order#total()."])["python orders.py/Order#total()."]
    (shop / "orders.py").write_text("def total():\n    pass\n")
    os.utime(shop / "orders.py", (1, 1))
    assert "took in 1 changed file" in ir("search", "shop", "total of an order").err
    assert entered()[name_of(shop)]["kind"] == "code"


def test_a_folder_of_texts_stays_one(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    assert entered()[name_of(notes)]["kind"] == "files"


def test_a_folder_that_was_cut_as_text_stays_so_until_it_is_built(ir: Ir, shop: Path) -> None:
    from ir.app.building import build_target
    from ir.app.context import Context
    from ir.app.targets import Target

    name = name_of(shop)
    source = CorpusSource.from_files(shop, name=name, all_text=True)
    context = Context()
    register(name, "files", embedder="light", root=str(shop), all_text=True, max_bytes=10_000_000)
    build_target(Target(name), source, "light", context)
    first = ir("search", "shop", "order")
    assert f"{name!r} was cut as text; ir build {name}" in first.err
    assert "was cut as text" not in ir("search", "shop", "order").err
    assert entered()[name]["kind"] == "files"
    built = ir("build", name)
    assert "read as definitions and links from now on" in built.err
    assert entered()[name]["kind"] == "code"
    with open_store(name) as store:
        assert store.get_config()["strategy_id"].startswith("Code(")
    assert "from now on" not in ir("build", "shop").err


def test_a_corpus_that_was_registered_as_files_stays_files(ir: Ir, shop: Path) -> None:
    ir("register", "mine", "shop")
    assert "from now on" not in ir("build", "mine").err
    assert entered()["mine"]["kind"] == "files"
    ir("register", "program", "shop", "--kind", "code")
    assert ir("build", "program").code == 0
    assert entered()["program"]["params"]["branch"] == "main"


def test_without_the_grammars_it_says_once_what_to_install(ir: Ir, shop: Path) -> None:
    with pytest.MonkeyPatch.context() as without:
        without.setitem(sys.modules, "tree_sitter", None)
        found = ir("search", "shop", "total of an order")
        assert found.code == 0
        assert found.err.count("pip install 'ir-substrate[code]'") == 1
        assert ir("ingest", "code", "shop", "--json").json["cut"][0]["files"] == 2
    again = ir("ingest", "code", "shop", "--json").json
    assert (again["cut"], again["definitions"]["type"]) == ([], 2)


# -- odd folders -----------------------------------------------------------------------------------------------------


def test_an_empty_folder_says_why_there_is_nothing(ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    told = ir("ingest", "code", "empty", "--json").json
    assert (told["files"], told["chunks"]) == ({}, 0)
    assert any("no text file" in note for note in told["notes"])


def test_links_that_lead_round_in_a_circle(ir: Ir, shop: Path) -> None:
    (shop / "again").symlink_to(shop, target_is_directory=True)
    (shop / "self.py").symlink_to("self.py")
    assert ir("ingest", "code", "shop", "--json").json["files"] == {"python": 2, "markdown": 1}


def test_a_file_that_is_too_large_or_no_text_is_named_and_the_rest_is_read(ir: Ir, shop: Path) -> None:
    with (shop / "large.py").open("wb") as file:
        file.truncate(50_000_000)
    (shop / "bytes.py").write_bytes(b"def f():\n    return '\xff\xfe\x81'\n\n\ndef g():\n    f()\n")
    (shop / "app.min.js").write_text("var a=1;")
    told = ir("ingest", "code", "shop", "--json").json
    reasons = {one["id"]: one["reason"] for one in told["skipped"]}
    assert "larger than 10,000,000 bytes" in reasons["large.py"]
    assert "minified file" in reasons["app.min.js"]
    assert told["links"]["calls"]["exact"] == 2  # that in bytes.py too


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_named(ir: Ir, shop: Path) -> None:
    (shop / "basket.py").chmod(0)
    assert "basket.py" in str(ir("ingest", "code", "shop", "--json").json["skipped"])


def test_circles_of_imports_and_inheritance_come_to_an_end(ir: Ir, shop: Path) -> None:
    (shop / "a.py").write_text("from b import *\nclass A(B):\n    def go(self):\n        self.stop()\n")
    (shop / "b.py").write_text("from a import *\nclass B(A):\n    def stop(self):\n        self.go()\n")
    told = ir("ingest", "code", "shop", "--json").json
    assert not told["failed"]
    assert told["links"]["inherits"]["exact"] >= 3


@needs_git
def test_the_branch_is_the_one_that_is_checked_out_and_stays(ir: Ir, shop: Path) -> None:
    git(shop, "init", "-b", "work")
    git(shop, "add", ".")
    git(shop, "commit", "-m", "all")
    assert ir("ingest", "code", "shop", "--json").json["branch"] == "work"
    git(shop, "checkout", "-b", "other")
    again = ir("ingest", "code", "shop", "--json").json
    assert (again["branch"], again["changed"]) == ("work", 0)
    moved = ir("ingest", "code", "shop", "--branch", "other", "--json").json
    assert (moved["branch"], moved["changed"], moved["embedded"]) == ("other", 3, 0)


@needs_git
def test_branches_of_odd_repositories(shop: Path, tmp_path: Path) -> None:
    assert branch_of(shop) == "main"
    git(shop, "init", "-b", "a/b")
    git(shop, "add", ".")
    git(shop, "commit", "-m", "all")
    assert branch_of(shop) == "a/b"
    git(shop, "worktree", "add", "-b", "c", "../tree")
    assert branch_of(tmp_path / "tree") == "c"
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-b", "outer")
    git(outer, "submodule", "add", str(shop), "inner")
    assert branch_of(outer / "inner") == "a/b"
    git(shop, "checkout", "--detach")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=shop, capture_output=True, text=True, check=True).stdout
    assert branch_of(shop) == head[:12]
    (shop / ".git" / "HEAD").write_text("")
    assert branch_of(shop) == "main"


@needs_git
def test_a_submodule_is_read_with_the_repository_around_it(ir: Ir, shop: Path, tmp_path: Path) -> None:
    git(shop, "init")
    git(shop, "add", ".")
    git(shop, "commit", "-m", "all")
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "main.py").write_text("def main():\n    pass\n")
    git(outer, "init", "-b", "outer")
    git(outer, "submodule", "add", str(shop), "inner")
    told = ir("ingest", "code", "outer", "--json").json
    assert (told["branch"], told["files"]["python"]) == ("outer", 3)


@pytest.mark.slow
def test_two_processes_at_once_leave_what_one_would(ir: Ir, shop: Path) -> None:
    words = [sys.executable, "-m", "ir", "ingest", "code", "shop", "--embedder", "light", "--json"]
    both = [subprocess.Popen(words, cwd=shop.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    told = ir("ingest", "code", "shop", "--json").json
    assert (told["added"], told["unchanged"], told["definitions"]["type"]) == (0, 3, 2)


def test_an_interrupted_ingest_changes_nothing(ir: Ir, shop: Path) -> None:
    from ir.code.strategy import Code

    ir("ingest", "code", "shop")
    with open_store(name_of(shop)) as store:
        before = store.content_version
    (shop / "orders.py").write_text("def other():\n    pass\n")

    def interrupted(*_: Any) -> Any:  # Ctrl-C, while links are drawn
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as pressed:
        pressed.setattr(Code, "link", interrupted)
        assert ir("ingest", "code", "shop").code == 130
    with open_store(name_of(shop)) as store:
        assert store.content_version == before
