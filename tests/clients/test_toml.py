"""Tables of TOML, put in and taken out by editing the text."""

from __future__ import annotations

import tomllib

import pytest

from ir.clients.jsonc import Unreadable
from ir.clients.toml import literal, parse, with_table, without_table

PATH = ("mcp_servers", "ir")
ENTRY = {"command": "/bin/ir", "args": ["mcp"]}

#: Texts that installing and removing leave as they were, to the byte.
TEXTS = {
    "nothing": "",
    "no line end": "model = 'o3'",
    "blank lines": "a = 1\n\n\n",
    "comments": '# mine\nmodel = "x" # c\n\n[mcp_servers.other] # keep\ncommand = "y"\n# the end\n',
    "windows": '\ufeffmodel = "x"\r\n\r\n[projects."/a b"]\r\ntrust_level = "trusted"\r\n',
    "a string that looks like it": 'x = """\n[mcp_servers.ir]\ncommand = "no"\n"""\n',
    "lists of tables": '[[hooks]]\na = [\n  "[x]", # y\n]\n[[hooks]]\nb = {c = 1}\n',
    "dotted": 'mcp_servers.other.command = "x"\n',
    "quoted": '["mcp_servers"."other"]\n\'command\' = "x"\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_table_comes_and_goes_without_a_trace(text: str) -> None:
    before = parse(text)
    changed = with_table(text, PATH, ENTRY)
    after = parse(changed)
    assert after["mcp_servers"].pop("ir") == ENTRY
    assert after == {**before, "mcp_servers": before.get("mcp_servers", {})}
    assert with_table(changed, PATH, ENTRY) == changed
    assert without_table(changed, PATH) == text


def test_values_are_replaced_where_they_stand_and_others_stay() -> None:
    text = (
        "[mcp_servers.ir] # mine\n"
        'command = "old" # keep\n'
        'args = [\n  "a", # gone\n]\n'
        "startup_timeout_sec = 20\n\n"
        '[mcp_servers.ir.env]\nA = "b"\n\n'
        "# the next\n[other]\nx = 1\n"
    )
    assert with_table(text, PATH, ENTRY) == (
        "[mcp_servers.ir] # mine\n"
        'command = "/bin/ir" # keep\n'
        'args = ["mcp"]\n'
        "startup_timeout_sec = 20\n\n"
        '[mcp_servers.ir.env]\nA = "b"\n\n'
        "# the next\n[other]\nx = 1\n"
    )
    assert without_table(text, PATH) == "\n# the next\n[other]\nx = 1\n"


INLINE = '[mcp_servers]\nir = {command = "a"} # mine\nz = {command = "z"}\n'
DOTTED = 'mcp_servers.ir.command = "x"\nmcp_servers.z.command = "z"\n'


def test_a_table_in_one_line_stays_in_one_line() -> None:
    changed = with_table(INLINE, PATH, ENTRY)
    assert changed.splitlines()[1] == 'ir = { command = "/bin/ir", args = ["mcp"] } # mine'


def test_a_table_of_dotted_keys_is_left_to_its_author() -> None:
    with pytest.raises(Unreadable, match="cannot be changed"):
        with_table(DOTTED, PATH, ENTRY)


@pytest.mark.parametrize("text", [INLINE, DOTTED])
def test_a_table_is_removed_however_it_is_written(text: str) -> None:
    assert parse(without_table(text, PATH)) == {"mcp_servers": {"z": {"command": "z"}}}


def test_a_table_without_its_keys_is_filled() -> None:
    changed = with_table("[mcp_servers.ir]\nenabled = false\n[z]", PATH, ENTRY)
    assert parse(changed) == {"mcp_servers": {"ir": {**ENTRY, "enabled": False}}, "z": {}}


@pytest.mark.parametrize("text", ["a = ", "[x", "mcp_servers = {z = {command = 'z'}}\n", "mcp_servers = 3\n"])
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        with_table(text, PATH, ENTRY)


@pytest.mark.parametrize(
    "value", ["C:\\ir\\ir.exe", 'quo"te', "line\nbreak", "ünï \U0001f600", "\x7f\x01", ["a", "b"], {"a b": "c"}, True]
)
def test_literals_are_read_back(value: object) -> None:
    assert tomllib.loads(f"x = {literal(value)}") == {"x": value}
