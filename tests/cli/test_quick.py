"""Plain arguments are read as Typer reads them; the rest is left to Typer."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.cli.main import COMMANDS, make_app
from ir.cli.quick import read_arguments

APP = make_app()
FUNCTIONS = {info.name: info.callback for info in APP.registered_commands}


def by_typer(command: str, words: list[str]) -> dict[str, Any] | None:
    """What Typer makes of the words; ``None`` if it refuses them or answers by itself."""
    group = typer.main.get_command(APP)
    found = group.commands[command]  # type: ignore[attr-defined]
    try:
        return dict(found.make_context(command, list(words)).params)
    except Exception:
        return None


def by_us(command: str, words: list[str]) -> dict[str, Any] | None:
    function = FUNCTIONS[command]
    assert function is not None
    given = read_arguments(function, words)
    if given is None:
        return None
    defaults = {name: item.default for name, item in signature(function).parameters.items()}
    return {**defaults, **given}


def plain(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Typer gives an empty list for an option that was not given; the commands take both."""
    if values is None:
        return None
    return {name: None if value in ([], ()) else value for name, value in values.items()}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("search", ["docs", "query"]),
        ("search", ["query"]),
        ("search", ["docs", "a query", "-k", "3", "--mode", "lexical", "--json"]),
        ("search", ["--where", "a=1", "docs", "q", "-w", "b=2", "--explain", "--no-refresh"]),
        ("search", ["docs", "q", "--k=7", "--filter={}", "--surface", "chunk", "--refresh"]),
        ("build", ["docs", "--dry-run", "--keep"]),
        ("watch", ["docs", "--rounds", "2"]),
        ("ls", []),
        ("ls", ["--json"]),
        ("register", ["name", "path", "-p", "a=1", "--param", "b=2", "--kind", "skills"]),
        ("config", []),
        ("config", ["set", "k", "5"]),
        ("rm", ["x", "-y"]),
        ("import", ["file", "--name", "x", "-f"]),
    ],
)
def test_plain_words_are_read_like_typer_reads_them(command: str, words: list[str]) -> None:
    ours = plain(by_us(command, words))
    assert ours is not None
    assert ours == plain(by_typer(command, words))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("search", []),
        ("search", ["--help"]),
        ("search", ["docs", "q", "-k"]),
        ("search", ["docs", "q", "-k3"]),
        ("search", ["--", "-q"]),
        ("search", ["docs", "q", "--json=yes"]),
        ("build", []),
        ("build", ["a", "b"]),
        ("ls", ["extra"]),
    ],
)
def test_what_is_not_plain_is_left_to_typer(command: str, words: list[str]) -> None:
    assert by_us(command, words) is None


WORDS = st.sampled_from(
    [
        "docs",
        "q",
        "-k",
        "3",
        "-1",
        "--json",
        "--explain",
        "-e",
        "--where",
        "a=1",
        "--mode",
        "dense",
        "--nope",
        "--",
        "-",
        "",
    ]
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=6))
def test_whatever_is_read_here_typer_reads_the_same(words: list[str]) -> None:
    ours = plain(by_us("search", words))
    if ours is not None:
        assert ours == plain(by_typer("search", words))


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_declared_with_plain_types(command: str) -> None:
    function = FUNCTIONS[command]
    required = [name for name, item in signature(function).parameters.items() if item.default is item.empty]
    assert read_arguments(function, ["x"] * len(required)) is not None


def test_a_plain_command_loads_no_validation_library() -> None:
    code = (
        "import sys; from ir.cli.main import run; run(['config', 'get', 'k']);"
        "assert not {'pydantic', 'numpy', 'rich'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0
