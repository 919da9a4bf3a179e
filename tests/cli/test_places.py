"""Where people search: a part of an indexed folder, a folder that moved, files of one kind; and what is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with documents, code and something ignored, in the current folder."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "project"
    files = {
        "README.md": "# Tea\n\nA kettle for everyone.\n",
        "docs/guide.md": "# Guide\n\nFill the kettle with water.\n",
        "docs/deep/more.md": "# More\n\nA kettle whistles.\n",
        "docs2/other.md": "# Other\n\nAnother kettle.\n",
        "src/kettle.py": "def kettle():\n    return 'boils'\n",
        "src/test_kettle.py": "def test_kettle():\n    assert kettle\n",
        ".gitignore": "build/\n",
        "build/out.md": "A kettle that was built.\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / ".git").mkdir()
    return root


def ids(done: Any) -> set[str]:
    return {hit["artifact_id"] for hit in done.json["found"]}


class TestGlobs:
    @pytest.mark.parametrize(
        ("globs", "found"),
        [
            (["*.py"], {"src/kettle.py", "src/test_kettle.py"}),
            (["*.py", "!test_*"], {"src/kettle.py"}),
            (["!*.py"], {"README.md", "docs/guide.md", "docs/deep/more.md", "docs2/other.md"}),
            (["docs/*.md"], {"docs/guide.md"}),
            (["docs/**"], {"docs/guide.md", "docs/deep/more.md"}),
            (["docs/"], {"docs/guide.md", "docs/deep/more.md"}),
            (["/*.md"], {"README.md"}),
            (["{guide,other}.md"], {"docs/guide.md", "docs2/other.md"}),
            (["./docs/guide.md"], {"docs/guide.md"}),
        ],
    )
    def test_patterns_choose_files(self, ir: Ir, project: Path, globs: list[str], found: set[str]) -> None:
        flags = [word for glob in globs for word in ("-g", glob)]
        assert ids(ir("search", "project", "kettle", *flags, "--json")) == found

    def test_as_many_results_come_as_were_asked_for(self, ir: Ir, project: Path) -> None:
        done = ir("search", "project", "kettle", "-g", "*.py", "-k", "2", "--json")
        assert len(done.json["found"]) == 2

    def test_nothing_that_matches_is_no_error(self, ir: Ir, project: Path) -> None:
        assert ir("search", "project", "kettle", "-g", "*.rs").code == 1

    def test_an_empty_pattern_is_explained(self, ir: Ir, project: Path) -> None:
        assert "not a pattern for files" in ir("search", "project", "kettle", "-g", "").err


class TestPaths:
    @pytest.mark.parametrize("path", ["docs/guide.md", "./docs/guide.md", "project/docs/guide.md"])
    def test_a_relative_path_is_understood(self, ir: Ir, project: Path, path: str) -> None:
        assert ids(ir("search", "project", "kettle", "-w", f"path={path}", "--json")) == {"docs/guide.md"}

    def test_so_it_is_in_a_document_and_in_the_negative(self, ir: Ir, project: Path) -> None:
        done = ir(
            "search", "project", "kettle", "--filter", '{"path": {"$in": ["README.md", "src/kettle.py"]}}', "--json"
        )
        assert ids(done) == {"README.md", "src/kettle.py"}
        assert "README.md" not in ids(ir("search", "project", "kettle", "-w", "path!=README.md", "--json"))

    def test_a_whole_path_still_is(self, ir: Ir, project: Path) -> None:
        whole = str((project / "README.md").resolve())
        assert ids(ir("search", "project", "kettle", "-w", f"path={whole}", "--json")) == {"README.md"}


class TestSubfolder:
    def test_a_part_of_an_indexed_folder_uses_its_index(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        done = ir("search", "project/docs", "kettle", "--json")
        assert ids(done) == {"docs/guide.md", "docs/deep/more.md"}
        assert len(ir("ls", "--json").json["corpora"]) == 1
        assert any("index of" in note for note in done.json["notes"])

    def test_the_nearest_index_wins_and_ones_own_before_all(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        ir("build", "project/docs")
        assert ids(ir("search", "project/docs/deep", "kettle", "--json")) == {"deep/more.md"}
        assert ids(ir("search", "project/docs", "kettle", "--json")) == {"guide.md", "deep/more.md"}

    def test_a_file_of_it_is_a_part_too(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        assert ids(ir("search", "project/docs/guide.md", "kettle", "--json")) == {"docs/guide.md"}

    def test_what_the_index_leaves_out_gets_its_own(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        assert ids(ir("search", "project/build", "kettle", "--json")) == {"out.md"}

    def test_changes_in_the_part_are_taken_in_first(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        (project / "docs" / "new.md").write_text("A kettle that is new.\n")
        (project / "docs" / "guide.md").unlink()
        assert ids(ir("search", "project/docs", "kettle", "--json")) == {"docs/new.md", "docs/deep/more.md"}

    def test_patterns_are_relative_to_the_part(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        assert ids(ir("search", "project/docs", "kettle", "-g", "/*.md", "--json")) == {"docs/guide.md"}

    def test_a_registered_folder_is_searched_by_its_path(self, ir: Ir, project: Path) -> None:
        ir("register", "tea", "project")
        ir("build", "tea")
        done = ir("search", "project", "whistles", "--json")
        assert done.json["corpus"] == "tea"


class TestMoved:
    def test_a_moved_folder_keeps_its_index(self, ir: Ir, project: Path) -> None:
        built = ir("build", "project", "--json").json
        project.rename(project.with_name("renamed"))
        done = ir("search", "renamed", "whistles", "--json")
        assert done.json["found"][0]["pointer"] == str(project.with_name("renamed") / "docs/deep/more.md")
        assert "index goes along" in done.err
        (only,) = ir("ls", "--json").json["corpora"]
        assert only["name"] != built["corpus"]
        assert only["origin"] == str(project.with_name("renamed"))
        again = ir("search", "renamed", "whistles", "--json")
        assert "index goes along" not in again.err

    def test_nothing_is_embedded_again(self, ir: Ir, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ir("build", "project")
        project.rename(project.with_name("renamed"))
        import ir as library
        from ir.app import moved

        seen: list[Any] = []
        build = moved.build_target
        monkeypatch.setattr(moved, "build_target", lambda *given: seen.append(build(*given)))
        assert library.__name__ == "ir"
        ir("search", "renamed", "whistles")
        assert [(one.changed, one.embedded) for one in seen] == [(6, 0)]

    def test_a_name_that_the_user_gave_stays(self, ir: Ir, project: Path) -> None:
        ir("register", "tea", "project")
        ir("build", "tea")
        project.rename(project.with_name("renamed"))
        assert ir("search", "renamed", "whistles", "--json").json["corpus"] == "tea"
        assert (
            ir("search", "tea", "whistles", "--json")
            .json["found"][0]["pointer"]
            .startswith(str(project.with_name("renamed")))
        )

    def test_a_copy_takes_nothing(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        shutil.copytree(project, project.with_name("copy"))
        ir("search", "copy", "whistles")
        assert len(ir("ls", "--json").json["corpora"]) == 2

    def test_another_folder_takes_nothing(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        shutil.rmtree(project)
        other = project.with_name("other")
        other.mkdir()
        (other / "README.md").write_text("Something else, with a kettle.\n")
        ir("search", "other", "kettle")
        assert len(ir("ls", "--json").json["corpora"]) == 2


class TestGone:
    def test_a_corpus_whose_folder_is_gone_is_shown_as_such(self, ir: Ir, project: Path) -> None:
        ir("build", "project")
        shutil.rmtree(project)
        (only,) = ir("ls", "--json").json["corpora"]
        assert (only["state"], only["gone"]) == ("folder gone", True)
        assert "folder gone" in ir("ls").out

    def test_they_are_pruned_by_a_command_after_a_dry_run(self, ir: Ir, project: Path, notes: Path) -> None:
        name = ir("build", "project", "--json").json["corpus"]
        kept = ir("build", "notes", "--json").json["corpus"]
        shutil.rmtree(project)
        told = ir("rm", "--gone", "--dry-run", "--json").json
        assert [one["corpus"] for one in told["removed"]] == [name]
        assert len(ir("ls", "--json").json["corpora"]) == 2
        assert ir("rm", "--gone").code != 0, "nobody was asked"
        assert ir("rm", "--gone", "--yes").code == 0
        assert [one["name"] for one in ir("ls", "--json").json["corpora"]] == [kept]

    def test_nothing_gone_is_no_error(self, ir: Ir, notes: Path) -> None:
        ir("build", "notes")
        assert "none" in ir("rm", "--gone", "--yes").out

    def test_a_name_or_gone_is_needed(self, ir: Ir, notes: Path) -> None:
        assert "--gone" in ir("rm").err


class TestOrder:
    def test_the_query_may_come_first(self, ir: Ir, project: Path) -> None:
        done = ir("search", "whistling kettle", "project", "--json")
        assert "docs/deep/more.md" in ids(done)
        assert any("taken for the query" in note for note in done.json["notes"]) or "taken for the query" in done.err

    def test_the_usual_order_wins_where_both_are_places(self, ir: Ir, project: Path, notes: Path) -> None:
        assert ir("search", "notes", "project", "--json").json["query"] == "project"

    def test_words_without_quotes_are_explained(self, ir: Ir, project: Path) -> None:
        done = ir("search", "whistling", "kettle")
        assert done.code != 0
        assert "ir search 'whistling kettle'" in done.err
        assert "ir search project 'whistling kettle'" in ir("search", "whistling", "kettle", "project").err
