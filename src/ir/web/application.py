"""The application: a route for each operation, jobs, health, the page, and the tools of agents beside them."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ir import telemetry
from ir.app.operation import Operation
from ir.app.session import Session
from ir.serve.jobs import Job, Jobs
from ir.web import document
from ir.web.admission import Admission, Guest
from ir.web.answers import answered, arguments_of, as_json, encoded
from ir.web.board import Board
from ir.web.events import Stream, streamed, wants_events
from ir.web.guard import Guard
from ir.web.limits import Limits
from ir.web.logs import Logs
from ir.web.origins import Origins
from ir.web.pages import Pages
from ir.web.places import names_for
from ir.web.refusals import PROBLEM, Gone, Refusal
from ir.web.tools import PATH as TOOLS_PATH
from ir.web.tools import Tools
from ir.web.work import JOB_SCHEMA, STATES, find_job, no_job, shown
from ir.web.workers import Workers

if TYPE_CHECKING:
    from ir.access import Access

__all__ = ["Application"]

_SWEEP_S = 30.0
#: So often a job of another process is looked at.
_LOOK_S = 0.5
#: So often a job that is watched is told of, at most.
_TELL_S = 0.1
#: What a caller wrote, by the fields that hold it.
_WORDS = ("query", "question", "semantic_query", "pattern", "phrases", "text", "symbol", "words", "meaning")
_ME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "workspace": {"type": "string"},
        "corpora": {"type": ["array", "null"], "items": {"type": "string"}},
        "scopes": {"type": "array", "items": {"type": "string"}},
        "version": {"type": "string"},
        "auth": {"type": "string", "enum": ["none", "token"]},
    },
    "required": ["name", "workspace", "corpora", "scopes", "version", "auth"],
    "additionalProperties": False,
}
_OK: dict[str, Any] = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}


class Application:
    """An ASGI application over one session whose corpora stay open.

    ``host`` is what the server listens on, ``names`` what else it is known by, ``foreign`` whose pages may ask it. With
    ``always`` nobody is let in without a token.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        origins: Origins,
        *,
        always: bool = False,
        log_queries: bool = False,
        session: Session | None = None,
        open_corpora: int = 32,
    ) -> None:
        self.limits = limits
        self.session = session or Session(open_corpora=open_corpora)
        self.jobs = Jobs(most=limits.jobs, each=limits.workspace_jobs)
        self.admission = Admission(access, always=always)
        self.board = Board(access, self.jobs)
        self.searching = Workers("search", limits.threads, limits.waiting)
        self.waiting = Workers("patient", limits.patient, limits.waiting)
        self.logs = Logs(queries=log_queries)
        self.pages = Pages()
        self.closing = asyncio.Event()
        self.ready = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.tools: Tools | None = None
        self._documents: dict[bool, tuple[bytes, str]] = {}
        self._telling = asyncio.Lock()
        self.api = self._make_api(told=False)
        self._guard = Guard(self._dispatch, self.admission, origins, limits, self.logs)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        await self._guard(scope, receive, send)

    def close_soon(self) -> None:
        """The server is about to end: whoever only listens is sent home, and jobs come to an end. May be called on any
        thread, and by a signal."""
        self.ready = False
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self.closing.set()
        self.jobs.stop()

    async def _dispatch(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == TOOLS_PATH and self.tools is not None:
            await self.tools(scope, receive, send)
        else:
            await self.api(scope, receive, send)

    # -- life ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _life(self, api: FastAPI) -> AsyncIterator[None]:
        self.tools = Tools(self.session, self.jobs, self.limits.threads, self.limits.body_bytes)
        sweeping = asyncio.create_task(self._sweep())
        self._loop = asyncio.get_running_loop()
        self.ready = True
        try:
            yield
        finally:
            self.ready = False
            self._close()
            sweeping.cancel()
            await self.tools.close()
            await asyncio.to_thread(self._finish_jobs)
            self.board.close()
            self.searching.close()
            self.waiting.close()
            self.admission.close()
            self.session.close()

    async def _sweep(self) -> None:
        """Close corpora that nobody has asked for long."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            await asyncio.to_thread(self.session.sweep)

    def _finish_jobs(self) -> None:
        """Wait until the jobs have come to an end: what they have not written is undone."""
        deadline = time.monotonic() + self.limits.drain_s
        while self.jobs.running() and time.monotonic() < deadline:
            time.sleep(0.02)

    # -- routes ----------------------------------------------------------------------------------------------------

    def _make_api(self, *, told: bool) -> FastAPI:
        """The routes; with what is ``told`` of them in the document, which takes longer than all the rest."""
        import ir

        api = FastAPI(
            title="ir",
            version=ir.__version__,
            summary="Find the relevant things in a corpus.",
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            lifespan=self._life,
            redirect_slashes=False,
        )
        api.add_exception_handler(Refusal, _refused)  # type: ignore[arg-type]
        api.add_exception_handler(Gone, _left)
        api.add_exception_handler(HTTPException, _not_that_way)  # type: ignore[arg-type]
        api.add_exception_handler(Exception, _unexpected)
        offered = self.session.offered("http")
        for name, operation in sorted(offered.items(), key=lambda one: one[0] != "search"):  # routes are tried in turn
            self._add_operation(api, name, operation, told=told)
        self._add_jobs(api)
        self._add_rest(api)
        return api

    def _add_operation(self, api: FastAPI, name: str, operation: Operation[Any, Any], *, told: bool) -> None:
        is_job = operation.runs_long and not operation.read_only
        api.add_api_route(
            f"/v1/{name}",
            self._job_route(operation) if is_job else self._route(operation),
            methods=["POST"],
            operation_id=name,
            summary=operation.summary,
            tags=["jobs" if is_job else operation.scope],
            status_code=202 if is_job else 200,
            response_model=None,
            response_class=Response,
            responses=None if not told else _responses(operation, is_job=is_job),
            openapi_extra={"requestBody": document.operation_body(operation)} if told else None,
        )

    def _add(
        self,
        api: FastAPI,
        path: str,
        endpoint: Callable[..., Awaitable[Response]],
        responses: document.Responses,
        *,
        method: str = "GET",
        summary: str = "",
        hidden: bool = False,
    ) -> None:
        api.add_api_route(
            path,
            endpoint,
            methods=[method],
            operation_id=endpoint.__name__.strip("_").replace("_", "-"),
            summary=summary,
            response_model=None,
            response_class=Response,
            responses=responses,
            include_in_schema=not hidden,
        )

    def _add_jobs(self, api: FastAPI) -> None:
        listed = {
            "type": "object",
            "properties": {"jobs": {"type": "array", "items": JOB_SCHEMA}},
            "required": ["jobs"],
            "additionalProperties": False,
        }
        self._add(api, "/v1/jobs", self._list_jobs, document.plain_responses(listed), summary="List the jobs")
        one = document.job_responses(200)
        self._add(api, "/v1/jobs/{job}", self._show_job, one, summary="Show a job")
        self._add(api, "/v1/jobs/{job}", self._cancel_job, one, method="DELETE", summary="Stop a job")
        events = document.plain_responses(document.events_schema(STATES), "text/event-stream")
        self._add(api, "/v1/jobs/{job}/events", self._watch_job, events, summary="Follow a job")

    def _add_rest(self, api: FastAPI) -> None:
        self._add(api, "/v1/me", self._me, document.plain_responses(_ME), summary="Say who asks")
        ok = document.plain_responses(_OK, guarded=False)
        self._add(api, "/healthz", self._health, ok, summary="Say that the process lives")
        self._add(api, "/readyz", self._readiness, ok, summary="Say whether questions can be answered now")
        metrics = document.plain_responses({"type": "string"}, "text/plain")
        self._add(api, "/metrics", self._metrics, metrics, summary="Show what was counted")
        anything: dict[str, Any] = {}
        for path, endpoint in (
            ("/openapi.json", self._openapi),
            ("/", self._page),
            ("/assets/{name:path}", self._asset),
        ):
            self._add(api, path, endpoint, document.plain_responses(anything, guarded=False), hidden=True)

    # -- operations ------------------------------------------------------------------------------------------------

    def _route(self, operation: Operation[Any, Any]) -> Callable[[Request], Awaitable[Response]]:
        patient = operation.runs_long
        workers = self.waiting if patient else self.searching
        seconds = self.limits.ask_s if patient else self.limits.call_s
        scope = "read" if operation.read_only else "write"
        name = operation.name

        async def answer(request: Request) -> Response:
            guest: Guest = request.scope["guest"]
            guest.require(scope)
            arguments = await self._arguments(request)
            if name == "ask" and wants_events(request):
                return await self._ask_events(request, arguments)
            caller = guest.caller

            def work(stop: Any) -> bytes:
                response = self.session.call(
                    name, arguments, door="http", caller=caller, deadline_s=seconds, cancelled=stop.is_set
                )
                return names_for(guest.workspace).in_json(encoded(response))

            body = await answered(request, workers, work, seconds, arguments)
            return Response(body, media_type="application/json")

        return answer

    async def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = await arguments_of(request)
        if self.logs.queries:
            request.scope["asked"] = {word: arguments[word] for word in _WORDS if word in arguments}
        return arguments

    async def _ask_events(self, request: Request, arguments: dict[str, Any]) -> Response:
        guest: Guest = request.scope["guest"]
        seconds = self.limits.ask_s

        def work(stream: Stream) -> None:
            names = names_for(guest.workspace)
            self.session.call(
                "ask",
                arguments,
                door="http",
                caller=guest.caller,
                deadline_s=seconds,
                cancelled=stream.stop.is_set,
                emit=lambda event: stream.tell(event.kind, orjson.Fragment(names.in_json(encoded(event.data)))),
            )

        return await streamed(request, self.waiting, work, self.closing, seconds, arguments, self._still(request))

    def _still(self, request: Request) -> Callable[[], Awaitable[bool]]:
        """Says whether who asks would still be let in."""
        return lambda: self.admission.still(request.headers.get("authorization"))

    # -- jobs ------------------------------------------------------------------------------------------------------

    def _job_route(self, operation: Operation[Any, Any]) -> Callable[[Request], Awaitable[Response]]:
        async def begin(request: Request) -> Response:
            guest: Guest = request.scope["guest"]
            guest.require("write")
            arguments = await self._arguments(request)

            def work(stop: Any) -> dict[str, Any]:
                return shown(self._begin(operation, arguments, guest))

            told = await answered(request, self.searching, work, self.limits.call_s, arguments)
            return as_json(told, 202, {"location": f"/v1/jobs/{told['job']}"})

        return begin

    def _begin(self, operation: Operation[Any, Any], arguments: dict[str, Any], guest: Guest) -> Job:
        """Begin a job, once it is known that it makes sense."""
        caller = guest.caller
        corpus = self.session.checked(operation.name, arguments, door="http", caller=caller)

        def work(job: Job) -> Any:
            return self.session.call(
                operation.name,
                arguments,
                door="http",
                caller=caller,
                cancelled=job.stop.is_set,
                progress=job.report,
            )

        same = hashlib.sha256(encoded(arguments)).digest()
        job = self.jobs.start(operation.name, guest.workspace, corpus, work, same=same)
        self.board.follow(job)
        return job

    async def _list_jobs(self, request: Request) -> Response:
        guest: Guest = request.scope["guest"]
        guest.require("read")
        return as_json({"jobs": await self.admission.ask(lambda: self.board.all(guest))})

    async def _show_job(self, request: Request, job: str) -> Response:
        guest: Guest = request.scope["guest"]
        guest.require("read")
        return as_json(await self._job(job, guest))

    async def _job(self, handle: str, guest: Guest) -> dict[str, Any]:
        """A job of this process, or of another that shares the tokens."""
        own = find_job(self.jobs, handle, guest)
        told = await self.admission.ask(lambda: shown(own) if own else self.board.find(handle, guest))
        if told is None:
            raise no_job()
        return told

    async def _cancel_job(self, request: Request, job: str) -> Response:
        guest: Guest = request.scope["guest"]
        guest.require("write")
        own = find_job(self.jobs, job, guest)
        told = await self._job(job, guest)
        if own is not None:
            self.jobs.cancel(own)
        else:
            await self.admission.ask(lambda: self.board.stop(job, guest))
        return as_json(await self._job(job, guest) if own else told)

    async def _watch_job(self, request: Request, job: str) -> Response:
        guest: Guest = request.scope["guest"]
        guest.require("read")
        found = find_job(self.jobs, job, guest)
        stream = Stream(self._still(request), latest=True)
        if found is not None:
            return await stream.response(self.closing, listening=_listening(found, stream))
        first = await self._job(job, guest)
        asyncio.get_running_loop().create_task(self._watch_elsewhere(job, guest, stream))
        return await stream.response(self.closing, (first["state"], first))

    async def _watch_elsewhere(self, job: str, guest: Guest, stream: Stream) -> None:
        """Tell of a job of another process as it changes."""
        before: Any = None
        while not stream.stop.is_set():
            try:
                told = await self._job(job, guest)
            except Refusal:
                break
            if told["state"] not in ("waiting", "running"):
                if before is not None:
                    stream.tell(told["state"], told)
                break
            if before is not None and told != before:
                stream.tell(told["state"], told)
            before = told
            await asyncio.sleep(_LOOK_S)
        stream.end()

    # -- the rest --------------------------------------------------------------------------------------------------

    async def _me(self, request: Request) -> Response:
        import ir

        guest: Guest = request.scope["guest"]
        told = {
            "name": guest.name,
            "workspace": guest.workspace,
            "corpora": None if guest.corpora is None else sorted(guest.corpora),
            "scopes": list(guest.scopes),
            "version": ir.__version__,
            "auth": "none" if guest.token is None else "token",
        }
        return as_json(told)

    async def _health(self) -> Response:
        return as_json({"status": "ok"})

    async def _readiness(self) -> Response:
        if self.closing.is_set() or not self.ready:
            raise Refusal(503, "closing", "The server is about to end.", headers={"retry-after": "2"})
        await self.admission.check()
        return as_json({"status": "ready"})

    async def _metrics(self, request: Request) -> Response:
        guest: Guest = request.scope["guest"]
        guest.require("admin")
        text = await asyncio.to_thread(telemetry.metrics_text)
        if text is not None:
            return Response(text, media_type=telemetry.CONTENT_TYPE)
        raise Refusal(
            404,
            "no_metrics",
            "Nothing is counted here.",
            remedy="Turn it on where the server runs: ir config set telemetry.enabled true.",
        )

    async def _openapi(self, request: Request) -> Response:
        needs_token = await self.admission.needs_token()
        async with self._telling:  # it takes a while to make, so that is done once
            if needs_token not in self._documents:
                self._documents[needs_token] = await asyncio.to_thread(self._document, needs_token)
        body, etag = self._documents[needs_token]
        headers = {"etag": etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type="application/json")

    def _document(self, needs_token: bool) -> tuple[bytes, str]:
        api = self._make_api(told=True)
        told = get_openapi(title=api.title, version=api.version, summary=api.summary, routes=api.routes)
        body = encoded(document.finished(told, needs_token=needs_token))
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    async def _page(self, request: Request) -> Response:
        return self.pages.response("index.html", request)

    async def _asset(self, request: Request, name: str) -> Response:
        return self.pages.response(name, request)


@contextmanager
def _listening(job: Job, stream: Stream) -> Iterator[None]:
    """Tell a stream of a job, for as long as somebody listens to it."""
    told = 0.0

    def tell(one: Job) -> None:
        nonlocal told
        if not one.active:
            stream.tell(one.state, shown(one))
            stream.end()
        elif time.monotonic() - told >= _TELL_S:
            told = time.monotonic()
            stream.tell(one.state, shown(one))

    job.listeners.append(tell)
    asyncio.get_running_loop().run_in_executor(None, tell, job)  # what came of it may be long
    try:
        yield
    finally:
        job.listeners.remove(tell)


def _responses(operation: Operation[Any, Any], *, is_job: bool) -> document.Responses:
    return document.job_responses(202) if is_job else document.operation_responses(operation)


async def _refused(request: Request, refusal: Refusal) -> Response:
    return Response(refusal.body(), refusal.status, refusal.headers, media_type=PROBLEM)


async def _left(request: Request, gone: Exception) -> Response:
    return Response(status_code=499)


async def _not_that_way(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["allow"] = ", ".join(sorted(_methods(request)))
    refusal = Refusal(
        error.status_code,
        {404: "not_found", 405: "not_that_way"}.get(error.status_code, "refused"),
        {404: "There is nothing of that name.", 405: "That cannot be asked in this way."}.get(
            error.status_code, str(error.detail)
        ),
        remedy={
            404: "GET /openapi.json lists what can be asked.",
            405: f"Ask it by {headers.get('allow')}; /openapi.json says what with.",
        }.get(error.status_code, ""),
        headers=headers,
    )
    return await _refused(request, refusal)


def _methods(request: Request) -> set[str]:
    """The ways in which a path can be asked."""
    matching = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return {method for route in matching for method in route.methods}


async def _unexpected(request: Request, error: Exception) -> Response:
    return await _refused(request, Refusal(500, "unexpected", "Unexpected; the log of the server says where."))
