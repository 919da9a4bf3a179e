"""What is offered before anything is asked: a file that is made from the tools, and stays short."""

from __future__ import annotations

import json

import pytest

from ir.app.documents import tokens_of
from ir.app.operation import find_operation
from ir.errors import InvalidInput
from ir.serve.offer import FILE, page
from ir.serve.offered import make_page
from ir.serve.tools import TOOLS


def test_the_file_is_what_the_tools_say() -> None:
    told = "It is out of date; make it again with: python -m ir.serve.offered"
    assert json.loads(FILE.read_text("utf-8")) == make_page(), told


def test_the_whole_list_stays_under_three_thousand_tokens() -> None:
    assert tokens_of(json.dumps({"tools": page()["tools"]}, separators=(",", ":"))) < 3000


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_an_operation_that_is_offered_to_agents(name: str) -> None:
    for one in TOOLS[name].operations or (name,):
        operation = find_operation(one)
        assert "mcp" in operation.doors
        assert operation.effect == TOOLS[name].effect


@pytest.mark.parametrize("tool", page()["tools"], ids=lambda tool: tool["name"])
def test_a_schema_refuses_what_it_does_not_know(tool: dict) -> None:  # type: ignore[type-arg]
    schema = tool["inputSchema"]
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert all("description" in one or one["type"] == "boolean" for one in schema["properties"].values())
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)


def test_a_setting_chooses() -> None:
    assert [tool["name"] for tool in page("get,search")["tools"]] == ["search", "get"]
    with pytest.raises(InvalidInput, match="serch"):
        page("serch")
