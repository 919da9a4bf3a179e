"""What an agent does with `ir mcp`: it asks, reads the lines that matter, and cites them. Python's own library alone.

    cd docs && python ../examples/agent.py . 'what happens when a build is killed'

``.`` is the corpus of the current folder, which has to be built. Without arguments a note is made, built and asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OWN = "io.modelcontextprotocol/"
ENVELOPE = {
    f"{OWN}protocolVersion": "2026-07-28",
    f"{OWN}clientInfo": {"name": "example", "version": "1"},
    f"{OWN}clientCapabilities": {},
}


class Server:
    """`ir mcp`, as a client starts it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ir", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.asked = 0

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request, and wait for what comes back."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": {**params, "_meta": ENVELOPE}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, tool: str, **arguments: Any) -> tuple[str, Any]:
        """A tool's text, and its structure."""
        told = json.dumps(arguments, ensure_ascii=False)
        print(f"\n> {tool} {told}")
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return result["content"][0]["text"], result["structuredContent"]

    def close(self) -> None:
        self.process.communicate()


def main(corpus: str, question: str) -> None:
    server = Server()
    print("tools:", ", ".join(tool["name"] for tool in server.ask("tools/list")["tools"]))
    text, found = server.call("search", query=question, corpus=corpus, k=1)
    print(text[text.index("[1]") :].partition("\nMore:")[0])
    best = found["results"][0]
    text, got = server.call("get", items=f"{best.get('id', best['path'])}:{best['lines']}", corpus=corpus, context=3)
    print(text[text.index("==") :])
    read = got["items"][0]
    print(f"\nAnswer: see {read['id']}, lines {read['lines']}.")
    server.close()


def alone() -> None:
    """The same in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({f"IR_{kind}_DIR": f"{folder}/{kind}" for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME")})
        os.environ.update(IR_EMBEDDER="light", IR_DAEMON="off")
        notes = Path(folder, "notes")
        notes.mkdir()
        (notes / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n\nBoiling water makes it bitter.\n")
        os.chdir(notes)
        subprocess.run([sys.executable, "-m", "ir", "build", "."], check=True, capture_output=True)
        main(".", "how hot should the water for tea be")
        os.chdir("/")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        alone()
