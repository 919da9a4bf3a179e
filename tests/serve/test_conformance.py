"""The official conformance suite, if it is here: `IR_CONFORMANCE` holds the command that runs it.

npm install @modelcontextprotocol/conformance@0.2.0-alpha.12
IR_CONFORMANCE='node node_modules/.bin/conformance' pytest tests/serve/test_conformance.py
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.serve.world import wait_until

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).parent / "conformance" / "baseline.yml"
SUITE = os.environ.get("IR_CONFORMANCE")
REVISION = "2026-07-28"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SUITE, reason="IR_CONFORMANCE does not name the suite")]

PRODUCT = (
    "import sys; from ir.config import Settings; from ir.serve.front import Front; from ir.serve.offer import page\n"
    "from ir.serve.http import listening, make_app, make_server, run\n"
    "front = Front(Settings.load())\n"
    "run(make_app(make_server(page(), front.backend), None), listening(int(sys.argv[1])))"
)


@contextmanager
def served(*command: str) -> Iterator[str]:
    """A server without a token, which the suite has none for; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *command, str(port)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def suite(address: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [*shlex.split(SUITE or ""), "server", "--url", address, "--requirements", REVISION, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_every_scored_scenario_passes_on_the_fixture() -> None:
    with served("-m", "tests.serve.conformance.fixture") as address:
        told = suite(address).stdout
    summary, _, rest = told.partition("=== SUMMARY ===")[2].partition("Not scored")
    unscored = set(re.findall(r"[✓✗] ([\w-]+) \(", rest))
    results = dict(re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed", summary, re.MULTILINE))
    assert len(results) - len(unscored) >= 37
    assert {name for name, failed in results.items() if failed != "0"} <= unscored


def test_the_product_fails_what_it_is_known_to_fail_and_nothing_else(notes: Path) -> None:
    with served("-c", PRODUCT) as address:
        done = suite(address, "--expected-failures", str(BASELINE))
    assert done.returncode == 0, done.stdout[-3000:]
