"""The ``ir`` command: parse, call one operation of :mod:`ir.app`, print.

Results go to stdout, everything else to stderr. Exit codes: 0 found or done, 1 nothing found, 2 wrong usage,
3 something about the environment (no such corpus, no model, no space), 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from ir.cli.main import run

    raise SystemExit(run(argv))
