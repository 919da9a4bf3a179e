"""The tools of agents at /mcp: the official client, with the same tokens as everybody."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import make_notes_in
from tests.web.served import Served

pytest.importorskip("mcp", reason="the extra mcp is not installed")


def called(served: Served, token: str | None, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the official client gets for some calls of tools."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def ask() -> list[Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=http)) as client,
        ):
            await client.list_tools()
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(ask())


def test_an_agent_searches_with_the_official_client(served: Served) -> None:
    [found] = called(served, None, ("search", {"query": "green tea", "corpus": "notes"}))
    assert not found.is_error
    assert "80 degrees" in found.content[0].text


def test_an_agent_has_the_workspace_and_the_corpora_of_its_token(served: Served, tmp_path: Path) -> None:
    make_notes_in("team-b", tmp_path / "b", "plans")
    make_notes_in("team-b", tmp_path / "c", "other")
    theirs = served.token_for("b", workspace="team-b", corpora=["plans"])
    ours = served.token_for("a")
    asked = [
        ("search", {"query": "green tea", "corpus": "plans"}),
        ("search", {"query": "green tea", "corpus": "notes"}),
        ("search", {"query": "green tea", "corpus": "other"}),
        ("status", {}),
        ("refresh", {"corpus": "plans"}),
    ]
    first, second, third, status, refresh = called(served, theirs, *asked)
    assert not first.is_error
    assert second.is_error
    assert third.is_error
    assert "plans" in status.content[0].text
    assert "other" not in status.content[0].text
    assert refresh.is_error
    assert "'write'" in refresh.content[0].text
    first, second, *_ = called(served, ours, *asked)
    assert first.is_error
    assert not second.is_error


def test_an_agent_that_may_write_refreshes(served: Served, notes: Path) -> None:
    (notes / "new.md").write_text("# New\n\nSomething new.\n")
    [done] = called(served, served.token_for(scopes=["write"]), ("refresh", {"corpus": "notes"}))
    assert not done.is_error
    assert "1 added" in done.content[0].text


def test_an_agent_without_its_token_is_refused(served: Served) -> None:
    served.token_for()
    answer = served.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer.code == "token_needed"


@pytest.mark.slow
def test_the_sdk_is_loaded_when_an_agent_comes(notes: Path) -> None:
    import subprocess

    script = """
import sys
from tests.web.served import serving
with serving() as served:
    assert served.call("search", query="tea", target="notes").status == 200
    print("mcp" in sys.modules, "mcp_types" in sys.modules)
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.split() == ["False", "False"], done.stderr
