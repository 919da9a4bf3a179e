"""What the user has set: precedence, origins, errors, and changing the user's file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.config import Settings, corpus_dir, safe_name, set_setting, unset_setting, user_file
from ir.config.keys import KEYS
from ir.errors import InvalidInput, StoreUnwritable


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "deep"
    folder.mkdir(parents=True)
    return folder


def write_user(text: str) -> Path:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, "utf-8")
    return user_file()


def test_flag_beats_environment_beats_project_beats_user(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def k(flags: dict[str, Any] | None = None) -> tuple[int, str]:
        seen = Settings.load(flags, cwd=project)
        return seen["k"], seen.origin("k")

    assert k() == (10, "default")
    user = write_user("k = 11\n")
    assert k() == (11, str(user))
    own = project.parent / "ir.toml"
    own.write_text("k = 12\n")
    assert k() == (12, str(own))
    monkeypatch.setenv("IR_K", "13")
    assert k() == (13, "environment IR_K")
    assert k({"k": 14, "mode": None}) == (14, "flag")


def test_pyproject_counts_only_with_a_tool_table(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (project.parent / "pyproject.toml").write_text("[tool.ir]\nmode = 'lexical'\nllm.model = 'm'\n")
    seen = Settings.load(cwd=project)
    assert (seen["mode"], seen["llm.model"]) == ("lexical", "m")


def test_explain_lists_every_key_with_its_origin(project: Path) -> None:
    user = write_user("[llm]\ntimeout_s = 5\n")
    rows = Settings.load(cwd=project).explain()
    assert [row.key for row in rows] == [key.name for key in KEYS]
    assert ("llm.timeout_s", 5.0, str(user)) in rows
    assert ("mode", "hybrid", "default") in rows


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mod = 'dense'", ["config.toml", "'mod'", "'mode'", "llm.base_url"]),
        ("mode = 'fast'", ["config.toml", "mode", "'dense', 'lexical', 'hybrid'", "'fast'"]),
        ("k = '7'", ["config.toml", "k must be a whole number of at least 1", "'7'"]),
        ("k = true", ["k must be a whole number"]),
        ("k = 0", ["at least 1"]),
        ("max_file_mb = nan", ["max_file_mb must be a number"]),
        ("embedder = ''", ["embedder must be text"]),
        ("[llm]\napi_key = 'secret-value'", ["never kept in files", "llm.api_key_env"]),
        ("k = ", ["config.toml is not valid TOML"]),
    ],
)
def test_bad_user_file_names_file_key_and_what_is_allowed(project: Path, text: str, parts: list[str]) -> None:
    write_user(text)
    with pytest.raises(InvalidInput) as caught:
        Settings.load(cwd=project)
    for part in parts:
        assert part in str(caught.value)
    assert "secret-value" not in str(caught.value)


def test_bad_environment_and_flag_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"Command line: k must be .* not 0"):
        Settings.load({"k": 0}, cwd=project)
    monkeypatch.setenv("IR_REFRESH", "maybe")
    with pytest.raises(InvalidInput, match="IR_REFRESH: refresh must be true or false, not 'maybe'"):
        Settings.load(cwd=project)


@pytest.mark.parametrize(("word", "value"), [("on", True), ("0", False), ("No", False), ("TRUE", True)])
def test_environment_switches(project: Path, monkeypatch: pytest.MonkeyPatch, word: str, value: bool) -> None:
    monkeypatch.setenv("IR_REFRESH", word)
    assert Settings.load(cwd=project)["refresh"] is value


def test_a_project_cannot_redirect_text_or_keys(project: Path) -> None:
    (project / "ir.toml").write_text("[llm]\nbase_url = 'https://elsewhere.example'\n")
    with pytest.raises(InvalidInput, match="cannot be set by a project"):
        Settings.load(cwd=project)


@pytest.mark.parametrize("spec", ["openai:text-embedding-3-small", "ollama:nomic", " openai:x", "OpenAI:x", "my-own:x"])
@pytest.mark.parametrize("file", ["ir.toml", "pyproject.toml"])
def test_a_project_cannot_choose_an_embedder_on_a_server(project: Path, spec: str, file: str) -> None:
    table = "[tool.ir]\n" if file == "pyproject.toml" else ""
    (project / file).write_text(f"{table}embedder = '{spec}'\n")
    with pytest.raises(InvalidInput, match=r"embedder cannot be set to .* by a project") as caught:
        Settings.load(cwd=project)
    assert "ir config set embedder" in str(caught.value)
    (project / file).unlink()
    write_user(f"embedder = '{spec}'\n")
    assert Settings.load(cwd=project)["embedder"] == spec


@pytest.mark.parametrize("spec", ["light", "minilm-int8", "org/model", "./models/mine", r"C:\models\mine"])
def test_a_project_may_choose_an_embedder_on_this_machine(project: Path, spec: str) -> None:
    (project / "ir.toml").write_text(f"embedder = '{spec}'\n")
    assert Settings.load(cwd=project)["embedder"] == spec


def test_no_setting_of_a_project_names_a_server() -> None:
    """A new setting that says where text goes must not be forgotten here."""
    for key in KEYS:
        if key.type is str and key.choices is None and key.project and not key.servers:
            assert key.name == "llm.model", f"may a stranger set {key.name}?"


def test_the_key_comes_from_the_named_variable(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    write_user("[llm]\napi_key_env = 'MY_KEY'\n")
    seen = Settings.load(cwd=project)
    assert seen.llm_api_key() == "s3cret"
    assert "s3cret" not in repr(seen.explain())


def test_set_keeps_comments_and_unset_takes_the_line_out(project: Path) -> None:
    text = "# mine\nk = 3  # few\n\n[llm]\n# the big one\nmodel = 'a'\n"
    write_user(text)
    set_setting("k", "4")
    set_setting("llm.timeout_s", 9)
    set_setting("mode", "dense")
    written = user_file().read_text()
    assert '# mine\nk = 4  # few\nmode = "dense"\n' in written
    assert "# the big one\nmodel = 'a'\ntimeout_s = 9.0\n" in written
    assert unset_setting("mode")
    assert unset_setting("llm.timeout_s")
    assert not unset_setting("llm.timeout_s")
    assert user_file().read_text() == text.replace("k = 3", "k = 4")
    assert Settings.load(cwd=project)["k"] == 4


def test_set_works_with_dotted_keys_and_an_empty_file() -> None:
    set_setting("llm.model", "x")
    assert tomllib.loads(user_file().read_text()) == {"llm": {"model": "x"}}
    write_user("llm.model = 'x'\n[other]\n")
    with pytest.raises(InvalidInput, match="unknown setting"):
        set_setting("other", "1")
    write_user("llm.model = 'x'\n")
    set_setting("llm.timeout_s", "2.5")
    assert tomllib.loads(user_file().read_text()) == {"llm": {"model": "x", "timeout_s": 2.5}}


@pytest.mark.parametrize(
    ("name", "value"), [("k", "many"), ("k", 1.5), ("mode", "fast"), ("kk", "1"), ("llm.api_key", "x")]
)
def test_a_refused_setting_changes_nothing(name: str, value: Any) -> None:
    write_user("k = 3\n")
    with pytest.raises(InvalidInput):
        set_setting(name, value)
    assert user_file().read_text() == "k = 3\n"


def test_a_broken_file_is_never_overwritten() -> None:
    write_user("k = = 3\n")
    with pytest.raises(InvalidInput, match="not valid TOML"):
        set_setting("k", 4)
    assert user_file().read_text() == "k = = 3\n"


def test_an_unwritable_folder_is_said(ir_home: Path) -> None:
    (ir_home / "config").write_text("a file where the folder should be")
    with pytest.raises(StoreUnwritable, match="Cannot write"):
        set_setting("k", 4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["embedder", "llm.model", "llm.api_key_env", "language"]), st.text(min_size=1)))
def test_any_text_survives_the_file_or_is_refused(ir_home: Path, values: dict[str, str]) -> None:
    user_file().unlink(missing_ok=True)
    kept = {}
    for name, value in values.items():
        try:
            kept[name] = set_setting(name, value).value
        except InvalidInput:
            continue
    seen = Settings.load(cwd=ir_home)
    assert {name: seen[name] for name in kept} == kept


def test_names_become_folders_inside_the_data_directory(ir_home: Path) -> None:
    for name in ("notes", "../../etc", "a/b", "", ".", "ü" * 300):
        assert corpus_dir(name).parent == ir_home / "data" / "corpora"
        assert len(safe_name(name)) <= 120
