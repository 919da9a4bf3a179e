"""Reading source code: definitions a second before anything is embedded, memory, and one edited file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.contestant import Failed
from bench.plan import Plan
from bench.report import Report, number

READERS = {
    "parse": "tree-sitter: parse",
    "query": "tree-sitter: parse, query for definitions, calls and imports",
    "ast": "ast.parse",
    "ir": "ir: parse, read, cut, link",
}
_SCRIPT = Path(__file__).parent.parent / "code_reading.py"


def run(plan: Plan) -> Report:
    report = Report("code", plan.quick)
    limit = 200 if plan.quick else 0
    found = {name: _measured(name, limit) for name in READERS}
    ours = found["ir"]
    table = report.table("CPython's Lib, one process", "reader", "CPU s", "definitions/s", "peak MB")
    for name, title in READERS.items():
        one = found[name]
        per_second = ours["definitions"] / one["cpu"]
        table.rows.append([title, number(one["cpu"]), number(per_second), number(one["peak_mb"])])
    report.check("definitions/s before embedding", ours["definitions"] / ours["cpu"], 5_000, "/s")
    report.check("peak memory", ours["peak_mb"], 600, "MB", at_least=False)
    report.check("CPU time beside ast.parse", ours["cpu"] / found["ast"]["cpu"], 3, at_least=False)
    inside, outside, unknown = (part / max(1, sum(ours["calls"])) for part in ours["calls"])
    shares = report.table("Where calls lead", "in the project", "external or builtin", "unresolved", "calls")
    shares.rows.append([f"{inside:.1%}", f"{outside:.1%}", f"{unknown:.1%}", number(sum(ours["calls"]))])
    report.check("calls that lead into the project", 100 * inside, 40, "%")
    _edit(report, limit)
    report.note(f"{ours['files']:,} files, {ours['bytes'] / 1e6:.1f} MB, {ours['definitions']:,} definitions.")
    return report


def _edit(report: Report, limit: int) -> None:
    """A corpus of the same files, and builds after one of them was edited."""
    told = _measured("edit", limit)
    table = report.table(
        "One file edited, to the end of the build", "file", "edit", "CPU s", "files linked again", "texts embedded"
    )
    for one in told["edits"]:
        table.rows.append(
            [one["file"], one["edit"], number(one["cpu"]), str(one["relinked"]), str(one["embedded"])],
        )
    report.check(
        "one edited file, with its links", max(one["cpu"] for one in told["edits"][:-1]), 0.5, "s", at_least=False
    )
    report.note("The last edit renames a method that most test files call: all of them are linked again.")


def _measured(what: str, limit: int) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(_SCRIPT), what, str(limit)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{what}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
