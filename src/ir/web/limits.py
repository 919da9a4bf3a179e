"""How much a client may send, and how long anything may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ir.system import physical_cores

__all__ = ["Limits"]

_MB = 1_000_000


@dataclass(frozen=True)
class Limits:
    """``threads`` search at once, and ``waiting`` more calls wait for one of them; who comes after that is sent away.

    ``patient`` threads are for calls that mostly wait for somebody else, as for a language model. Seconds are those
    that a call, a body and the head of a request may take, and that calls have left when the server is told to stop.
    ``jobs`` run at once, and ``workspace_jobs`` of one workspace run or wait. Of ``connections`` there are a few in
    ``reserve``, for those who ask whether the server is well.
    """

    threads: int
    waiting: int = 512
    patient: int = 16
    jobs: int = 1
    workspace_jobs: int = 8
    body_bytes: int = 4 * _MB
    body_s: float = 15.0
    head_s: float = 10.0
    head_bytes: int = 65_536
    call_s: float = 30.0
    ask_s: float = 300.0
    idle_s: float = 30.0
    drain_s: float = 20.0
    connections: int = 1000
    reserve: int = 16

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Limits:
        """What the user has set; one thread for each core does most per second."""
        return cls(
            threads=int(settings["serve.threads"]) or physical_cores(),
            body_bytes=int(settings["serve.body_mb"] * _MB),
            body_s=float(settings["serve.body_s"]),
            call_s=float(settings["serve.call_s"]),
            ask_s=float(settings["serve.ask_s"]),
            drain_s=float(settings["serve.drain_s"]),
            connections=int(settings["serve.connections"]),
            workspace_jobs=int(settings["serve.workspace_jobs"]),
        )
