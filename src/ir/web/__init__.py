"""How do browsers and services ask?

``ir serve`` is the table of operations over HTTP: a route for each operation whose doors include ``http``, jobs for
what takes long, the tools of agents at ``/mcp``, and a page for people. See docs/serve.md.
"""

from __future__ import annotations

from ir.web.application import Application
from ir.web.limits import Limits
from ir.web.server import Server, listening

__all__ = ["Application", "Limits", "Server", "listening"]
