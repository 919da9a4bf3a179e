"""Tools of an MCP server: what each does and what it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ir.base import json_clean
from ir.errors import SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.records import fetched
from ir.sources.skipped import Skip

__all__ = ["load_tools"]

Tools = Iterable[Any] | Mapping[str, Any] | str | Path
_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters", "args_schema")
#: The attributes to read from an object that cannot be dumped.
_DEFINED = ("name", "title", "description", *_SCHEMA_KEYS, "outputSchema", "annotations", "server")


def load_tools(tools: Tools | Callable[[], Tools]) -> Loader:
    """A loader of tool definitions: mappings or objects with ``name``, ``description`` and an input schema.

    ``tools`` may also be a server's answer to ``tools/list``, the path of a JSON file with either, or a function.
    """
    # A second build would find a generator empty, and prune everything.
    given = list(tools) if isinstance(tools, Iterator) else tools

    def load(skip: Skip) -> Iterator[Placed]:
        found = fetched(lambda: _definitions(given())) if callable(given) else _definitions(given)
        for number, tool in enumerate(found, 1):
            name = _get(tool, "name")
            if not isinstance(name, str) or not name.strip():
                raise SourceError(f"Tool {number} has no name.", remedy="Each tool is a mapping or object with 'name'.")
            definition = _definition(tool)
            # Put among the fields that no strategy reads, so that a change of the schema alone counts as a change.
            yield Placed(name, {**_record(name, tool), "_definition": definition}, f"tool {number}", definition)

    return load


def _definitions(tools: Any) -> Iterable[Any]:
    if isinstance(tools, (str, Path)):
        path = Path(tools).expanduser()
        try:
            tools = json.loads(path.read_bytes())
        except OSError as error:
            raise SourceError(f"{str(path)!r} cannot be read: {error.strerror}.", remedy="Check the path.") from error
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{str(path)!r} is not JSON: {error}.") from error
    if isinstance(tools, Mapping) and not isinstance(tools.get("name"), str):
        answer = tools.get("result", tools)
        tools = answer.get("tools") if isinstance(answer, Mapping) else answer
    elif hasattr(tools, "tools"):
        tools = tools.tools
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise SourceError("A list of tools is expected.", remedy="Give the 'tools' of an MCP server's tools/list.")
    return tools


def _record(name: str, tool: Any) -> dict[str, Any]:
    described = _get(tool, "description")
    schema = next((found for key in _SCHEMA_KEYS if isinstance(found := _get(tool, key), Mapping)), {})
    properties = schema.get("properties")
    params = properties if isinstance(properties, Mapping) else {}
    lines = [described.strip()] if isinstance(described, str) and described.strip() else []
    lines += [_parameter(str(key), value) for key, value in params.items()]
    record: dict[str, Any] = {"name": name, "description": "\n".join(lines), "params": [str(key) for key in params]}
    title, server = _get(tool, "title"), _get(tool, "server")
    if isinstance(title, str) and title.strip():
        record["title"] = title.strip()
    if isinstance(server, str) and server:
        record["server"] = server
    return record


def _definition(tool: Any) -> dict[str, Any]:
    """All that is known of a tool: whoever chose it needs the schema to call it."""
    if isinstance(tool, Mapping):
        given: Mapping[str, Any] = tool
    elif callable(dump := getattr(tool, "model_dump", None)):
        given = dump(mode="json", by_alias=True, exclude_none=True)
    else:
        told = {key: getattr(tool, key, None) for key in _DEFINED}
        given = {key: value for key, value in told.items() if value is not None}
    clean: dict[str, Any] = json_clean(given)
    return clean


def _parameter(key: str, schema: Any) -> str:
    said = schema.get("description") if isinstance(schema, Mapping) else None
    return f"{key}: {said.strip()}" if isinstance(said, str) and said.strip() else key


def _get(tool: Any, key: str) -> Any:
    return tool.get(key) if isinstance(tool, Mapping) else getattr(tool, key, None)
