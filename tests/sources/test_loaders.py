from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ir
from ir.errors import FilterError, InvalidInput, SourceError
from ir.sources import CorpusSource
from ir.strategy import Chunked, Package, Skill, TurnPair, WholeText


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


class TestMapping:
    def test_any_mapping_with_the_fields_of_the_class_as_keywords(self) -> None:
        docs = {"a": {"text": "words", "lang": "en"}}
        source = CorpusSource.from_mapping(
            docs, name="notes", embedder="light", metadata_of=lambda key, raw: {"k": key}
        )
        assert source.scope is docs
        assert isinstance(source.indexing_strategy, WholeText)
        assert source.metadata_of is not None
        assert source.metadata_of("a", docs["a"]) == {"k": "a"}
        assert source.skipped() == []
        assert source.stat_signal("a") is None

    def test_an_unknown_keyword_is_refused(self) -> None:
        with pytest.raises(TypeError, match="emmbedder"):
            CorpusSource.from_mapping({}, name="x", emmbedder="light")


class TestReports:
    def test_docs_of_projects_tagged_with_the_project(self, tmp_path: Path) -> None:
        for name in (
            "alpha/docs/plan.md",
            "alpha/docs/deep/er.md",
            "alpha/docs/README.md",
            "alpha/notes.md",
            "beta/misc/docs/idea.md",
            "beta/src/docs/no.md",
            "gamma/docs/data.csv",
        ):
            write(tmp_path / name, "# T\n\nwords")
        source = CorpusSource.from_md_reports(projects_root=tmp_path)
        assert {key: raw["project"] for key, raw in source.scope.items()} == {
            "alpha/docs/plan.md": "alpha",
            "alpha/docs/deep/er.md": "alpha",
            "beta/misc/docs/idea.md": "beta",
        }
        assert (source.name, type(source.indexing_strategy)) == ("reports", Chunked)

    def test_a_project_itself_may_be_the_root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "proj/docs/plan.md", "words")
        monkeypatch.chdir(tmp_path / "proj")
        scope = CorpusSource.from_md_reports().scope
        assert {key: raw["project"] for key, raw in scope.items()} == {"docs/plan.md": "proj"}

    def test_projects_in_groups_know_both(self, tmp_path: Path) -> None:
        for path in (
            "web/shop/docs/plan.md",
            "web/shop/docs/deep/er.md",
            "web/shop/misc/docs/idea.md",
            "alone/docs/docs/own.md",
            "alone/misc/docs/idea.md",
            "too/deep/down/docs/no.md",
            "web/shop/src/docs.md",
            "web/shop/docs/README.md",
        ):
            write(tmp_path / path, "words")
        scope = CorpusSource.from_md_reports(projects_root=tmp_path).scope
        assert {key: (raw.get("group"), raw["project"]) for key, raw in scope.items()} == {
            "web/shop/docs/plan.md": ("web", "shop"),
            "web/shop/docs/deep/er.md": ("web", "shop"),
            "web/shop/misc/docs/idea.md": ("web", "shop"),
            "alone/docs/docs/own.md": (None, "alone"),
            "alone/misc/docs/idea.md": (None, "alone"),
        }
        group = CorpusSource.from_md_reports(projects_root=tmp_path / "web").scope
        assert {(raw.get("group"), raw["project"]) for raw in group.values()} == {(None, "shop")}

    def test_only_what_lies_right_in_the_documents(self, tmp_path: Path) -> None:
        for path in ("docs/own.md", "docs/deep/er.md", "p/docs/plan.md", "p/docs/deep/er.md", "g/p/docs/plan.md"):
            write(tmp_path / path, "words")
        scope = CorpusSource.from_md_reports(projects_root=tmp_path, recursive=False).scope
        assert sorted(scope) == ["docs/own.md", "g/p/docs/plan.md", "p/docs/plan.md"]


class TestSkills:
    def test_folders_of_skill_files(self, tmp_path: Path) -> None:
        deploy = write(tmp_path / "ops/deploy/SKILL.md", "---\nname: deploy\ndescription: Ship it.\n---\nbody")
        write(tmp_path / "bare/SKILL.md", "# Bare\n\nDoes a bare thing.\n\nMore.")
        write(tmp_path / "broken/SKILL.md", "---\nname: [\n---\nStill here.")
        source = CorpusSource.from_skills(roots=[tmp_path])
        assert set(source.scope) == {"deploy", "bare", "broken"}
        assert source.scope["deploy"] == {
            "name": "deploy",
            "description": "Ship it.",
            "skill_path": str(deploy),
            "parent": "ops",
        }
        assert source.scope["bare"]["description"] == "Does a bare thing."
        assert [item.id for item in source.skipped()] == [f"{tmp_path.name}/broken/SKILL.md (front matter)"]
        assert isinstance(source.indexing_strategy, Skill)

    def test_the_first_paragraph_describes_a_skill_whatever_ends_its_lines(self, tmp_path: Path) -> None:
        text = "# Bare\r\n\r\nDoes a\r\nbare thing.\r\n \r\nMore.\r\n"
        (tmp_path / "bare").mkdir()
        (tmp_path / "bare" / "SKILL.md").write_bytes(text.encode())
        assert CorpusSource.from_skills(roots=[tmp_path]).scope["bare"]["description"] == "Does a\r\nbare thing."

    def test_a_name_that_comes_twice_is_told_apart_by_its_folder(self, tmp_path: Path) -> None:
        write(tmp_path / "one/x/SKILL.md", "one")
        write(tmp_path / "two/x/SKILL.md", "two")
        roots = [tmp_path / "one", tmp_path / "two", tmp_path / "one"]
        assert list(CorpusSource.from_skills(roots=roots).scope) == ["x", f"x@{tmp_path}/two/x"]

    def test_a_fetcher_and_both_forms_of_filter(self) -> None:
        records = [{"name": "a", "description": "A", "parent": "p"}, {"name": "b", "description": "B"}]
        assert list(CorpusSource.from_skills(fetcher=lambda: records).scope) == ["a", "b"]
        assert list(CorpusSource.from_skills(fetcher=lambda: records, filter={"parent": "p"}).scope) == ["a"]
        assert list(CorpusSource.from_skills(fetcher=lambda: records, filter=lambda r: r["name"] > "a").scope) == ["b"]
        with pytest.raises(FilterError):
            CorpusSource.from_skills(fetcher=lambda: records, filter={"parent": {"$near": 1}})
        with pytest.raises(InvalidInput, match="filter must be"):
            CorpusSource.from_skills(fetcher=lambda: records, filter=3)
        with pytest.raises(SourceError, match="Skill record 1 has no name"):
            list(CorpusSource.from_skills(fetcher=lambda: [{"description": "x"}]).scope)

    def test_equal_names_of_a_fetcher_are_told_apart_and_stay_so_in_any_order(self) -> None:
        records = [
            {"name": "deploy", "description": "first", "parent": "app"},
            {"name": "deploy", "description": "second", "parent": "ops"},
            {"name": "deploy", "description": "third", "parent": "ops", "skill_path": "/x/SKILL.md"},
            {"name": "deploy", "description": "fourth", "parent": "ops", "skill_path": "/x/SKILL.md"},
            {"name": "deploy@ops", "description": "has that name for itself"},
            {"name": "other", "description": "alone"},
        ]
        expected = {
            "deploy": "first",
            "deploy@2": "second",
            "deploy@/x/SKILL.md": "fourth",
            "deploy@3": "third",
            "deploy@ops": "has that name for itself",
            "other": "alone",
        }
        for given in (records, records[::-1], [*records[3:], *records[:3]]):
            source = CorpusSource.from_skills(fetcher=lambda given=given: given)
            assert {key: raw["description"] for key, raw in source.scope.items()} == expected
        two = CorpusSource.from_skills(fetcher=lambda: records[:2], embedder="light")
        corpus = ir.build(two, store=ir.CorpusStore.memory())
        assert sorted(corpus.report.added) == ["deploy", "deploy@ops"]
        assert ir.build(two, store=corpus.store).report.unchanged == ["deploy", "deploy@ops"]

    def test_a_fetcher_that_fails_leaves_the_index_as_it_was(self) -> None:
        def unreachable() -> list[dict[str, Any]]:
            raise RuntimeError("no route")

        with pytest.raises(SourceError, match="The fetcher failed with RuntimeError: no route"):
            list(CorpusSource.from_skills(fetcher=unreachable).scope)

    def test_no_skills_anywhere_says_where_they_were_looked_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SourceError, match=r"none of ~/.claude/skills, .claude/skills, skills exists.*roots="):
            list(CorpusSource.from_skills().scope)
        write(tmp_path / "skills/x/SKILL.md", "x")
        assert list(CorpusSource.from_skills().scope) == ["x"]


class TestPackages:
    def test_what_is_installed(self) -> None:
        source = CorpusSource.from_packages(readme_chars=100)
        raw = source.scope["hypothesis"]
        assert raw["owner"] == "third-party"
        assert "sortedcontainers" in raw["deps"]
        assert raw["description"]
        assert len(raw["readme"]) <= 100
        assert isinstance(source.indexing_strategy, Package)

    def test_the_projects_of_a_manifest(self, tmp_path: Path) -> None:
        project = (
            '[project]\nname = "one"\ndescription = "First."\nversion = "1.0"\ndependencies = ["numpy>=1", "Two"]\n'
        )
        write(tmp_path / "one/pyproject.toml", project)
        write(tmp_path / "one/README.md", "# One")
        write(tmp_path / "one/src/one/__init__.py", "")
        write(tmp_path / "two/README.rst", "Two")
        write(tmp_path / "bad/pyproject.toml", "[project")
        manifest = write(tmp_path / "my.pth", "# mine\nimport os\none/src\ntwo\n\nbad\ngone\none\n")
        source = CorpusSource.from_packages(manifest=manifest)
        assert list(source.scope) == ["one", "two", "bad"]
        assert source.scope["one"] == {
            "name": "one",
            "description": "First.",
            "readme": "# One",
            "owner": "ours",
            "deps": ["numpy", "two"],
            "version": "1.0",
            "path": str(tmp_path / "one"),
        }
        said = {item.id: item.reason for item in source.skipped()}
        assert said["my.pth:7"] == "there is no folder 'gone'"
        assert "already found at my.pth:3" in said["my.pth:8"]
        assert "the folder's name is taken" in said["my.pth:6"]

    def test_a_readme_outside_of_the_project_is_not_read(self, tmp_path: Path) -> None:
        write(tmp_path / "secret.md", "secret")
        write(tmp_path / "p/pyproject.toml", '[project]\nname = "p"\nreadme = "../secret.md"\n')
        manifest = write(tmp_path / "m.pth", "p\n")
        assert CorpusSource.from_packages(manifest=manifest).scope["p"]["readme"] == ""

    def test_a_manifest_with_a_byte_order_mark(self, tmp_path: Path) -> None:
        write(tmp_path / "one/README.md", "# One")
        manifest = write(tmp_path / "my.pth", "\ufeffone\r\n")
        assert list(CorpusSource.from_packages(manifest=manifest).scope) == ["one"]

    def test_a_missing_manifest_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"The manifest .*no.pth' cannot be read.*a project folder on each line"):
            list(CorpusSource.from_packages(manifest=tmp_path / "no.pth").scope)

    def test_repos_are_folders_patterns_of_them_or_a_function(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("code/one", "code/two", "code/.hidden", "else/three"):
            write(tmp_path / name / "README.md", f"# {name}")
        write(tmp_path / "code/notes.txt", "no project")
        monkeypatch.setenv("HOME", str(tmp_path))
        source = CorpusSource.from_packages(repos=["~/code/*", tmp_path / "else/three", "~/gone/*"])
        assert list(source.scope) == ["one", "two", "three"]
        assert source.scope["one"]["owner"] == "ours"
        assert [(item.id, item.reason) for item in source.skipped()] == [("~/gone/*", "there is no such folder")]
        asked = CorpusSource.from_packages(repos=lambda: [tmp_path / "code/two"])
        assert list(asked.scope) == ["two"]
        write(tmp_path / "my_repos.py", f"def repos():\n    return [{str(tmp_path / 'code/one')!r}]\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert list(CorpusSource.from_packages(repos="my_repos:repos").scope) == ["one"]
        manifest = write(tmp_path / "m.pth", "else/three\n")
        assert list(CorpusSource.from_packages(manifest=manifest, repos=["~/code/one"]).scope) == ["three", "one"]
        with pytest.raises(InvalidInput, match="repos must be folders"):
            CorpusSource.from_packages(repos=3)  # type: ignore[arg-type]

    def test_packages_are_excluded_by_name_or_folder(self, tmp_path: Path) -> None:
        write(tmp_path / "new/one/pyproject.toml", '[project]\nname = "My_One"\n')
        write(tmp_path / "new/two/pyproject.toml", '[project]\nname = "two"\n')
        write(tmp_path / "old/three/pyproject.toml", "[project")  # not even read
        repos = [tmp_path / "new/*", tmp_path / "old/*"]
        source = CorpusSource.from_packages(repos=repos, exclude=["my.ON?", "*/old/*"])
        assert list(source.scope) == ["two"]
        assert source.skipped() == []
        assert "Hypothesis".lower() not in CorpusSource.from_packages(exclude="hypo*").scope
        with pytest.raises(InvalidInput, match="exclude must be patterns"):
            CorpusSource.from_packages(exclude=[3])  # type: ignore[list-item]

    def test_repos_and_exclude_can_be_registered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from ir.registry import register, source_for

        for name in ("one", "two"):
            write(tmp_path / "code" / name / "README.md", name)
        monkeypatch.chdir(tmp_path)
        entry = register("mine", "packages", repos=["code/*"], exclude=["two"])
        assert entry["params"] == {"repos": [str(tmp_path / "code/*")], "exclude": ["two"]}
        assert list(source_for("mine").scope) == ["one"]
        assert register("other", "packages", repos="my.tools:repos")["params"] == {"repos": "my.tools:repos"}
        with pytest.raises(InvalidInput, match="exclude"):
            register("folder", "files", root=".", exclude=["x"])

    def test_dependencies_are_named_as_the_package_index_names_them(self, tmp_path: Path) -> None:
        wanted = ["Foo.Bar_baz[fast]>=1; python_version > '3'", "foo-bar-baz", "x @ https://host/x.whl"]
        write(tmp_path / "p/pyproject.toml", f'[project]\nname = "p"\ndependencies = {json.dumps(wanted)}\n')
        assert CorpusSource.from_packages(repos=[tmp_path / "p"]).scope["p"]["deps"] == ["foo-bar-baz", "x"]


class TestTools:
    tool: dict[str, Any] = {  # noqa: RUF012
        "name": "read_file",
        "description": "Reads a file.",
        "inputSchema": {"properties": {"path": {"description": "Where it is."}, "limit": {"type": "integer"}}},
    }

    @pytest.mark.parametrize(
        "tools",
        [
            [tool],
            {"tools": [tool]},
            {"result": {"tools": [tool]}},
            SimpleNamespace(tools=[SimpleNamespace(**tool)]),
            lambda: [TestTools.tool],
        ],
        ids=["list", "answer", "rpc", "objects", "function"],
    )
    def test_tools_in_any_form(self, tools: Any) -> None:
        source = CorpusSource.from_mcp_tools(tools)
        plan = source.indexing_strategy.decompose("read_file", source.scope["read_file"])
        assert plan.surfaces[0].text == "read_file: Reads a file.\npath: Where it is.\nlimit"
        assert plan.filter_fields == {"name": "read_file", "params": ["path", "limit"], "title": "read_file"}

    def test_a_file_of_tools(self, tmp_path: Path) -> None:
        file = write(tmp_path / "tools.json", json.dumps({"tools": [self.tool]}))
        assert list(CorpusSource.from_mcp_tools(file).scope) == ["read_file"]
        write(file, "{")
        with pytest.raises(SourceError, match="is not JSON"):
            list(CorpusSource.from_mcp_tools(file).scope)

    @pytest.mark.parametrize(
        "tools", [[{"description": "x"}], {"tool": 1}, {"result": None}, {"result": "busy"}, 3, [tool, tool]]
    )
    def test_bad_tools_are_refused(self, tools: Any) -> None:
        with pytest.raises(SourceError):
            list(CorpusSource.from_mcp_tools(tools).scope)

    def test_tools_that_can_be_gone_through_once_are_still_there_at_the_next_build(self) -> None:
        scope = CorpusSource.from_mcp_tools(iter([self.tool])).scope
        assert list(scope) == list(scope) == ["read_file"]

    def test_a_function_that_fails_is_refused(self) -> None:
        def unreachable() -> Iterator[dict[str, Any]]:
            yield TestTools.tool
            raise RuntimeError("no route")

        with pytest.raises(SourceError, match="The fetcher failed with RuntimeError: no route"):
            list(CorpusSource.from_mcp_tools(unreachable).scope)


class TestSessions:
    def lines(self) -> list[Any]:
        def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
            return {"type": role, "message": {"role": role, "content": content}, "cwd": "/home/me/proj", **more}

        return [
            {"type": "summary", "summary": "x"},
            said("user", "How do I deploy?", timestamp="2024-01-01T00:00:00Z"),
            said("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Run make."}]),
            said("user", [{"type": "tool_result", "content": "ok"}]),
            said("assistant", [{"type": "tool_use", "name": "x"}, {"type": "text", "text": "Done."}]),
            said("user", "caveat", isMeta=True),
            said("assistant", "side", isSidechain=True),
            said("user", "And undo?"),
        ]

    def test_questions_with_their_answers(self, tmp_path: Path) -> None:
        file = write(tmp_path / "-home-me-proj/s1.jsonl", "\n".join(map(json.dumps, self.lines())) + "\n{broken\n")
        source = CorpusSource.from_claude_sessions(tmp_path)
        assert list(source.scope) == ["-home-me-proj/s1.jsonl#1", "-home-me-proj/s1.jsonl#2"]
        assert source.scope["-home-me-proj/s1.jsonl#1"] == {
            "text": "How do I deploy?\n\nRun make.\n\nDone.",
            "title": "How do I deploy?",
            "session": "-home-me-proj/s1.jsonl",
            "turn": 1,
            "timestamp": "2024-01-01T00:00:00Z",
            "project": "proj",
            "path": str(file),
        }
        (problem,) = source.skipped()
        assert problem.id == "-home-me-proj/s1.jsonl:9"
        assert isinstance(source.indexing_strategy, TurnPair)

    def test_plain_roles_in_one_file(self, tmp_path: Path) -> None:
        turns = [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a"},
        ]
        file = write(tmp_path / "chat.jsonl", "\n".join(map(json.dumps, turns)))
        scope = CorpusSource.from_sessions(file).scope
        assert {key: raw["text"] for key, raw in scope.items()} == {"chat.jsonl#1": "q\n\na"}

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="There are no chat sessions at"):
            list(CorpusSource.from_claude_sessions(tmp_path / "none").scope)

    def chats(self, root: Path) -> None:
        def asked(text: str, cwd: str, timestamp: Any = None) -> str:
            line = {"role": "user", "content": text, "cwd": cwd}
            answer = {"role": "assistant", "content": "ok"}
            return (
                json.dumps(line if timestamp is None else {**line, "timestamp": timestamp}) + "\n" + json.dumps(answer)
            )

        now = datetime.now(UTC)
        write(
            root / "-work-app/s.jsonl",
            "\n".join(
                [
                    asked("old", "/work/app", "2024-01-01T00:00:00Z"),
                    asked("in May", "/work/app", "2024-05-01T12:00:00.000Z"),
                    asked("yesterday", "/work/app", (now - timedelta(days=1)).timestamp() * 1000),
                ]
            ),
        )
        write(root / "-work-site/s.jsonl", asked("today", "/work/site", now.timestamp()))
        undated = write(root / "-home-notes/s.jsonl", asked("undated", "/home/notes"))
        os.utime(undated, (0, 1_714_000_000))  # April 2024

    @pytest.mark.parametrize(
        ("since", "titles"),
        [
            ("2024-04-01", ["undated", "in May", "yesterday", "today"]),
            ("2024-05-01T12:00:00Z", ["in May", "yesterday", "today"]),
            (date(2024, 5, 2), ["yesterday", "today"]),
            (datetime(2024, 5, 2, tzinfo=UTC), ["yesterday", "today"]),
            ("7d", ["yesterday", "today"]),
            (7, ["yesterday", "today"]),
            ("12h", ["today"]),
            (None, ["undated", "old", "in May", "yesterday", "today"]),
        ],
        ids=str,
    )
    def test_sessions_since_a_moment(self, since: Any, titles: list[str], tmp_path: Path) -> None:
        self.chats(tmp_path)
        scope = CorpusSource.from_claude_sessions(tmp_path, since=since).scope
        assert [raw["title"] for raw in scope.values()] == titles
        if since == "7d":
            assert list(scope) == ["-work-app/s.jsonl#3", "-work-site/s.jsonl#1"]  # turns keep their numbers

    @pytest.mark.parametrize(
        ("projects", "found"),
        [
            ("app", ["app"]),
            (["app", "n*s"], ["app", "notes"]),
            (["/work/*"], ["app", "site"]),
            (["-work-*"], ["app", "site"]),
            ([], []),
        ],
        ids=["name", "names", "path", "folder", "none"],
    )
    def test_sessions_of_some_projects(self, projects: Any, found: list[str], tmp_path: Path) -> None:
        self.chats(tmp_path)
        scope = CorpusSource.from_claude_sessions(tmp_path, projects=projects).scope
        assert sorted({raw["project"] for raw in scope.values()}) == found

    def test_a_project_without_sessions_is_told(self, tmp_path: Path) -> None:
        self.chats(tmp_path)
        source = CorpusSource.from_claude_sessions(tmp_path, projects=["ap"])
        assert list(source.scope) == []
        assert [item.reason for item in source.skipped()] == ["no session is of ['ap']; there are app, notes, site"]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"since": "soon"}, "'soon' is no date and no span of time.*7d"),
            ({"since": True}, "no date"),
            ({"since": 10**12}, "no date"),
            ({"projects": 3}, "projects must be names or folders"),
        ],
    )
    def test_wrong_limits_are_told_before_anything_is_read(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInput, match=message):
            CorpusSource.from_claude_sessions("nowhere", **given)

    def test_limits_can_be_registered(self, tmp_path: Path) -> None:
        from ir.registry import register, source_for

        self.chats(tmp_path)
        entry = register("talks", "sessions", root=tmp_path, since=date(2024, 4, 1), projects=["app"])
        assert entry["params"] == {"root": str(tmp_path), "since": "2024-04-01", "projects": ["app"]}
        assert len(source_for("talks").scope) == 2
