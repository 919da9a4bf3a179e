"""Every test, and the few that failed once more, alone: ``python -m tests.steady``, which ``make test`` calls.

Many tests start servers, kill processes and wait for them; on a machine that others use, one in thousands may fail for
that alone. What fails twice has failed. What passes alone is named, loudly: it is unsteady, and that is a fault too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
#: More than so many do not fail by accident.
MOST = 5
SOME_FAILED = 1


def main(options: list[str]) -> int:
    FAILED.unlink(missing_ok=True)
    ended = run(options)
    if ended != SOME_FAILED:
        return ended
    failed = sorted(json.loads(FAILED.read_text("utf-8"))) if FAILED.is_file() else []
    if not 0 < len(failed) <= MOST:
        return ended
    print(f"\n{len(failed)} failed; once more, alone:", *failed, sep="\n  ", flush=True)
    again = run(["-n", "0", *failed])
    if again == 0:
        print("\nUNSTEADY: these failed, and passed alone. Find out why:", *failed, sep="\n  ", flush=True)
    return again


def run(options: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *options], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
