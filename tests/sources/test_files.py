from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir
from ir.errors import InvalidInput, SourceError
from ir.sources import CorpusSource, FileScope
from ir.strategy import Chunked

Tree = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def make(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return make


@pytest.fixture(autouse=True)
def user_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has set nothing for git."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


def reasons(scope: FileScope) -> dict[str, str]:
    for key in scope:
        scope.get(key)
    return {item.id: item.reason for item in scope.skipped()}


def git(*arguments: str | Path) -> str:
    """What git says, whatever is set for it on this machine."""
    if not shutil.which("git"):
        pytest.skip("git is not installed, so nothing was compared with it")
    alone = {**os.environ, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=alone).stdout


def everything(root: Path, **options: object) -> FileScope:
    return FileScope(root, pattern=None, **options)  # type: ignore[arg-type]


def test_corpora_kept_below_the_folder_are_not_part_of_it(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.md": "A", "kept/corpora/notes/writer.lock": "process 1", "kept/own.md": "B", "corpora/c.md": "C"})
    (root.parent / "link").symlink_to(root)
    for way in (root, root.parent / "link"):
        monkeypatch.setenv("IR_DATA_DIR", str(way / "kept"))
        assert list(everything(root)) == ["a.md", "corpora/c.md", "kept/own.md"]
    monkeypatch.setenv("IR_DATA_DIR", str(root))
    assert "corpora/c.md" not in list(everything(root))
    assert list(everything(root / "corpora")) == ["c.md"]


def test_markdown_is_the_default_and_ids_are_relative_posix_paths(tree: Tree) -> None:
    root = tree({"b.md": "B", "sub/dir/a.md": "A", "c.txt": "C"})
    source = CorpusSource.from_files(root)
    assert list(source.scope) == ["b.md", "sub/dir/a.md"]
    assert source.name == root.name
    assert isinstance(source.indexing_strategy, Chunked)
    raw = source.scope["sub/dir/a.md"]
    assert raw["text"] == "A"
    assert raw["path"] == str(root / "sub/dir/a.md")
    assert raw["format"] == "markdown"


@pytest.mark.parametrize("options", [{"pattern": None}, {"all_text": True}, {"pattern": ".*"}])
def test_every_text_file_on_demand(tree: Tree, options: dict[str, object]) -> None:
    root = tree({"a.md": "A", "b.py": "B", "Makefile": "C", "x.png": b"\x89PNG", "y": b"a\0b"})
    source = CorpusSource.from_files(root, **options)  # type: ignore[arg-type]
    assert {key for key in source.scope if source.scope.get(key)} == {"a.md", "b.py", "Makefile"}
    assert {item.id: item.reason for item in source.skipped()} == {"x.png": "binary file (.png)", "y": "binary file"}


def test_pattern_and_exclude_narrow_the_choice(tree: Tree) -> None:
    root = tree({"docs/a.md": "", "docs/b.rst": "", "src/c.md": ""})
    assert list(FileScope(root, pattern=r"^docs/")) == ["docs/a.md", "docs/b.rst"]
    assert list(FileScope(root, exclude=lambda path: path.startswith("src/"))) == ["docs/a.md"]
    with pytest.raises(InvalidInput, match="not a regular expression"):
        FileScope(root, pattern="(")


def test_ignore_files_are_read_as_git_reads_them(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "*.log\nbuild/\n/only-top.md\n!keep.log\n",
            "a.log": "",
            "keep.log": "",
            "build/x.md": "",
            "only-top.md": "",
            "sub/only-top.md": "",
            "sub/.gitignore": "secret.md\n!b.log\n",
            "sub/secret.md": "",
            "sub/b.log": "",
            "secret.md": "",
            "docs/.ignore": "draft*\n",
            "docs/draft.md": "",
            "docs/done.md": "",
            ".irignore": "vendor/\n",
            "vendor/v.md": "",
            "node_modules/m.md": "",
            "env/pyvenv.cfg": "",
            "env/lib.md": "",
        }
    )
    assert set(everything(root)) == {
        "keep.log",
        "sub/only-top.md",
        "sub/b.log",
        "secret.md",
        "docs/done.md",
    }


def test_the_choice_is_that_of_git(tree: Tree) -> None:
    patterns = "*.md\n!docs/\n!keep/*.md\nfoo/*\n!foo/bar/\n/x/**/z.txt\na\\ b.txt\n[ab].c\n\n# note\n!/lead.md\n"
    names = """top.md lead.md docs/a.md keep/b.md keep/sub/c.md foo/1.txt foo/bar/2.txt x/z.txt x/y/z.txt q/x/y/z.txt
    a.c c.c
    sub/b.c sub/lead.md"""
    root = tree({".gitignore": patterns, "a b.txt": "", **dict.fromkeys(names.split(), "")})
    git("init", "-q", root)
    listed = git("-C", root, "ls-files", "-z", "--others", "--exclude-standard")
    assert set(everything(root)) == set(listed.strip("\0").split("\0")) - {".gitignore"}


def test_many_stars_are_honoured(tree: Tree) -> None:
    names = ["2024-01-02-x.md", "1-2-3.md", "a/1-2-3-4.md", "a/b/c/d/e.txt", "a/b/c/e.txt"]
    root = tree({".gitignore": "*-*-*-*.md\n**/a/**/b/**/c/**/d/**/e*t*x*t\n", **dict.fromkeys(names, "")})
    assert set(everything(root)) == {"1-2-3.md", "a/b/c/e.txt"}


def test_the_excludes_of_a_repository_are_the_weakest_rules(tree: Tree) -> None:
    files = {".gitignore": "!kept.md\n", "kept.md": "", "mine.md": "", "sub/mine.md": "", "other.md": ""}
    root = tree({".git/HEAD": "", ".git/info/exclude": "mine.md\nkept.md\n", **files})
    assert set(everything(root)) == {"kept.md", "other.md"}
    assert set(everything(root / "sub")) == set()


NAMED = {
    "default": {".config/git/ignore": "*.mine\n"},
    "named": {".gitconfig": "[user]\nname = x\n[core]\n\teditor = vi\n\texcludesFile = ~/rules\n", "rules": "*.mine"},
    "quoted": {".gitconfig": '[Core] excludesfile = "~/my # rules" ; these\n', "my # rules": "*.mine"},
    "later wins": {
        ".gitconfig": "[core]\nexcludesfile=~/b",
        ".config/git/config": "[core]\nexcludesfile=~/a",
        "b": "*.mine",
    },
    "included": {
        ".gitconfig": "[include]\npath = more",
        "more": "[core]\nexcludesfile = ~/\\\nrules",
        "rules": "*.mine",
    },
}


@pytest.mark.parametrize("files", NAMED.values(), ids=NAMED)
def test_what_a_user_excludes_everywhere_is_weaker_still(tree: Tree, user_home: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (user_home / name).parent.mkdir(parents=True, exist_ok=True)
        (user_home / name).write_text(content)
    kept = {".git/info/exclude": "!kept.mine\n", ".gitignore": "!sub/*\n"}
    root = tree({**kept, **dict.fromkeys(["a.mine", "kept.mine", "sub/b.mine", "sub/deep/c.mine", "d.md"], "")})
    assert set(everything(root)) == {"kept.mine", "sub/b.mine", "d.md"}
    assert set(everything(root / "sub")) == {"b.mine"}
    git("init", "-q", root)
    listed = git("-C", root, "ls-files", "-z", "--others", "--exclude-standard")
    assert set(everything(root)) == set(listed.strip("\0").split("\0")) - {".gitignore"}


def test_what_a_user_excludes_holds_in_repositories_only(tree: Tree, user_home: Path) -> None:
    (user_home / ".config/git").mkdir(parents=True)
    (user_home / ".config/git/ignore").write_text("*.mine\n")
    assert list(everything(tree({"a.mine": ""}))) == ["a.mine"]


@pytest.mark.parametrize("named", ["", "~/missing", "~nobody-here/x", "~", "/dev/zero", "a\0b", '"', "\\"])
def test_a_broken_name_of_what_a_user_excludes_excludes_nothing(tree: Tree, user_home: Path, named: str) -> None:
    (user_home / ".gitconfig").write_bytes(b"\xff[core\n[core]\nexcludesfile = " + named.encode())
    (user_home / ".config/git").mkdir(parents=True)
    (user_home / ".config/git/ignore").write_text("a.md\n")
    assert list(everything(tree({".git/HEAD": "", "a.md": ""}))) == ["a.md"]


def test_settings_of_git_that_include_themselves_end(tree: Tree, user_home: Path) -> None:
    (user_home / ".gitconfig").write_text("[include]\npath = .gitconfig\npath = ./.gitconfig\n" * 50)
    assert list(everything(tree({".git/HEAD": "", "a.md": ""}))) == ["a.md"]


def test_a_work_tree_shares_the_excludes_of_its_repository(tree: Tree, tmp_path: Path) -> None:
    git("init", "-q", tmp_path / "main")
    git("-C", tmp_path / "main", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x", "--allow-empty")
    git("-C", tmp_path / "main", "worktree", "add", "-q", tmp_path / "tree")
    (tmp_path / "main/.git/info/exclude").write_text("mine.md\n")
    for name in ("mine.md", "ours.md"):
        (tmp_path / "tree" / name).write_text("")
    assert list(everything(tmp_path / "tree")) == ["ours.md"]


PIECES = st.sampled_from(
    [*"aabb-.?", "*", "*", "[ab]", "[!a]", "[a-]", "[]a]", "[[:alpha:]]", "[b-a]", "\\a", "\\*", "["]
)
SEGMENTS = st.one_of(
    st.just("**"),
    # Stars that are glued to something else are one star by git's manual, and not always by git.
    st.lists(PIECES, min_size=1, max_size=5).map(lambda pieces: re.sub(r"\*+", "*", "".join(pieces))),
)
LINES = st.builds(
    lambda bang, slash, segments, end: f"{bang}{slash}{'/'.join(segments)}{end}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=4),
    st.sampled_from(["", "", "/", " ", "\\ ", "\r"]),
)


@pytest.mark.slow
def test_any_rules_choose_as_git_does(tmp_path: Path) -> None:
    git("init", "-q", tmp_path)
    names = ["a", "b", "-", ".a", "ab", "a-b", "a.b", "bb", "aab", "*", "a ", "]", "a-b-a-b"]
    for top, deep in itertools.product(names, names):
        folder = tmp_path / top / "a" if deep.startswith("a") else tmp_path / top
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{deep}x").write_text("")
        if not (folder / deep).is_dir():
            (folder / deep).write_text("")

    @settings(max_examples=120, deadline=None)
    @given(st.lists(LINES, min_size=1, max_size=5), st.lists(LINES, max_size=2), st.lists(LINES, max_size=2))
    def check(top: list[str], inner: list[str], excludes: list[str]) -> None:
        for name, lines in ((".gitignore", top), ("a/.gitignore", inner), (".git/info/exclude", excludes)):
            (tmp_path / name).write_text("\n".join(lines))
        listed = git("-C", tmp_path, "ls-files", "-z", "--others", "--exclude-standard")
        assert set(everything(tmp_path, hidden=True)) == set(listed.strip("\0").split("\0")) - {""}

    check()


def test_a_hostile_pattern_does_not_hold_up_a_walk(tree: Tree) -> None:
    lines = ["*a" * 30 + "b", "**/a/" * 20 + "b", "**/*a*a*a/" * 20 + "b", "a*" * 100 + "[!a]", "x.md"]
    root = tree({".gitignore": "\n".join(lines), "a" * 250: "", "a/" * 60 + "c": "", "x.md": ""})
    began = time.perf_counter()
    assert set(everything(root)) == {"a" * 250, "a/" * 60 + "c"}
    assert time.perf_counter() - began < 5


def test_rules_of_the_repository_above_hold_unless_they_ignore_the_root(tree: Tree) -> None:
    root = tree({".git/HEAD": "", ".gitignore": "*.tmp\nout/\n", "docs/a.md": "", "docs/b.tmp": "", "out/c.md": ""})
    assert list(everything(root / "docs")) == ["a.md"]
    assert list(everything(root / "out")) == ["c.md"]


def test_hidden_files_are_left_out_unless_asked_for(tree: Tree) -> None:
    root = tree({".notes/a.md": "", ".b.md": "", "c.md": "", ".git/d.md": ""})
    assert list(FileScope(root)) == ["c.md"]
    assert set(FileScope(root, hidden=True)) == {".notes/a.md", ".b.md", "c.md"}


def test_links_never_leave_the_root_and_cycles_end(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("secret")
    root = tree({"real/a.md": "A"})
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "outdir").symlink_to(outside)
    (root / "real/loop").symlink_to(root)
    (root / "inside.md").symlink_to(root / "real/a.md")
    (root / "self.md").symlink_to(root / "self.md")
    (root / "dead.md").symlink_to(root / "gone.md")
    scope = FileScope(root)
    assert list(scope) == ["inside.md", "real/a.md"]
    assert scope["inside.md"]["text"] == "A"
    said = reasons(scope)
    assert said["out.md"] == said["outdir/"] == "link leads out of the folder"
    assert said["dead.md"] == "link leads nowhere"
    assert "self.md" in said


def test_a_file_swapped_for_a_link_after_the_walk_is_not_followed(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    root = tree({"a.md": "A"})
    scope = FileScope(root)
    assert list(scope) == ["a.md"]
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(outside)
    with pytest.raises(KeyError):
        scope["a.md"]
    assert scope.skipped()[0].reason == "link leads out of the folder"


@pytest.mark.parametrize("key", ["../a.md", "/etc/passwd", "sub/../../a.md", ""])
def test_ids_that_point_elsewhere_are_no_keys(tree: Tree, key: str) -> None:
    root = tree({"root/b.md": "", "a.md": ""})
    with pytest.raises(KeyError):
        FileScope(root / "root")[key]


def test_encodings(tree: Tree) -> None:
    root = tree(
        {
            "utf8.md": "café",
            "bom.md": b"\xef\xbb\xbfcaf\xc3\xa9",
            "utf16.md": "café".encode("utf-16"),
            "utf32.md": "café".encode("utf-32"),
            "latin.md": "café".encode("latin-1"),
            "broken16.md": b"\xff\xfea",
        }
    )
    scope = FileScope(root)
    assert {key: raw["text"] for key in scope if (raw := scope.get(key))} == dict.fromkeys(
        ["utf8.md", "bom.md", "utf16.md", "utf32.md", "latin.md"], "café"
    )
    assert reasons(scope) == {"broken16.md": "not UTF-16 text (byte 2); convert it to UTF-8"}
    assert scope.remarks() == [("latin.md", "read as Windows-1252")]


def test_huge_and_odd_files_are_reported(tree: Tree) -> None:
    root = tree({"big.md": "x" * 101, "ok.md": "x" * 100})
    os.mkfifo(root / "pipe.md")
    scope = FileScope(root, max_bytes=100)
    assert list(scope) == ["ok.md"]
    assert reasons(scope) == {"big.md": "larger than 100 bytes (101)", "pipe.md": "not a regular file"}


def test_what_permissions_forbid_is_reported() -> None:
    # Not in tmp_path: its parents are shut to the user that the superuser becomes here.
    with tempfile.TemporaryDirectory() as folder:
        _check_what_permissions_forbid(Path(folder))


def _check_what_permissions_forbid(root: Path) -> None:
    for name, text in {"a.md": "A", "shut.md": "B", "closed/c.md": "C"}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    code = (
        "import os, sys\n"
        "from ir.sources import FileScope\n"
        "root = sys.argv[1]\n"
        # What is imported on use must be there before the rights to read it are given up.
        "warm = FileScope(root); [warm.get(k) for k in warm]\n"
        "os.geteuid() == 0 and os.seteuid(65534)\n"
        "scope = FileScope(root)\n"
        "print([k for k in scope if scope.get(k)], [(s.id, s.reason) for s in scope.skipped()])\n"
    )
    root.chmod(0o755)
    (root / "shut.md").chmod(0)
    (root / "closed").chmod(0)
    try:
        done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    finally:
        (root / "closed").chmod(0o755)
    assert done.stdout.startswith("['a.md']")
    assert "('closed/', 'folder cannot be read: Permission denied')" in done.stdout
    assert "('shut.md', 'cannot be read: Permission denied')" in done.stdout


def test_a_file_that_vanishes_is_no_error(tree: Tree) -> None:
    root = tree({"a.md": "A", "b.md": "B"})
    scope = FileScope(root)
    keys = list(scope)
    (root / "a.md").unlink()
    assert [scope.get(key) is not None for key in keys] == [False, True]
    assert scope.skipped() == []
    assert list(scope) == ["b.md"]


def test_a_file_that_comes_is_found(tree: Tree) -> None:
    root = tree({"a.md": "A"})
    scope = FileScope(root)
    assert len(scope) == 1
    (root / "b.md").write_text("B")
    assert scope["b.md"]["text"] == "B"
    assert "b.md" in scope


def test_the_stat_signal_is_silent_about_young_files(tree: Tree) -> None:
    root = tree({"new.md": "A", "old.md": "B"})
    os.utime(root / "old.md", ns=(0, 1_600_000_000_000_000_000))
    scope = FileScope(root)
    assert list(scope) == ["new.md", "old.md"]
    assert scope.stat_signal("new.md") is None
    assert scope.stat_signal("old.md") == "1:1600000000000000000"
    assert scope.stat_signal("none.md") is None


def test_odd_file_names_are_kept_apart_and_storable(tree: Tree) -> None:
    root = tree({"line\nbreak.md": "A", "spáce .md": "B"})
    with open(os.fsencode(root) + b"/bad\xff.md", "w") as file:
        file.write("C")
    scope = FileScope(root)
    assert {key: scope[key]["text"] for key in scope} == {"line\nbreak.md": "A", "spáce .md": "B", "bad\\xff.md": "C"}
    for key in scope:
        (key + scope[key]["path"]).encode()


@pytest.mark.slow
def test_deep_and_wide_folders(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(200):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("A")
    for number in range(2000):
        (tmp_path / f"{number:04}.md").write_text("")
    scope = FileScope(tmp_path)
    assert len(list(scope)) == 2001
    assert scope["d/" * 200 + "a.md"]["text"] == "A"


def test_an_empty_folder_is_an_empty_corpus(tmp_path: Path) -> None:
    assert list(FileScope(tmp_path)) == []
    assert FileScope(tmp_path).skipped() == []


def test_a_missing_root_is_an_error_and_never_an_empty_corpus(tree: Tree) -> None:
    root = tree({"sub/a.md": ""})
    with pytest.raises(SourceError, match=r"There is no file or folder .*nowhere.*Check the path"):
        CorpusSource.from_files(root / "nowhere")
    scope = FileScope(root / "sub")
    (root / "sub/a.md").unlink()
    (root / "sub").rmdir()
    with pytest.raises(SourceError):
        list(scope)


def test_a_root_that_is_a_file_is_just_that_file(tree: Tree) -> None:
    root = tree({"a.txt": "A", "b.md": "B"})
    source = CorpusSource.from_files(root / "a.txt")
    assert {key: raw["text"] for key, raw in source.scope.items()} == {"a.txt": "A"}


def test_chunks_of_a_file_cite_its_own_lines(tree: Tree) -> None:
    body = "# Title\n\n" + "\n".join(f"Line {n} of the text." for n in range(200))
    root = tree({"a.md": f"---\nauthor: me\n---\n\n{body}"})
    source = CorpusSource.from_files(root)
    plan = source.indexing_strategy.decompose("a.md", source.scope["a.md"])
    lines = (root / "a.md").read_text().splitlines()
    assert len(plan.surfaces) > 2
    for surface in plan.surfaces:
        cited = lines[surface.metadata["line_start"] - 1 : surface.metadata["line_end"]]
        assert surface.text in "\n".join(cited)
    assert plan.filter_fields["title"] == "Title"
    assert plan.filter_fields["author"] == "me"
    assert plan.filter_fields["path"] == str(root / "a.md")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"pattern": r"\.rst$"}, r"the pattern '\\.rst$' leaves nothing of 2 files in {root}"),
        ({"exclude": lambda path: True}, r"the pattern '.*\\.md$' and exclude leave nothing of 2 files in {root}"),
        ({"all_text": True, "exclude": lambda path: path != "x"}, "exclude leaves nothing of 2 files in {root}"),
    ],
)
def test_a_pattern_that_matches_nothing_is_told(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    (tmp_path / "a.md").write_text("tea")
    (tmp_path / "b.md").write_text("bread")
    source = CorpusSource.from_files(tmp_path, name="notes", embedder="light", **options)
    told = f"The corpus 'notes' is empty: {why.format(root=tmp_path)}."
    with pytest.warns(UserWarning, match="is empty") as caught:
        corpus = ir.build(source, store=ir.CorpusStore.memory())
    assert [str(warning.message) for warning in caught] == [told]
    assert corpus.report is not None
    assert corpus.report.notes == corpus.search("tea").meta["notes"] == [told]
    assert corpus.report.to_dict()["notes"] == [told]


def test_a_folder_without_files_builds_an_empty_corpus_without_a_warning(tmp_path: Path) -> None:
    source = CorpusSource.from_files(tmp_path, name="notes", embedder="light")
    report = ir.build(source, store=ir.CorpusStore.memory()).report
    assert report is not None
    assert report.notes == [
        f"The corpus 'notes' is empty: there is no text file in {tmp_path}, or all are hidden or ignored."
    ]


@pytest.mark.parametrize("key", [1, None, ("a", "b"), b"a"])
def test_keys_of_a_mapping_that_are_no_texts_are_refused(key: Any) -> None:
    with pytest.raises(InvalidInput, match=r"ids of its items, which are texts; .* is none\. Write them as texts"):
        CorpusSource.from_mapping({"fine": "tea", key: "bread"}, name="notes")
