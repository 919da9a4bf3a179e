"""What a server offers before any corpus is asked: its name, its instructions, its tools. Read from a file that is
made from the operations, so that showing it loads none of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput

__all__ = ["FILE", "page"]

#: Made by ``python -m ir.serve.offered``; a test says when it is out of date.
FILE = Path(__file__).with_name("offer.json")
_ALL = "all"


def page(chosen: str = _ALL) -> dict[str, Any]:
    """The offer with the tools that the setting ``mcp.tools`` chooses: all, or names with commas between them."""
    import ir

    held: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    held["server"]["version"] = ir.__version__
    wanted = {word.strip() for word in chosen.split(",") if word.strip()}
    if wanted != {_ALL}:
        known = [tool["name"] for tool in held["tools"]]
        for name in sorted(wanted - {*known}):
            raise InvalidInput(
                f"mcp.tools names {name!r}, which is no tool.", remedy=f"Known are {', '.join(known)}; or say all."
            )
        held["tools"] = [tool for tool in held["tools"] if tool["name"] in wanted]
    return held
