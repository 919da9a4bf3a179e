"""What is written down: a line of JSON for each request and for what went wrong, on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

__all__ = ["LOGGER", "Logs", "write_to_stderr"]

LOGGER = logging.getLogger("ir.web")
#: Requests that are asked every few seconds by whoever looks after the server.
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class Logs:
    """Tells of requests. With ``queries`` it also tells what was asked for; nobody else's business otherwise."""

    def __init__(self, *, queries: bool = False) -> None:
        self.queries = queries

    def answered(self, told: Mapping[str, Any], error: Exception | None) -> None:
        level = logging.INFO
        if error is not None:
            level = logging.ERROR
            told = {**told, "error": type(error).__name__, "at": _places(error)}
            if self.queries:
                told["message"] = str(error)
        elif told["path"] in _QUIET and told["status"] < 400:
            level = logging.DEBUG
        if LOGGER.isEnabledFor(level):
            LOGGER.log(level, "request", extra={"told": told})


def _places(error: Exception) -> list[str]:
    """Where in the code it happened, innermost last; not the message, which may hold what was asked."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rpartition('/src/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {"time": f"{moment}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        told = getattr(record, "told", None)
        line |= {"event": record.getMessage(), **told} if told is not None else {"event": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None and told is None:
            line["error"] = type(record.exc_info[1]).__name__
            if isinstance(record.exc_info[1], Exception):
                line["at"] = _places(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True)


def write_to_stderr() -> None:
    """Write what this process logs as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, level in (("ir", logging.INFO), ("uvicorn.error", logging.WARNING), ("mcp", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
