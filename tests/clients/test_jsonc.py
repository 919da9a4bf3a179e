"""Entries of JSON with comments, put in and taken out by editing the text."""

from __future__ import annotations

import pytest

from ir.clients.jsonc import Unreadable, parse, with_entry, without_entry

PATH = ("mcpServers", "ir")
ENTRY = {"command": "/bin/ir", "args": ["mcp"]}

#: Texts that installing and removing leave as they were, to the byte.
TEXTS = {
    "nothing in it": "{}",
    "one line": '{"theme": "dark"}',
    "no blanks": '{"theme":"dark","mcpServers":{"other":{"command":"x"}}}',
    "trailing commas": '{\n  "mcpServers": {\n    "other": {"command": "x"},\n  },\n}\n',
    "comments": '// mine\n{\n  "a": 1, // one\n  /* two\n  lines */\n  "b": [1,], // last\n  // off: "c"\n}\n// end\n',
    "comment behind the last": '{\n  "mcpServers": {\n    "other": {} // "quoted" }\n  }\n}',
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n',
    "four blanks": '{\n    "mcpServers": {\n        "other": {}\n    }\n}',
    "windows": '\ufeff{\r\n  "a": "b", // c\r\n  "d": {}\r\n}\r\n',
    "slashes in a string": '{\n  "url": "http://x/*y*/", // z\n  "regex": "\\\\\\"//"\n}',
    "same key twice": '{\n  "a": 1,\n  "a": 2\n}',
    "other brackets": '{\n  "a": [{"mcpServers": {"ir": 1}}]\n}',
    "far from ascii": '{\n  "größe": "\U0001f600 \\u2028"\n}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_an_entry_comes_and_goes_without_a_trace(text: str) -> None:
    before = parse(text)
    changed = with_entry(text, PATH, ENTRY)
    after = parse(changed)
    assert after["mcpServers"].pop("ir") == ENTRY
    assert after == {**before, "mcpServers": before.get("mcpServers", {})}
    assert with_entry(changed, PATH, ENTRY) == changed
    assert without_entry(changed, PATH) == text


def test_what_is_added_looks_like_the_rest() -> None:
    assert with_entry('{\r\n\t"a": 1 // x\r\n}\r\n', ("b",), {"c": 2}) == (
        '{\r\n\t"a": 1, // x\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n'
    )


@pytest.mark.parametrize("text", ["", "  \n", "// only this\n", "\ufeff"])
def test_an_empty_file_gets_a_document(text: str) -> None:
    made = with_entry(text, PATH, ENTRY)
    assert made.startswith(text)
    assert parse(made) == {"mcpServers": {"ir": ENTRY}}
    assert parse(text) is None


def test_an_entry_is_replaced_where_it_stands() -> None:
    text = '{\n  "mcpServers": {\n    "ir": {"command": "old"}, // ours\n    "z": 1\n  }\n}'
    changed = with_entry(text, PATH, ENTRY)
    assert parse(changed)["mcpServers"] == {"ir": ENTRY, "z": 1}
    assert changed.index('"ir"') < changed.index("// ours") < changed.index('"z"')
    assert without_entry(changed, PATH) == '{\n  "mcpServers": { // ours\n    "z": 1\n  }\n}'


def test_comments_of_an_object_outlive_its_last_entry() -> None:
    text = '{\n  "mcpServers": {\n    // my servers\n    "ir": {}\n  }\n}'
    assert without_entry(text, PATH) == '{\n  "mcpServers": {\n    // my servers\n  }\n}'


def test_all_of_an_entry_that_stands_there_twice_goes() -> None:
    assert parse(without_entry('{"mcpServers": {"ir": 1, "a": 2, "ir": 3}}', PATH)) == {"mcpServers": {"a": 2}}


def test_null_makes_room() -> None:
    assert parse(with_entry('{"mcpServers": null}', PATH, 1)) == {"mcpServers": {"ir": 1}}


def test_nothing_to_remove_is_no_change() -> None:
    assert without_entry('{"a": 1, }', PATH) == '{"a": 1, }'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a" 1}',
        "{'a': 1}",
        "{a: 1}",
        "[1]",
        '"x"',
        '{"a": 1}}',
        "{,}",
        '{"a": 1,,}',
        "{/* }",
        '{"a": "b\n"}',
        "\x00",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        with_entry(text, PATH, ENTRY)


def test_a_key_that_holds_something_else_is_refused() -> None:
    with pytest.raises(Unreadable, match="mcpServers is not an object"):
        with_entry('{"mcpServers": ["ir"]}', PATH, ENTRY)


def test_an_error_says_its_line() -> None:
    with pytest.raises(Unreadable, match="line 4"):
        parse('{\n  // a comment\n  "a": 1,\n  "b" 2\n}')


def test_a_deep_one_is_refused_and_not_a_crash() -> None:
    with pytest.raises(Unreadable):
        with_entry('{"a":' * 100_000 + "1" + "}" * 100_000, PATH, ENTRY)


def test_a_large_one_is_edited() -> None:
    text = "{\n" + ",\n".join(f'  "key {number}": ["a", {{"b": {number}}}]' for number in range(3_000)) + " // end\n}\n"
    changed = with_entry(text, PATH, ENTRY)
    assert len(changed) < len(text) + 200
    assert without_entry(changed, PATH) == text
