"""The offer, made from the tools: ``python -m ir.serve.offered`` writes the file that :mod:`ir.serve.offer` reads."""

from __future__ import annotations

import json
from typing import Any

from ir.app.fields import fields_of
from ir.app.operation import Operation
from ir.app.schema import request_schema
from ir.serve.offer import FILE
from ir.serve.tools import TOOLS, Tool, instructions

__all__ = ["make_page", "write"]


def make_page() -> dict[str, Any]:
    """All that is offered; versions are filled in when it is read."""
    return {
        "server": {"name": "ir", "title": "ir: search in your corpora", "version": ""},
        "instructions": instructions(),
        "tools": [_offered(tool) for tool in TOOLS.values()],
        "templates": [
            {
                "uriTemplate": "ir://{corpus}/{id}#L{first}-L{last}",
                "name": "passage",
                "description": "Lines of an item of a corpus; without the fragment, all of it.",
                "mimeType": "text/plain",
            }
        ],
        "unrepeatable": [tool.name for tool in TOOLS.values() if not tool.repeatable],
    }


def write() -> None:
    FILE.write_text(json.dumps(make_page(), ensure_ascii=False, indent=1) + "\n", "utf-8")


def _offered(tool: Tool) -> dict[str, Any]:
    reads = tool.effect == "reads"
    hints = {"readOnlyHint": reads}
    if not reads:
        hints |= {"destructiveHint": False, "idempotentHint": tool.repeatable}
    told = {"name": tool.name, "description": tool.description, "inputSchema": _schema(tool)}
    return told | ({"outputSchema": tool.output()} if tool.output is not None else {}) | {"annotations": hints}


def _schema(tool: Tool) -> dict[str, Any]:
    """What the arguments may be, as short as it can be said: whoever reads the list of tools pays for each word.

    A most is not among it where more is brought down to it, since clients would refuse what the server takes.
    """
    known = fields_of(tool.arguments)
    whole = request_schema(Operation(tool.name, "", tool.arguments, tool.arguments, _never))
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    for name, told in whole["properties"].items():
        plain = _plain(told)
        if known[name].arg.clamp:
            plain.pop("maximum", None)
        if known[name].arg.doc:
            plain["description"] = known[name].arg.doc
        schema["properties"][name] = plain
    return schema | ({"required": whole["required"]} if whole.get("required") else {})


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in told.items() if name not in ("pattern", "maxLength", "maxItems")}
    if isinstance(kept.get("type"), list):
        kept["type"] = next(one for one in kept["type"] if one != "null")
    if "minimum" in kept and kept["minimum"] == kept.get("maximum"):
        return {"type": kept["type"], "const": kept["minimum"]}
    if "enum" in kept:
        kept["enum"] = [one for one in kept["enum"] if one is not None]
    if "anyOf" in kept:
        kept["anyOf"] = [_plain(one) for one in kept["anyOf"] if one != {"type": "null"}]
    if "items" in kept:
        kept["items"] = _plain(kept["items"])
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    if kept.get("default") in ([], {}, False, "."):  # what nobody would expect otherwise
        del kept["default"]
    if kept.get("minimum") == 1:  # nor that there is no page of 0 results
        del kept["minimum"]
    return kept


def _never(request: Any, ctx: Any) -> Any:
    raise NotImplementedError


if __name__ == "__main__":
    write()
