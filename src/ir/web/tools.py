"""The tools of agents at ``/mcp``: the official SDK's server, for the same callers as everything else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ir.serve.tasks import Caller, Task
from ir.web.admission import Guest

if TYPE_CHECKING:
    from ir.app.session import Session
    from ir.serve.jobs import Jobs
    from ir.serve.link import Call
    from ir.serve.service import Service

__all__ = ["PATH", "Tools"]

PATH = "/mcp"
_guest: ContextVar[Guest] = ContextVar("guest")


class Tools:
    """Loaded when somebody first asks: importing the SDK takes longer than everything else together."""

    def __init__(self, session: Session, jobs: Jobs, threads: int, body_bytes: int) -> None:
        self._session = session
        self._jobs = jobs
        self._body_bytes = body_bytes
        self._threads = ThreadPoolExecutor(max(4, threads), thread_name_prefix="tool")
        self._loading = asyncio.Lock()
        self._app: Callable[..., Awaitable[None]] | None = None
        self._service: Service | None = None
        self._running: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        app = self._app or await self._loaded()
        chosen = _guest.set(scope["guest"])
        try:
            await app(scope, receive, send)
        finally:
            _guest.reset(chosen)

    async def close(self) -> None:
        self._ended.set()
        if self._running is not None:
            await self._running
        if self._service is not None:
            self._service.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _loaded(self) -> Callable[..., Awaitable[None]]:
        async with self._loading:
            if self._app is None:
                server, app, service = await asyncio.to_thread(self._load)
                self._service = service
                begun = asyncio.Event()
                self._running = asyncio.create_task(self._run(server, begun))
                await begun.wait()
                self._app = app
            return self._app

    async def _run(self, server: Any, begun: asyncio.Event) -> None:
        async with server.session_manager.run():
            begun.set()
            await self._ended.wait()

    def _load(self) -> tuple[Any, Any, Service]:
        from ir.errors import MissingExtra
        from ir.serve.calls import Calls
        from ir.serve.http import make_server
        from ir.serve.offer import page
        from ir.serve.service import Service

        offered = page(self._session.settings["mcp.tools"])
        writes = {tool["name"] for tool in offered["tools"] if not tool["annotations"]["readOnlyHint"]}
        calls = Calls(watching=False, session=self._session, jobs=self._jobs)
        service = Service(calls=calls)
        server = make_server(offered, lambda: _Backend(service, self._threads, _guest.get(), writes))
        try:
            from mcp.server.transport_security import TransportSecuritySettings
        except ImportError as error:
            raise MissingExtra("mcp", "mcp", "Serving MCP over HTTP") from error
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=self._body_bytes,
            # Names and origins were looked at before anybody came here.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return server, app, service


class _Backend:
    """Does the calls of one client on threads."""

    def __init__(self, service: Service, threads: ThreadPoolExecutor, guest: Guest, writes: set[str]) -> None:
        self._service = service
        self._threads = threads
        self._guest = guest
        self._writes = writes
        self._tasks: dict[int, Task] = {}
        self._lock = threading.Lock()

    def submit(self, call: Call) -> None:
        needed = "write" if call.params.get("name") in self._writes else "read"
        if needed not in self._guest.scopes:
            told = f"The token may not be used for that: it lacks the scope {needed!r}. Ask the user for another."
            call.done({"result": {"content": [{"type": "text", "text": told}], "isError": True}})
            return
        task = Task(
            call.method,
            call.params,
            Caller(self._guest.workspace, None, self._guest.corpora),
            progress=call.progress,
        )
        with self._lock:
            self._tasks[id(call)] = task
        self._threads.submit(self._work, call, task)

    def cancel(self, call: Call) -> None:
        with self._lock:
            task = self._tasks.get(id(call))
        if task is not None:
            task.cancelled.set()

    def close(self) -> None:
        """Nothing is held by one client alone."""

    def _work(self, call: Call, task: Task) -> None:
        try:
            answer = self._service.answer(task)
        finally:
            with self._lock:
                self._tasks.pop(id(call), None)
        if not task.cancelled.is_set():
            call.done(answer)
