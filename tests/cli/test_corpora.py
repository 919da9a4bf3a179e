"""``ir build``, ``ls``, ``info``, ``register``, ``rm``, ``export``, ``import`` and ``watch``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.config import corpus_dir
from ir.store import LocalStore

Ir = Callable[..., Any]


def test_build_says_what_it_did_and_then_that_nothing_changed(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes")
    first = ir("build", "kitchen")
    assert first.code == 0
    assert first.out.startswith("kitchen: 3 added, 0 unchanged; ")
    again = ir("build", "kitchen")
    assert again.out.startswith("kitchen: nothing changed, 3 unchanged")
    (notes / "tea.md").unlink()
    (notes / "bread.txt").write_text("Only rye.\n")
    kept = ir("build", "kitchen", "--keep", "--json").json
    assert (kept["added"], kept["changed"], kept["removed"]) == (0, 1, 0)
    pruned = ir("build", "kitchen", "--json").json
    assert (pruned["changed"], pruned["removed"], pruned["unchanged"]) == (0, 1, 2)


def test_a_dry_run_lists_changes_and_makes_none(ir: Ir, notes: Path) -> None:
    dry = ir("build", "notes", "--dry-run")
    assert "added\ttea.md" in dry.out.splitlines()
    assert "(dry run)" in dry.out
    assert ir("ls", "--json").json["corpora"] == []


def test_files_that_cannot_be_read_are_reported_and_the_rest_is_built(ir: Ir, notes: Path) -> None:
    (notes / "image.bin").write_bytes(b"\x00\x01\x02" * 100)
    done = ir("build", "notes")
    assert done.code == 0
    assert "3 added" in done.out
    assert "skipped\timage.bin" in done.out


def test_ls_and_info_show_what_is_there(ir: Ir, notes: Path) -> None:
    assert "ir build PATH" in ir("ls").err
    ir("register", "kitchen", "notes")
    assert ir("ls", "--json").json["corpora"][0]["state"] == "not built"
    ir("build", "kitchen")
    listed = ir("ls")
    header, row = listed.out.splitlines()
    assert header.split("\t")[0] == "name"
    assert row.split("\t")[0] == "kitchen"
    about = ir("info", "kitchen", "--json").json
    assert about["artifacts"] == 3
    assert about["built"] is True
    assert about["params"]["root"] == str(notes.resolve())
    assert about["surfaces"]
    assert "embedder" in ir("info", "kitchen").out


def test_a_folder_is_listed_under_its_own_name_and_found_by_path_and_name(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    name = ir("ls", "--json").json["corpora"][0]["name"]
    assert name.startswith("notes-")
    assert ir("info", "notes", "--json").json["name"] == name
    assert ir("search", name, "dough").out.startswith("notes/bread.txt")
    assert ir("build", name).out.startswith(f"{name}: nothing changed")


def test_register_with_a_pattern_takes_only_what_matches(ir: Ir, notes: Path) -> None:
    ir("register", "python", "notes", "--param", r"pattern=\.py$")
    ir("build", "python")
    assert ir("info", "python", "--json").json["artifacts"] == 1


def test_register_refuses_what_cannot_work(ir: Ir, notes: Path) -> None:
    unknown = ir("register", "x", "notes", "--kind", "fils")
    assert unknown.code == 2
    assert "'files'" in unknown.err
    assert ir("register", "x", "nowhere").code == 2
    assert "KEY=VALUE" in ir("register", "x", "notes", "--param", "depth").err


def test_rm_needs_yes_where_nobody_can_be_asked_and_never_touches_the_source(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    refused = ir("rm", "kitchen")
    assert refused.code == 2
    assert "--yes" in refused.err
    preview = ir("rm", "kitchen", "--dry-run")
    assert preview.out.startswith("would remove ")
    assert len(ir("ls", "--json").json["corpora"]) == 1
    done = ir("rm", "kitchen", "--yes")
    assert done.code == 0
    assert ir("ls", "--json").json["corpora"] == []
    assert (notes / "tea.md").exists()
    gone = ir("rm", "kitchen", "--yes")
    assert gone.code == 3
    assert "kitchen" in gone.err


def test_an_imported_corpus_that_asks_a_server_says_so(ir: Ir, notes: Path, tmp_path: Path) -> None:
    name = ir("build", "notes", "--json").json["corpus"]
    file = tmp_path / "notes.ir"
    assert ir("export", "notes", str(file)).code == 0
    assert "server" not in ir("import", str(file), "--name", "here").err
    with LocalStore(corpus_dir(name)) as store:
        store.set_config({**store.get_config(), "embedder": "openai:text-embedding-3-small"})
    assert ir("export", "notes", str(file), "--force").code == 0
    taken = ir("import", str(file), "--name", "there", "--json")
    assert taken.json["embedder"] == "openai:text-embedding-3-small"
    assert "send the query to the server" in taken.err


def test_export_and_import_carry_a_corpus(ir: Ir, notes: Path, tmp_path: Path) -> None:
    ir("build", "notes")
    file = tmp_path / "notes.ir"
    out = ir("export", "notes", str(file))
    assert out.code == 0
    assert file.stat().st_size > 0
    assert ir("export", "notes", str(file)).code == 2
    assert ir("export", "notes", str(file), "--force").code == 0
    there = ir("import", str(file), "--name", "copied", "--json").json
    assert there["corpus"] == "copied"
    assert ir("search", "copied", "dough", "--json").json["found"][0]["artifact_id"] == "bread.txt"
    assert ir("import", str(file), "--name", "copied").code == 2
    assert ir("import", str(file), "--name", "copied", "--force").code == 0


def test_import_of_a_damaged_file_changes_nothing(ir: Ir, notes: Path, tmp_path: Path) -> None:
    ir("build", "notes")
    file = tmp_path / "notes.ir"
    ir("export", "notes", str(file))
    file.write_bytes(file.read_bytes()[:-40])
    broken = ir("import", str(file), "--name", "other")
    assert broken.code == 3
    assert [item["name"] for item in ir("ls", "--json").json["corpora"] if item["name"] == "other"] == []
    assert ir("import", str(tmp_path / "nowhere.ir")).code == 2


def test_a_corpus_whose_database_is_noise_is_said_to_be_broken(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    database = Path(ir("info", "kitchen", "--json").json["path"]) / "corpus.db"
    for extra in database.parent.glob("corpus.db-*"):
        extra.unlink()
    database.write_bytes(b"noise" * 1000)
    found = ir("search", "kitchen", "tea")
    assert found.code == 3
    assert "damaged" in found.err
    assert "build" in found.err
    assert ir("ls", "--json").json["corpora"][0]["state"].startswith("broken")
    checked = ir("doctor", "--json")
    assert checked.code == 3
    assert [check["name"] for check in checked.json["checks"] if check["status"] == "broken"] == ["corpus kitchen"]


def test_watch_takes_in_a_change_and_ends_after_the_rounds_asked_for(
    ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("watchfiles")
    from ir.app import Context
    from ir.app.watching import WatchRequest, watch

    said: list[str] = []

    def hear(sentence: str) -> None:
        said.append(sentence)
        # The second file is written when the watcher already runs, so that only it can tell.
        if sentence.startswith("watching"):
            (notes / "first.md").write_text("Fresh.\n")
        elif sentence.endswith("1 added") and len(said) == 3:
            (notes / "second.md").write_text("Fresher.\n")

    monkeypatch.setenv("IR_EMBEDDER", "light")
    done = watch(WatchRequest(str(notes), rounds=2), Context(note=hear))
    assert (done.updates, done.changes) == (2, 2)
    assert said[-1].endswith("1 added")


def test_every_json_answer_is_one_document(ir: Ir, notes: Path) -> None:
    for arguments in (["build", "notes"], ["ls"], ["info", "notes"], ["doctor"], ["config"], ["rm", "nosuch", "--yes"]):
        assert isinstance(json.loads(ir(*arguments, "--json").out), dict), arguments


def test_a_build_says_what_is_too_long_for_the_model_and_what_has_no_text(
    ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.embed.light import LightEmbedder

    monkeypatch.setattr(LightEmbedder, "max_tokens", 30, raising=False)
    lines = [
        {"id": "long", "text": "Words and words. " * 50},
        {"id": "short", "text": "Few."},
        {"id": "no", "text": ""},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ir("register", "items", str(path), "--kind", "jsonl", "--param", "id_key=id")
    done = ir("build", "items")
    assert done.code == 0, done.err
    assert "too long\t1\t" in done.out
    assert "longer than the 30 tokens" in done.out
    assert "without text\t1\t" in done.out
    assert "too long" not in ir("build", "items").out


def test_records_of_a_function_in_a_file_are_registered_and_built_from_any_folder(
    ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "teas.py").write_text("def fetch():\n    return [{'id': 'green', 'text': 'steep green tea'}]\n")
    assert ir("register", "teas", "teas.py:fetch", "--kind", "records").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ir("build", "teas").code == 0
    assert ir("search", "teas", "green tea", "--json").json["found"][0]["artifact_id"] == "green"


def test_what_is_no_function_of_records_is_refused_with_a_way_that_works(
    ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "teas.jsonl").write_text('{"id": "green", "text": "steep green tea"}\n')
    asked = ir("register", "teas", "--kind", "records")
    assert (asked.code, "ir register teas FILE.py:FUNCTION --kind records" in asked.err) == (2, True)
    refused = ir("register", "teas", "teas.jsonl", "--kind", "records")
    assert (refused.code, "--kind jsonl" in refused.err) == (2, True)
    assert ir("register", "teas", "teas.jsonl", "--kind", "jsonl").code == 0
    assert "no file 'gone.py'" in ir("register", "teas", "gone.py:fetch", "--kind", "records").err
    (tmp_path / "broken.py").write_text("1 / 0\n")
    assert ir("register", "broken", "broken.py:fetch", "--kind", "records").code == 0
    built = ir("build", "broken")
    assert "ZeroDivisionError" in built.err
    assert "path/to/file.py:function" in built.err
