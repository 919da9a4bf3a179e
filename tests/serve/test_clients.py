"""The official client drives every tool, over stdio and over HTTP, in the words of every revision that it speaks."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.serve.world import daemons

mcp = pytest.importorskip("mcp")

TOKEN = "a-token-for-tests-only"
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "how hot is tea"},
    "discover": {"query": "how hot should the water for green tea be"},
    "get": {"items": "tea.md:1-3"},
    "grep": {"pattern": "degrees"},
    "similar": {"item": "tea.md"},
    "symbol": {"symbol": "brew"},
    "ontology_query": {"semanticQuery": "how hot is tea"},
    "ground": {"phrases": ["green tee"]},
    "ask": {"question": "how hot should the water for green tea be"},
    "status": {},
    "refresh": {},
}


@dataclass
class Served:
    """`ir mcp --http` that runs."""

    port: int
    process: subprocess.Popen[str]
    told: str

    def post(self, body: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent = {**plain, **{name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            connection.request("POST", "/mcp", body if isinstance(body, bytes) else json.dumps(body), sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


@pytest.fixture
def served(notes: Path) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ir", "mcp", "--http", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "IR_MCP_TOKEN": TOKEN},
    )
    assert process.stderr is not None
    assert process.stdout is not None
    told = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", told)
    assert found, told + process.stderr.read()
    yield Served(int(found[1]), process, told)
    process.terminate()
    process.wait(30)
    process.stdout.close()
    process.stderr.close()


@asynccontextmanager
async def over_stdio() -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=sys.executable, args=["-m", "ir", "mcp"], env=dict(os.environ))
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def over_http(served: Served) -> AsyncIterator[Any]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
        address = f"http://127.0.0.1:{served.port}/mcp"
        async with Client(streamable_http_client(address, http_client=http_client)) as client:
            yield client


async def drive(client: Any) -> None:
    """Every tool, the resources, and what is refused."""
    offered = [tool.name for tool in (await client.list_tools()).tools]
    assert offered == list(CALLS)
    for name, arguments in CALLS.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content[0].text
        assert result.structured_content
        assert result.content[0].text
    wrong = await client.call_tool("search", {"qeury": "tea"})
    assert wrong.is_error
    assert "'query'" in wrong.content[0].text
    resources = (await client.list_resources()).resources
    assert [str(one.uri) for one in resources] == ["ir://notes"]
    assert (await client.list_resource_templates()).resource_templates
    read = await client.read_resource("ir://notes/tea.md#L3-L3")
    assert read.contents[0].text == "Steep green tea at 80 degrees."
    with pytest.raises(Exception, match="leads out"):
        await client.read_resource("ir://notes/../../etc/passwd")


@pytest.fixture
def drinks(tmp_path: Path) -> None:
    """A vocabulary of two terms."""
    from ir import operations

    (tmp_path / "drinks.csv").write_text("name\ngreen_tea\nblack_coffee\n")
    operations.vocab_build(name="drinks", files=(str(tmp_path / "drinks.csv"),))


@pytest.mark.usefixtures("drinks")
def test_over_stdio(notes: Path) -> None:
    async def main() -> None:
        async with over_stdio() as client:
            await drive(client)

    asyncio.run(main())


@pytest.mark.usefixtures("drinks")
def test_over_http(served: Served) -> None:
    async def main() -> None:
        async with over_http(served) as client:
            await drive(client)
            await drive(client)  # nothing was left behind that the second time would stumble on

    asyncio.run(main())
    assert len(daemons()) == 1


def test_one_daemon_works_for_both(served: Served) -> None:
    async def main() -> None:
        async with over_http(served) as one, over_stdio() as two:
            await one.call_tool("status", {})
            await two.call_tool("status", {})

    asyncio.run(main())
    assert len(daemons()) == 1


def listing() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def test_without_the_token_there_is_nothing(served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        status, sent, body = served.post(listing(), **headers)
        assert status == 401
        assert "Bearer" in sent["www-authenticate"]
        assert b"tools" not in body
    status, _, _ = served.post(listing(), Authorization=f"Bearer {TOKEN}", MCP_Protocol_Version="2025-06-18")
    assert status == 200


def test_a_foreign_host_or_origin_is_refused(served: Served) -> None:
    right = {"Authorization": f"Bearer {TOKEN}", "MCP_Protocol_Version": "2025-06-18"}
    assert served.post(listing(), Host="evil.example", **right)[0] == 421
    assert served.post(listing(), Host=f"evil.example:{served.port}", **right)[0] == 421
    assert served.post(listing(), Origin="http://evil.example", **right)[0] == 403
    assert served.post(listing(), Origin=f"http://localhost:{served.port}", **right)[0] == 200


def test_a_body_that_is_too_large_or_no_json_is_refused(served: Served) -> None:
    right = {"Authorization": f"Bearer {TOKEN}"}
    assert served.post(b"garbage", **right)[0] == 400
    assert served.post(b"x" * (5 * 1024 * 1024), **right)[0] == 413


def test_the_token_is_made_once_kept_private_and_never_told(notes: Path, ir_home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ir", "mcp", "--http", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    process.terminate()
    process.wait(30)
    told += process.stderr.read()
    process.stderr.close()
    file = ir_home / "config" / "mcp-token"
    assert str(file) in told
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().strip()
    assert len(token) >= 32
    assert token not in told
    from ir.serve.token import the_token

    assert the_token() == token


def test_a_taken_port_is_said(served: Served) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ir", "mcp", "--http", "--port", str(served.port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_the_front_says_what_the_official_server_would(notes: Path) -> None:
    """The same messages, to the front and to the SDK's own server over the same tools: the same answers."""
    from tests.serve.world import ENVELOPE, Client

    page = "from ir.serve.offer import page; held = page()\n"
    served = (
        page + "from ir.serve.http import make_server; from ir.serve.alone import Alone; import anyio\n"
        "from mcp.server.stdio import stdio_server\nalone = Alone(); server = make_server(held, lambda: alone)\n"
        "async def main():\n    async with stdio_server() as (r, w):\n"
        "        await server.run(r, w, server.create_initialization_options())\nanyio.run(main)"
    )
    asked: list[tuple[str, dict[str, Any]]] = [
        ("server/discover", {}),
        ("tools/list", {}),
        ("resources/templates/list", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": "ir://notes/tea.md#L1-L3"}),
        ("resources/read", {}),
        ("tools/call", {"name": "get", "arguments": {"items": "tea.md"}}),
        ("tools/call", {"name": "get", "arguments": {"itmes": "tea.md"}}),
        ("tools/call", {"name": "gte", "arguments": {}}),
        ("tools/call", {}),
        ("tools/call", {"name": "get", "arguments": []}),
        ("nonsense", {}),
        ("ping", {}),
        ("prompts/list", {}),
    ]
    for era in ("modern", "2025-06-18", "2025-11-25"):
        with (
            Client(era=era, IR_DAEMON="off") as ours,
            Client(command=(sys.executable, "-c", served), era=era) as theirs,
        ):
            for method, params in asked:
                assert plain(ours.request(method, **params)) == plain(theirs.request(method, **params)), (era, method)
            ours.send({"jsonrpc": "2.0", "id": "x", "method": "tools/list"})
            theirs.send({"jsonrpc": "2.0", "id": "x", "method": "tools/list"})
            assert plain(ours.answer("x")) == plain(theirs.answer("x"))
    assert ENVELOPE


def plain(answer: dict[str, Any]) -> Any:
    """An answer without what differs from call to call; of an error, its code."""
    if "error" in answer:
        return answer["error"]["code"]
    result = dict(answer["result"])
    meta = dict(result.pop("_meta", {}))
    meta.pop("ir", None)
    if meta:
        meta = {name: {"name": held["name"]} for name, held in meta.items()}
    for key in ("serverInfo",):
        result.pop(key, None)
    if "content" in result:
        result["content"] = [one["text"].split("; index")[0] for one in result["content"]]
        result.pop("structuredContent", None)
    return result | {"_meta": meta}
