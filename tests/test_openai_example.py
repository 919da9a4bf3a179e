"""The example of OpenAI's tools, with a real server on loopback in the place of a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "openai_tools.py"
pytestmark = pytest.mark.slow


class Model(BaseHTTPRequestHandler):
    """Speaks as ``/chat/completions`` does: makes a mistake, searches, reads what was found, and cites it."""

    seen: list[dict[str, Any]]

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append({"key": self.headers["Authorization"], **asked})
        results = [json.loads(one["content"]) for one in asked["messages"] if one["role"] == "tool"]
        body = json.dumps({"choices": [{"index": 0, "message": self.next_message(results)}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def next_message(results: list[Any]) -> dict[str, Any]:
        if not results:
            return call("search", {"question": "green tea"})
        if len(results) == 1:
            return call("search", {"query": "how hot is the water for green tea", "target": "notes", "k": 1})
        if len(results) == 2:
            found = results[1]["found"][0]
            return call("get", {"items": [f"{found['id']}:{found['line']}"], "target": "notes"})
        return {"role": "assistant", "content": f"It says: {json.dumps(results[2])}"}

    def log_message(self, format: str, *args: Any) -> None:
        pass


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}],
    }


@pytest.fixture
def model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    seen: list[dict[str, Any]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Model", (Model,), {"seen": seen}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_searches_reads_and_answers(model: tuple[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    address, seen = model
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)],
        cwd=tmp_path,
        env={**os.environ, "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "of the test", "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "80 degrees" in done.stdout
    assert [one["key"] for one in seen] == ["Bearer of the test"] * 4
    tools = {tool["function"]["name"]: tool["function"] for tool in seen[0]["tools"]}
    assert set(tools) == {"search", "get"}
    assert tools["search"]["parameters"]["required"] == ["query"]
    mistake = json.loads(seen[1]["messages"][-1]["content"])
    assert "question" in mistake["error"]
    assert [message["role"] for message in seen[3]["messages"]][-2:] == ["assistant", "tool"]
