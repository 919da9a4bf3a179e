"""Calls that no client would send: whatever comes, an answer comes back, and nothing else does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.serve.world import ENVELOPE, Client, daemons

from ir.serve.offer import page
from ir.serve.service import Service
from ir.serve.tasks import Task

TEXTS = [
    *("tea", "", " ", "how hot is green tea", "notes", ".", "..", "/etc/passwd", "tea.md", "tea.md:1-3", "tea.md:9-1"),
    *("ir://notes/tea.md#L1-L2", "ir://", "\x00", "\ud800", "🎉" * 50, "ä̈" * 30, "词" * 40, "a" * 5000, "(" * 200),
    *("(a+)+$", "[", "\\", "%s%n", "'; drop table records; --", "\u202egnp", "\n\r\t", "{}", "null", "light", "hybrid"),
]
NUMBERS: list[Any] = [0, 1, 2, 3, 8, -1, 100, 10**9, 10**30, 1.5, 1e308, -0.0, True]


def anything(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind <= 1:
        return rng.choice(TEXTS)
    if kind == 2:
        return rng.choice(NUMBERS)
    if kind == 3:
        return rng.choice([None, True, False])
    if kind == 4:
        return "".join(
            chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x110000)])) for _ in range(rng.randrange(12))
        )
    if kind <= 6:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice([*TEXTS, "$eq", "$in", "title", "k"]): anything(rng, depth + 1) for _ in range(rng.randrange(3))}


def arguments(rng: random.Random, tool: dict[str, Any]) -> Any:
    """Mostly the arguments that a tool has, mostly of the right kind."""
    if rng.random() < 0.03:
        return anything(rng)
    given: dict[str, Any] = {}
    for name, told in tool["inputSchema"]["properties"].items():
        if name in tool["inputSchema"].get("required", ()) or rng.random() < 0.3:
            given[name] = fitting(rng, told) if rng.random() < 0.75 else anything(rng)
    if rng.random() < 0.05:
        given[rng.choice(["qeury", "K", "", "_meta", "corpora"])] = anything(rng)
    if rng.random() < 0.05 and given:
        del given[rng.choice(list(given))]
    return given


def fitting(rng: random.Random, told: dict[str, Any]) -> Any:
    if "enum" in told:
        return rng.choice(told["enum"])
    if "anyOf" in told:
        return fitting(rng, rng.choice(told["anyOf"]))
    kind = told["type"]
    if kind == "integer":
        return rng.choice([1, 2, 5, 50, 1000])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "array":
        return [rng.choice(TEXTS) for _ in range(rng.randrange(3))]
    if kind == "object":
        return {rng.choice(["title", "path", "$and"]): rng.choice([*TEXTS, *NUMBERS])}
    return rng.choice(TEXTS)


def check(answer: dict[str, Any]) -> None:
    """An answer is a result with text, or an error with a number; neither tells where in the code it comes from."""
    told = json.dumps(answer)
    assert "Traceback" not in told
    assert '.py\\", line' not in told
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int), answer
        assert answer["error"]["code"] != -32603, answer
        assert answer["error"]["message"]
        return
    result = answer["result"]
    if "content" in result:
        assert result["content"][0]["text"]
        assert "unexpected" not in json.dumps(result.get("structuredContent", {}).get("error", {})), answer
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("seed", range(2))
def test_a_few_hundred_calls_in_this_process(notes: Path, seed: int) -> None:
    rng = random.Random(seed)
    service = Service(watching=False)
    tools = page()["tools"]
    for _ in range(200):
        tool = rng.choice(tools)
        given = arguments(rng, tool)
        if not isinstance(given, dict):
            continue
        answer = service.answer(Task("tools/call", {"name": tool["name"], "arguments": json.loads(json.dumps(given))}))
        check(answer)
    service.stop()


@pytest.mark.slow
def test_ten_thousand_calls_over_stdio(notes: Path) -> None:
    """Arguments, types, sizes, sequences and cancellations; every request is answered, unless it was cancelled."""
    rng = random.Random(7)
    tools = page()["tools"]
    with Client() as client:
        client.call("status")
        pid = daemons()[0]
        waiting: dict[int, bool] = {}
        for number in range(10_000):
            roll = rng.random()
            if roll < 0.86:
                tool = rng.choice(tools)
                given = arguments(rng, tool)
                begun = client.begin("tools/call", name=tool["name"], arguments=given)
            elif roll < 0.90:
                begun = client.begin("resources/read", uri=rng.choice([*TEXTS, "ir://notes/tea.md", anything(rng)]))
            elif roll < 0.93:
                methods = ["tools/list", "resources/list", "ping", "nonsense", "", "server/discover"]
                begun = client.begin(rng.choice(methods), **({} if rng.random() < 0.7 else {"cursor": anything(rng)}))
            elif roll < 0.96:
                line = json.dumps(anything(rng)).encode()
                client.write(rng.choice([b"garbage", b"{", b"[]", b'"\xff"', line]))
                begun = client.begin("tools/list")
            else:
                begun = client.begin("tools/call", name=anything(rng), arguments=anything(rng), _meta=ENVELOPE)
            waiting[begun] = False
            if rng.random() < 0.05:
                client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": begun}})
                waiting[begun] = True
            if number % 25 == 24:
                for asked, cancelled in waiting.items():
                    if not cancelled:
                        check(client.answer(asked))
                waiting.clear()
        assert "result" in client.request("tools/call", name="status", arguments={})
        assert daemons() == [pid], "the daemon did not live through it"
        assert client.close() == 0
        assert all(isinstance(json.loads(line), dict) for line in client.lines)
