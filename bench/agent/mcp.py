"""Our tools as agents have them: ``search`` and ``get`` of ``ir mcp``, over its standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from bench.agent.questions import lines_of
from bench.agent.tools import Built, Passage, Shown
from bench.contestant import Failed

VERSION = "2025-11-25"


def is_offered(built: Built) -> bool:
    """Whether this version of the library serves agents."""
    help_text = [sys.executable, "-m", "ir", "mcp", "--help"]
    return subprocess.run(help_text, env=built.environment, capture_output=True).returncode == 0


class OverMcp:
    """One client of ``ir mcp``. What counts as read are the lines that are whole in the text of an answer."""

    def __init__(self, built: Built, detail: str) -> None:
        self.folder, self._detail = built.folder, detail
        self._environment = built.environment
        self._number = 0
        self._pages: dict[tuple[str, int], list[dict[str, Any]]] = {}
        self._front = subprocess.Popen(
            [sys.executable, "-m", "ir", "mcp"],
            env=built.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._request("initialize", protocolVersion=VERSION, capabilities={}, clientInfo={"name": "b", "version": "1"})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def search(self, query: str, page: int, budget: int) -> Shown:
        held = self._pages.setdefault((query, budget), [])
        while len(held) <= page:
            cursor = {"cursor": held[-1]["structuredContent"].get("next")} if held else {}
            if held and not cursor["cursor"]:
                return Shown("", ())
            held.append(self._call("search", query=query, detail=self._detail, max_tokens=budget, **cursor))
        found = held[page]
        told = found["structuredContent"]
        passages = [self._passage(told, one) for one in told.get("results", []) if "lines" in one]
        text = found["content"][0]["text"]
        abstained = page == 0 and ("nothing here answers" in text or not passages)
        return Shown(text, tuple(passages), abstained, self._read(text, passages))

    def get(self, passage: Passage, around: int) -> Shown:
        item = f"{passage.file}:{passage.first}-{passage.last}"
        text = self._call("get", items=item, context=around)["content"][0]["text"]
        lines = lines_of(self.folder / passage.file)
        wide = Passage(passage.file, max(1, passage.first - around), min(len(lines), passage.last + around))
        return Shown(text, (wide,), lines=self._read(text, [wide]))

    def close(self) -> None:
        self._front.communicate()
        subprocess.run([sys.executable, "-m", "ir", "daemon", "stop"], env=self._environment, capture_output=True)

    def _passage(self, told: dict[str, Any], one: dict[str, Any]) -> Passage:
        first, _, last = str(one["lines"]).partition("-")
        return Passage(one.get("id", one["path"]), int(first), int(last or first))

    def _read(self, text: str, passages: list[Passage]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The lines of each passage that stand whole in the text; empty ones go with their neighbours."""
        read = []
        for passage in passages:
            lines = lines_of(self.folder / passage.file)
            numbers = range(passage.first, min(passage.last, len(lines)) + 1)
            read.append((passage.file, tuple(number for number in numbers if lines[number - 1].strip() in text)))
        return tuple(read)

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self._request("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise Failed(f"{tool}: {result['content'][0]['text'][:300]}")
        return result

    def _request(self, method: str, **params: Any) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._front.stdout is not None
        for line in self._front.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']}")
                return message["result"]
        raise Failed(f"ir mcp ended at {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._front.stdin is not None
        self._front.stdin.write(json.dumps(message) + "\n")
        self._front.stdin.flush()
