"""Whatever a user's settings look like, our entry comes and goes and everything else stays."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ir.clients import jsonc, toml

PATH = ("mcpServers", "ir")
ENTRY = {"command": "/bin/ir", "args": ["mcp"]}

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
KEYS = st.sampled_from(["mcpServers", "ir", "a", "b", "//", "/*", '"', "{", ",", "ключ"]) | WORDS
LEAVES = st.none() | st.booleans() | st.integers(-9, 9999) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
SERVERS = st.dictionaries(st.sampled_from(["other", "ir", "x y"]), VALUES, max_size=3)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4).flatmap(
    lambda document: st.just(document) | SERVERS.map(lambda servers: {**document, "mcpServers": servers})
)
#: What may stand between two tokens.
GAPS = st.sampled_from(
    ["", "", "", " ", "\n", "\n  ", "\r\n\t", " // c }\n", "/* , */", '\n  // "a": 1,\n  ', "/* [\n */ "]
)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A document as somebody may have written it: breaks, comments and trailing commas anywhere."""
    style = draw(st.sampled_from(["wild", "plain", "pretty", "tabs", "compact"]))
    if style == "plain":
        return json.dumps(value)
    if style == "compact":
        return json.dumps(value, separators=(",", ":"))
    if style in ("pretty", "tabs"):
        text = json.dumps(value, indent="\t" if style == "tabs" else draw(st.integers(1, 4)))
        return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n"]))
    bom = draw(st.sampled_from(["", "\ufeff"]))
    return bom + draw(GAPS) + _wild(draw, value) + draw(GAPS)


def _wild(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}{_wild(draw, item)}" for key, item in value.items()]
        return "{" + _joined(draw, parts) + "}"
    if isinstance(value, list):
        return "[" + _joined(draw, [_wild(draw, item) for item in value]) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _joined(draw: st.DrawFn, parts: list[str]) -> str:
    spaced = [draw(GAPS) + part + draw(GAPS) for part in parts]
    trailing = "," + draw(GAPS) if parts and draw(st.booleans()) else ""
    return ",".join(spaced) + trailing if parts else draw(GAPS)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, str]:
    document = draw(DOCUMENTS)
    return document, draw(written(document))


@given(pairs())
@settings(max_examples=400, deadline=None)
def test_the_text_says_what_was_written(pair: tuple[Any, str]) -> None:
    document, text = pair
    assert jsonc.parse(text) == document


@given(pairs())
@settings(max_examples=600, deadline=None)
def test_an_entry_is_added_and_nothing_else_is_changed(pair: tuple[Any, str]) -> None:
    document, text = pair
    servers = document.get("mcpServers")
    if servers is not None and not isinstance(servers, dict):
        return
    changed = jsonc.with_entry(text, PATH, ENTRY)
    assert jsonc.parse(changed) == {**document, "mcpServers": {**(servers or {}), "ir": ENTRY}}
    assert comments(changed) == comments(text) or (servers or {}).get("ir") is not None
    assert jsonc.with_entry(changed, PATH, ENTRY) == changed
    back = jsonc.without_entry(changed, PATH)
    left = {key: value for key, value in (servers or {}).items() if key != "ir"}
    found = jsonc.parse(back)
    assert found.get("mcpServers", {}) == left
    assert {**found, "mcpServers": 0} == {**document, "mcpServers": 0}
    if (document and "mcpServers" not in document) or (left and "ir" not in servers):
        assert back == text


def comments(text: str) -> list[str]:
    """The comments of a text; what is written does not depend on how strings are told from them."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [match[1] for match in found if match[1]]


TOML_VALUES = st.one_of(
    st.integers(-99, 99), st.booleans(), WORDS, st.lists(st.integers(0, 9), max_size=3), st.just({"a": [1, "]"]})
)
TOML_KEYS = st.sampled_from(["model", "a b", "x.y", "mcp", "[z]", "#", "ключ"])
LINE_ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Keys, then tables with comments and blank lines, some of them servers."""
    end = draw(LINE_ENDS)
    lines = _toml_keys(draw)
    names = draw(st.lists(st.sampled_from(["other", "mcp_servers.a", 'mcp_servers."b c"', "z.y"]), unique=True))
    for name in names:
        lines += draw(st.sampled_from([[], [""], ["# [mcp_servers.ir]"], ["", "# before", ""]]))
        lines += [f"[{name}]{draw(st.sampled_from(['', ' # after', '  ']))}", *_toml_keys(draw)]
    text = end.join(lines) + (draw(st.sampled_from(["", end, end * 2])) if lines else "")
    return draw(st.sampled_from(["", "\ufeff"])) + text


def _toml_keys(draw: st.DrawFn) -> list[str]:
    found = draw(st.dictionaries(TOML_KEYS, TOML_VALUES, max_size=3))
    comment = draw(st.sampled_from(["", " # c", " # [x]"]))
    return [f"{json.dumps(key, ensure_ascii=False)} = {toml.literal(value)}{comment}" for key, value in found.items()]


@given(toml_texts())
@settings(max_examples=400, deadline=None)
def test_a_table_comes_and_goes(text: str) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))
    changed = toml.with_table(text, ("mcp_servers", "ir"), ENTRY)
    after = toml.parse(changed)
    assert after["mcp_servers"].pop("ir") == ENTRY
    assert after == {**before, "mcp_servers": before.get("mcp_servers", {})}
    assert toml.with_table(changed, ("mcp_servers", "ir"), ENTRY) == changed
    assert toml.without_table(changed, ("mcp_servers", "ir")) == text
