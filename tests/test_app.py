"""The operations: each is there once, described well enough for every edge to be derived from it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ir.app import Context, Value, find_operation, operations
from ir.app.building import BuildRequest
from ir.cli.main import COMMANDS
from ir.errors import InvalidInput

EXPECTED = {"build", "search", "ls", "info", "register", "rm", "export", "import", "watch", "doctor", "config"}


def test_the_operations_of_the_core_are_there() -> None:
    assert set(operations()) >= EXPECTED


def test_each_operation_has_a_command_and_each_command_an_operation() -> None:
    # One command may hold several operations: its subcommands.
    groups = {"store": {"copy", "migrate"}, "rm": {"rm", "prune"}, "ingest": {"ingest", "ingest-book"}}
    groups["graph"] = {"graph", "neighbours"}
    groups["eval"] = {"eval", "eval-book"}
    groups["token"] = {"token-create", "tokens", "token-revoke"}
    groups["workspace"] = {"workspace-create", "workspaces", "workspace-quota", "workspace-rm"}
    groups["vocab"] = {"vocab-build", "vocab-info", "vocab-lint", "vocab-eval", "ground"}
    # These are doors, through which operations are reached.
    doors = {"mcp", "daemon", "serve"}
    offered = {name for command in COMMANDS if command not in doors for name in groups.get(command, {command})}
    assert set(operations()) == offered


@pytest.mark.parametrize("name", sorted(operations()))
def test_an_operation_can_be_derived_from(name: str) -> None:
    found = operations()[name]
    assert found.name == name
    assert found.summary
    assert not found.summary.endswith(".")
    for shape in (found.request, found.response):
        assert issubclass(shape, Value)
        assert dataclasses.is_dataclass(shape)
        assert shape.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_requests_travel_as_json() -> None:
    request = BuildRequest("notes", prune=False)
    assert BuildRequest.from_dict(json.loads(json.dumps(request.to_dict()))) == request
    with pytest.raises(InvalidInput, match="tarjet"):
        BuildRequest.from_dict({"tarjet": "notes"})
    with pytest.raises(InvalidInput, match="target"):
        BuildRequest.from_dict({})


def test_an_unknown_operation_is_an_error_that_lists_them() -> None:
    with pytest.raises(InvalidInput, match="'search'"):
        find_operation("serch")


def test_an_operation_runs_without_any_edge() -> None:
    config = find_operation("config")
    response = config.run(config.request.from_dict({"action": "get", "key": "k"}), Context())
    assert response.to_dict()["settings"][0]["value"] == 10


def test_config_changes_are_seen_at_once_and_refused_when_wrong() -> None:
    config = find_operation("config")
    done = config.run(config.request.from_dict({"action": "set", "key": "k", "value": "7"}), Context())
    assert done.changed
    assert done.settings[0].value == 7
    assert done.settings[0].origin.endswith("config.toml")
    back = config.run(config.request.from_dict({"action": "unset", "key": "k"}), Context())
    assert back.settings[0].origin == "default"
    with pytest.raises(InvalidInput, match="KEY"):
        config.request.from_dict({"action": "get"})
    with pytest.raises(InvalidInput, match="VALUE"):
        config.request.from_dict({"action": "set", "key": "k"})
    with pytest.raises(InvalidInput, match="at least 1"):
        config.run(config.request.from_dict({"action": "set", "key": "k", "value": "0"}), Context())
