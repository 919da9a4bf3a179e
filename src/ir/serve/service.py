"""What is done with a call, in the daemon or in the process of a front: tools, resources, and their jobs."""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ir import telemetry
from ir.config.workspace import in_workspace
from ir.errors import IrError
from ir.serve.protocol import INTERNAL, INVALID_PARAMS, NO_METHOD, ProtocolError
from ir.serve.tasks import Task

if TYPE_CHECKING:
    from ir.serve.calls import Calls

__all__ = ["Service"]

log = logging.getLogger("ir.daemon")

_SWEEP_S = 5.0

Result = dict[str, Any]


class Service:
    """Answers calls on any thread. What takes time to load is loaded when it is first needed, once."""

    def __init__(self, *, watching: bool = True, calls: Calls | None = None) -> None:
        self._watching = watching
        self._loading = threading.Lock()
        self._calls = calls
        self._swept = time.monotonic()

    def start(self) -> None:
        """Load what every call needs, in the background."""
        threading.Thread(target=self._loaded, name="load", daemon=True).start()

    def answer(self, task: Task) -> Result:
        """``{"result": …}`` or ``{"error": …}``; never an exception, never a traceback."""
        try:
            with in_workspace(task.caller.workspace):
                return {"result": self._answered(task)}
        except ProtocolError as error:
            return {"error": error.to_dict()}
        except IrError as error:
            from ir.app.problems import describe

            problem = describe(error, "mcp")
            message = f"{problem.message} {problem.remedy}".strip()
            return {"error": {"code": INVALID_PARAMS, "message": message, "data": _about(task)}}
        except Exception as error:
            log.exception("%s failed", task.method)
            return {"error": {"code": INTERNAL, "message": f"Unexpected {type(error).__name__}; the log says where."}}

    def is_busy(self) -> bool:
        """Whether there is work that nobody waits for."""
        return self._calls is not None and self._calls.jobs.running() > 0

    def let_go_idle(self) -> None:
        """Close what nobody has asked for long; never under a running call."""
        if self._calls is not None and time.monotonic() - self._swept >= _SWEEP_S:
            self._swept = time.monotonic()
            self._calls.session.sweep()
            if not len(self._calls.session.pool) and "ir.embed.models" in sys.modules:
                sys.modules["ir.embed.models"].forget_models()

    def stop(self) -> None:
        if self._calls is not None:
            self._calls.close()

    def _answered(self, task: Task) -> Result:
        calls = self._loaded()
        if task.method == "tools/call":
            return calls.tool(task)
        if task.method == "resources/list":
            return calls.resources(task)
        if task.method == "resources/read":
            return calls.resource(task)
        if task.method == "operation":
            return calls.operation(task)
        if task.method == "status":
            return calls.state()
        if task.method == "metrics":
            text = telemetry.metrics_text()
            return {"text": None if text is None else text.decode()}
        raise ProtocolError(NO_METHOD, "Method not found", task.method)

    def _loaded(self) -> Calls:
        with self._loading:
            if self._calls is None:
                from ir.serve.calls import Calls

                _watch()
                self._calls = Calls(watching=self._watching)
            return self._calls


def _watch() -> None:
    """Measure if the user has set so; agents get their answers also where that cannot be."""
    try:
        telemetry.setup()
    except IrError as error:
        log.warning("nothing is measured: %s", error)


def _about(task: Task) -> Any:
    return {"uri": task.params["uri"]} if "uri" in task.params else None
