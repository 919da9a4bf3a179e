from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.select import Disclosure, Selection, disclose


def selection_of(*hits: SearchHit) -> Selection:
    return Selection(list(hits), list(hits), not hits, "top_k")


def hit_at(pointer: Path | str, **metadata: Any) -> SearchHit:
    return SearchHit("deploy", "capability", 0.9, "how to deploy", {"path": str(pointer), **metadata}, "skills")


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("# Deploy\nümlaut", "utf-8")
    return path


def test_metadata_level_reads_nothing(note: Path) -> None:
    (shown,) = disclose(selection_of(hit_at(note, name="Deploy it")), level="metadata")
    assert shown.body is None
    assert shown.pointer == str(note)
    assert (shown.name, shown.summary, shown.source, shown.score) == ("Deploy it", "how to deploy", "skills", 0.9)
    assert "disclosure" not in shown.metadata


def test_body_level_reads_the_pointer(note: Path) -> None:
    (shown,) = disclose(selection_of(hit_at(note)))
    assert shown.body == "# Deploy\nümlaut"
    assert shown.level == "body"
    assert shown.name == "deploy"
    assert "disclosure" not in shown.metadata


def test_a_skill_path_comes_before_a_path(note: Path, tmp_path: Path) -> None:
    (shown,) = disclose(selection_of(hit_at(tmp_path / "other.md", skill_path=str(note))))
    assert shown.pointer == str(note)
    assert shown.body is not None


def test_a_byte_order_mark_is_not_part_of_the_body(tmp_path: Path) -> None:
    path = tmp_path / "bom.md"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert disclose(selection_of(hit_at(path)))[0].body == "hello"


@pytest.mark.parametrize("name", ["README.md", "readme.rst", "Readme.txt", "README"])
def test_a_pointer_at_a_folder_discloses_its_readme(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# What this package does", "utf-8")
    (shown,) = disclose(selection_of(hit_at(tmp_path)))
    assert shown.body == "# What this package does"
    assert shown.pointer == str(tmp_path)
    assert "disclosure" not in shown.metadata


def test_the_readme_of_a_folder_is_a_file_of_its_own_and_markdown_goes_first(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (tmp_path / "elsewhere.md").write_text("not of this folder", "utf-8")
    (folder / "README.md").symlink_to(tmp_path / "elsewhere.md")
    (shown,) = disclose(selection_of(hit_at(folder)))
    assert shown.body is None
    (folder / "README.md").unlink()
    (folder / "README.txt").write_text("plain", "utf-8")
    (folder / "README.md").write_text("marked", "utf-8")
    assert disclose(selection_of(hit_at(folder)))[0].body == "marked"


@pytest.mark.parametrize("form", ["corpus", "store"])
def test_a_passage_is_never_of_another_corpus(kitchen: ir.Corpus, make_corpus: Any, form: str) -> None:
    other = make_corpus({"brew": "Beer is brewed elsewhere."}, "brewery")
    (hit,) = ir.search(kitchen, "tea", k=1)
    assert hit.artifact_id == "brew"
    wrong, right = (other, kitchen) if form == "corpus" else (other.store, kitchen.store)
    (shown,) = disclose(selection_of(hit), level="metadata", expand=ir.parent_policy(), corpus=wrong)
    assert shown.passage is None
    assert shown.metadata["expansion"] == ("not possible: the hit is from 'kitchen', and the corpus given is 'brewery'")
    (shown,) = disclose(selection_of(hit), level="metadata", expand=ir.parent_policy(), corpus=right)
    assert shown.passage == "Brew tea with hot water, tea by tea."
    assert "expansion" not in shown.metadata


def unreadable(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01" * 10)
    (tmp_path / "zeros").write_bytes(b"text\x00text")
    os.mkfifo(tmp_path / "pipe")
    return {
        "missing": "No such file",
        ".": "a folder without a README",
        "binary": "not UTF-8",
        "zeros": "not text",
        "pipe": "not a regular file",
        "nul\x00name": "null",
        "x" * 5000: "too long",
    }


def test_a_file_in_an_older_encoding_is_shown_as_it_was_indexed(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Un café à Orléans.".encode("latin-1"))
    (shown,) = disclose(selection_of(hit_at(tmp_path / "old.txt")))
    assert shown.body == "Un café à Orléans."


def test_unreadable_pointers_give_no_body_and_a_note(tmp_path: Path) -> None:
    for name, reason in unreadable(tmp_path).items():
        (shown,) = disclose(selection_of(hit_at(tmp_path / name)))
        assert shown.body is None, name
        assert shown.metadata["disclosure"].startswith("unreadable: "), name
        assert reason in shown.metadata["disclosure"], name


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device file")
def test_devices_are_refused() -> None:
    (shown,) = disclose(selection_of(hit_at("/dev/zero")))
    assert shown.body is None
    assert "not a regular file" in shown.metadata["disclosure"]


def test_a_hit_without_a_pointer_has_no_body_and_says_how_to_get_one() -> None:
    (shown,) = disclose(selection_of(SearchHit("a", "document", 0.5, "text")))
    assert (shown.body, shown.pointer) == (None, None)
    assert "give corpus=" in shown.metadata["disclosure"]


@pytest.mark.parametrize("character", ["x", "é", "𝄞"])
def test_bodies_are_capped_with_a_note(tmp_path: Path, character: str) -> None:
    path = tmp_path / "long.md"
    path.write_text(character * 30_000, "utf-8")
    (shown,) = disclose(selection_of(hit_at(path)))
    assert shown.body == character * 20_000
    assert "first 20,000 characters" in shown.metadata["disclosure"]
    (short,) = disclose(selection_of(hit_at(path)), max_chars=5)
    assert short.body == character * 5
    path.write_text(character * 20_000, "utf-8")
    assert "disclosure" not in disclose(selection_of(hit_at(path)))[0].metadata


def test_a_loader_stands_in_for_the_disk() -> None:
    chosen = selection_of(hit_at("nowhere"))
    assert disclose(chosen, loader=lambda metadata: f"body of {metadata['path']}")[0].body == "body of nowhere"
    assert "found no body" in disclose(chosen, loader=lambda metadata: None)[0].metadata["disclosure"]
    assert len(disclose(chosen, loader=lambda metadata: "y" * 30_000)[0].body or "") == 20_000


def test_a_failing_loader_loses_one_body_only() -> None:
    def loader(metadata: Any) -> str:
        if metadata["path"] == "bad":
            raise RuntimeError("boom")
        return "fine"

    bad, good = disclose(selection_of(hit_at("bad"), hit_at("good")), loader=loader)
    assert bad.body is None
    assert "RuntimeError: boom" in bad.metadata["disclosure"]
    assert good.body == "fine"


def test_a_resource_store_stands_in_for_the_disk() -> None:
    chosen = selection_of(hit_at("k"))
    assert disclose(chosen, store={"k": "text"})[0].body == "text"
    assert disclose(chosen, store={"k": "b\u00fc".encode()})[0].body == "bü"
    for store, reason in (({}, "not in the resource store"), ({"k": b"\xff"}, "not UTF-8"), ({"k": 7}, "not text")):
        (shown,) = disclose(chosen, store=store)
        assert shown.body is None
        assert reason in shown.metadata["disclosure"]


def test_a_bundle_lists_what_lies_beside_a_skill(tmp_path: Path) -> None:
    skill = tmp_path / "SKILL.md"
    skill.write_text("# Skill", "utf-8")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "run.py").write_text("print()", "utf-8")
    (tmp_path / "a.txt").write_text("abc", "utf-8")
    (tmp_path / ".hidden").write_text("x", "utf-8")
    (tmp_path / "link").symlink_to("/etc/hosts")
    (shown,) = disclose(selection_of(hit_at(skill)), level="bundled")
    assert shown.body == "# Skill"
    assert shown.metadata["bundle"] == [{"name": "a.txt", "size": 3}, {"name": "scripts/run.py", "size": 7}]
    assert "bundle" not in disclose(selection_of(hit_at(skill)), level="body")[0].metadata
    assert "bundle" not in disclose(selection_of(hit_at(tmp_path / "a.txt")), level="bundled")[0].metadata


def test_disclosing_changes_nothing(note: Path) -> None:
    chosen = selection_of(hit_at("missing", tags=["a"]))
    before = copy.deepcopy(chosen)
    disclose(chosen, level="bundled")
    assert chosen == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "everything"}, "Unknown disclosure level"),
        ({"loader": lambda metadata: None, "store": {}}, "not both"),
        ({"loader": "file"}, "must be callable"),
        ({"expand": lambda hit, siblings: siblings}, "expand needs corpus="),
        ({"max_chars": 0}, "at least 1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        disclose(selection_of(), **options)


def test_a_disclosure_is_json_clean() -> None:
    shown = Disclosure("a", "metadata", "a", 0.5, "s", metadata={"when": {1, 2}})
    assert json.loads(json.dumps(shown.to_dict()))["metadata"] == {"when": [1, 2]}
