"""`ir mcp` on stdio: what every client sees first, and that nothing but the protocol is ever on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.serve.world import ENVELOPE, OWN, Client, daemons, text_of, wait_until

TOOLS = [
    *("search", "discover", "get", "grep", "similar", "symbol", "ontology_query", "ground", "ask", "status", "refresh")
]


def test_discover_and_the_tools_need_no_daemon() -> None:
    with Client(IR_DAEMON="off") as client:
        found = client.request("server/discover")["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["resultType"] == "complete"
        assert found["_meta"][f"{OWN}serverInfo"]["name"] == "ir"
        tools = client.request("tools/list")["result"]
        assert [tool["name"] for tool in tools["tools"]] == TOOLS
        assert tools["cacheScope"] == "private"
    assert daemons() == []


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_of_earlier_revisions(version: str, notes: Path) -> None:
    with Client(era=version, IR_DAEMON="off") as client:
        assert client.request("ping")["result"] == {}
        assert [tool["name"] for tool in client.request("tools/list")["result"]["tools"]] == TOOLS
        result = client.call("search", query="how hot is tea")
        assert "tea.md" in text_of(result)
        assert ("structuredContent" in result) == (version >= "2025-06-18")
        assert "resultType" not in result


def test_a_revision_that_nobody_knows_gets_the_latest_that_shakes_hands() -> None:
    with Client(era="1999-01-01", IR_DAEMON="off") as client:
        assert json.loads(client.lines[0])["result"]["protocolVersion"] == "2025-11-25"


def test_an_unknown_modern_revision_is_told_which_there_is_and_may_shake_hands_then() -> None:
    with Client(IR_DAEMON="off") as client:
        error = client.request("server/discover", _meta={f"{OWN}protocolVersion": "2027-01-01"})["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])
        begun = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        client.send({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": begun})
        assert client.answer("h")["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b"[]", -32600),
        (b"[" * 100_000, -32700),
        (b"5", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}', -32602),
    ],
)
def test_what_is_no_request_is_an_error_and_not_the_end(line: bytes, code: int) -> None:
    with Client(IR_DAEMON="off") as client:
        client.write(line)
        assert client.read()["error"]["code"] == code
        assert client.request("tools/list")["result"]["tools"]


def test_each_era_refuses_the_other_one() -> None:
    with Client(IR_DAEMON="off") as client:
        client.request("tools/list")
        client.send({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})
        assert client.answer("h")["error"]["code"] == -32022
        assert client.request("ping")["error"]["code"] == -32601
    with Client(era="2025-06-18", IR_DAEMON="off") as client:
        assert client.request("tools/list", _meta=ENVELOPE)["error"]["code"] == -32600


def test_batches_are_of_the_one_revision_that_has_them() -> None:
    asked = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in ("a", "b")]
    with Client(era="2025-03-26", IR_DAEMON="off") as client:
        client.send([*asked, {"jsonrpc": "2.0", "method": "notifications/whatever"}])
        assert [one["id"] for one in client.read()] == ["a", "b"]
    with Client(era="2025-06-18", IR_DAEMON="off") as client:
        client.send(asked)
        assert client.read()["error"]["code"] == -32600


def test_the_setting_chooses_the_tools(notes: Path) -> None:
    with Client(IR_DAEMON="off", IR_MCP_TOOLS="search, get") as client:
        assert [tool["name"] for tool in client.request("tools/list")["result"]["tools"]] == ["search", "get"]
        assert client.request("tools/call", name="grep", arguments={"pattern": "tea"})["error"]["code"] == -32602
    told = subprocess.run(
        [sys.executable, "-m", "ir", "mcp"],
        input=b"",
        capture_output=True,
        check=False,
        env={**_environ(), "IR_MCP_TOOLS": "serch"},
    )
    assert told.returncode == 2
    assert told.stdout == b""
    assert b"serch" in told.stderr


def test_without_a_daemon_one_process_does_it_all(notes: Path) -> None:
    with Client(IR_DAEMON="off") as client:
        assert "80 degrees" in text_of(client.call("search", query="how hot is tea"))
    assert daemons() == []


def test_where_no_daemon_can_start_the_front_works_alone(notes: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with Client(IR_RUNTIME_DIR=str(blocked / "runtime")) as client:
        assert "80 degrees" in text_of(client.call("search", query="how hot is tea"))


def test_only_the_protocol_is_on_stdout(notes: Path) -> None:
    """Whatever prints, in the process of the tools too, prints elsewhere."""
    printing = "import sys, ir.serve.calls as c; held = c.Calls.tool\n"
    printing += (
        "def tool(self, task):\n    print('noise'); sys.stdout.write('more'); import os; os.write(1, b'even this')\n"
    )
    printing += "    return held(self, task)\nc.Calls.tool = tool\nfrom ir.serve.front import main; sys.exit(main())"
    with Client(command=(sys.executable, "-c", printing), IR_DAEMON="off") as client:
        assert "80 degrees" in text_of(client.call("search", query="how hot is tea"))
        assert client.close() == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in client.lines)


def test_a_client_that_pipelines_and_leaves_gets_its_answers(notes: Path) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": ENVELOPE}},
        _called(2, "search", {"query": "tea"}),
        _called(3, "grep", {"pattern": "chain"}),
    ]
    data = b"".join(json.dumps(one).encode() + b"\n" for one in asked)
    done = subprocess.run([sys.executable, "-m", "ir", "mcp"], input=data, capture_output=True, check=True, timeout=60)
    answers = {one["id"]: one["result"] for one in map(json.loads, done.stdout.splitlines())}
    assert "tea.md" in text_of(answers[2])
    assert "bike.md" in text_of(answers[3])


def test_progress_is_told_to_those_who_gave_a_token(notes: Path) -> None:
    (notes / "new.md").write_text("# New\n\nSomething else.\n")
    with Client() as client:
        number = client.begin("tools/call", name="refresh", arguments={}, _meta={"progressToken": "t"})
        assert "result" in client.answer(number)
        told = [one["params"] for one in client.notifications if one["method"] == "notifications/progress"]
        assert all(one["progressToken"] == "t" for one in told)
        steps = [one["progress"] for one in told]
        assert steps == sorted(set(steps))


def test_a_cancelled_call_has_no_answer_and_ends(notes: Path) -> None:
    with Client() as client:
        client.call("status")
        number = client.begin("tools/call", name="search", arguments={"query": "tea"})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        assert client.call("status")
        client.close()
        answered = [one for one in map(json.loads, client.lines) if one.get("id") == number]
        assert len(answered) <= 1


def test_the_daemon_gets_warm_while_the_client_looks_at_the_tools(notes: Path) -> None:
    with Client() as client:
        client.request("server/discover")
        assert wait_until(daemons)


def test_the_front_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['ir', 'mcp']; from ir.cli import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "('typer', 'rich', 'numpy', 'faiss', 'pydantic', 'mcp', 'asyncio')), file=sys.stderr)"
    )
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(asked).encode() + b"\n", capture_output=True, check=True
    )
    assert json.loads(done.stdout)["result"]["tools"]
    assert done.stderr.decode().strip() == "[]"


def _called(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"_meta": ENVELOPE, "name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _environ() -> dict[str, str]:
    import os

    return dict(os.environ)
