"""``python -m ir`` is the ``ir`` command."""

from __future__ import annotations

from ir.cli import main

if __name__ == "__main__":
    main()
