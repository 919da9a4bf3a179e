"""The ``ir`` command: parse, call one operation of :mod:`ir.app`, print.

Results go to stdout, everything else to stderr. Exit codes: 0 found or done, 1 nothing found, 2 wrong usage,
3 something about the environment (no such corpus, no model, no space), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    if list(sys.argv[1:] if argv is None else argv) == ["mcp"]:
        # Every window of every agent starts this, so it does not even load what reads arguments.
        from ir.serve.front import main as serve

        raise SystemExit(serve())
    from ir.cli.main import run

    raise SystemExit(run(argv))
