"""``python -m bench.http_cases``: thousands of requests made from the OpenAPI document of ``ir serve``, at random and
at the bounds of every field, to a server without tokens, to one with a token, and to one that is not shown its token.

schemathesis makes the cases and holds every answer against the document: no failure of the server, no status, header,
form or value that is not declared, nothing taken that the document forbids.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

NOTES = {
    "tea.md": "# Tea\n\nSteep green tea at 80 degrees.\n\nBoiling water makes it bitter. See [bread](bread.md).\n",
    "bread.md": "# Bread\n\nKnead the dough for ten minutes.\n\nLet it rise before baking.\n",
    "kettle.py": '"""Boils water."""\n\n\ndef boil(x):\n    return heat(x)\n\n\ndef heat(x):\n    return x\n',
}
#: What is right by the document may still name what is not there, or not fit together.
CONFIG = """[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]
"""
#: A corpus that is not there is no reason to stop: resources come and go by themselves here.
_LEFT_OUT = "ensure_resource_availability,use_after_free"


@dataclass(frozen=True)
class Outcome:
    """How many cases there were, and what was wrong with which."""

    cases: int
    failures: str
    seconds: float

    @property
    def clean(self) -> bool:
        return not self.failures


@contextmanager
def server(folder: Path, *, tokens: bool) -> Iterator[tuple[str, str | None]]:
    """``ir serve`` over a small corpus in a process of its own: its address, and a token if there is one."""
    homes = {f"IR_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME")}
    environment = {**os.environ, **homes, "IR_EMBEDDER": "light", "IR_WORKSPACE": "default"}
    notes = folder / "notes"
    notes.mkdir(parents=True)
    for name, text in NOTES.items():
        (notes / name).write_text(text, "utf-8")
    make = """
import sys, ir
from ir.access import open_access
from ir.registry import source_for
ir.register("notes", "files", root=sys.argv[1], embedder="light")
ir.build(source_for("notes"), embedder="light")
if sys.argv[2] == "True":
    print(open_access().create("cases", scopes=["admin"])[1])
"""
    command = [sys.executable, "-c", make, str(notes), str(tokens)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    log = folder / "log"
    with log.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "ir", "serve", "--port", "0"], env=environment, stderr=written, cwd=folder
        )
    try:
        yield _address(process, log), made.stdout.strip() or None
    finally:
        process.terminate()
        process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://127.0.0.1:\d+", log.read_text("utf-8"))
        if found:
            try:
                urlopen(f"{found[0]}/readyz", timeout=5).close()
            except URLError:
                pass
            else:
                return found[0]
        time.sleep(0.05)
    raise RuntimeError(log.read_text("utf-8"))


def run_cases(
    address: str, token: str | None, folder: Path, *, each: int, seed: int, phases: str, only: str | None = None
) -> Outcome:
    """Have schemathesis ask the server; ``each`` random cases for each way to ask."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG, "utf-8")
    began = time.monotonic()
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{address}/openapi.json"),
        *("--phases", phases, "-n", str(each), "--seed", str(seed), "--continue-on-failure", "--no-color"),
        *("--checks", "all", "--exclude-checks", _LEFT_OUT, "--request-timeout", "30", "--warnings", "off"),
        *("--suppress-health-check", "all"),
        *(() if token is None else ("-H", f"Authorization: Bearer {token}")),
        *(() if only is None else ("--include-path-regex", only)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    found = re.search(r"([\d,]+) generated", done.stdout)
    cases = int(found[1].replace(",", "")) if found else 0
    return Outcome(cases, "" if done.returncode == 0 else done.stdout + done.stderr, time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.http_cases", description=__doc__)
    parser.add_argument("--each", type=int, default=60, help="random cases for each way to ask")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    whole, failed = 0, False
    ways = (("without tokens", False, False), ("with a token", True, True), ("without the token", True, False))
    for name, tokens, shown in ways:
        with tempfile.TemporaryDirectory() as place, server(Path(place), tokens=tokens) as (address, token):
            phases = "examples,coverage,fuzzing"
            each = given.each if shown or not tokens else 5
            done = run_cases(address, token if shown else None, Path(place), each=each, seed=given.seed, phases=phases)
            log = (Path(place) / "log").read_text("utf-8")
        unexpected = log.count('"level": "error"')
        whole += done.cases
        failed = failed or not done.clean or unexpected > 0
        verdict = "no failure" if done.clean else "FAILURES"
        print(f"{name}: {done.cases:,} cases in {done.seconds:.0f} s: {verdict}; {unexpected} errors in the log")
        if not done.clean:
            print(done.failures)
    print(f"{whole:,} cases in all")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
