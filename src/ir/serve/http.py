"""``ir mcp --http``: the official SDK's server over streamable HTTP, on loopback, for those who know the token."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, MissingExtra
from ir.serve.conversation import FAILURES, Backend
from ir.serve.link import Call
from ir.serve.protocol import CACHED_MS, ProtocolError, check_tool
from ir.serve.token import is_right

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp

__all__ = ["LOOPBACK", "PATH", "listening", "make_app", "make_server", "run"]

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_MOST_BYTES = 4 * 1024 * 1024

Message = MutableMapping[str, Any]


def make_server(page: Mapping[str, Any], backend: Callable[[], Backend]) -> Server[Any]:
    """The low-level server: the same page and the same backend that a client on stdio has."""
    try:
        import mcp_types as types
        from mcp.server.caching import CacheHint
        from mcp.server.lowlevel import Server
        from mcp.shared.exceptions import MCPError
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "Serving MCP over HTTP") from error

    async def ask(ctx: Any, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        repeatable = params.get("name") not in page["unrepeatable"]
        answer = await _asked(backend(), method, params, ctx.session.report_progress, repeatable=repeatable)
        if "result" in answer:
            return dict(answer["result"])
        error = answer.get("error") or {}
        told = FAILURES.get(str(error.get("code")))
        if told is not None and method == "tools/call":
            return {"content": [{"type": "text", "text": told}], "isError": True}
        code = types.INTERNAL_ERROR if told is not None else int(error.get("code") or types.INTERNAL_ERROR)
        raise MCPError(code=code, message=told or str(error.get("message")), data=error.get("data"))

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": page["tools"]})

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            check_tool(params.name, (tool["name"] for tool in page["tools"]))
        except ProtocolError as error:
            raise MCPError(code=error.code, message=error.message) from None
        given = {"name": params.name, "arguments": params.arguments}
        return types.CallToolResult.model_validate(await ask(ctx, "tools/call", given))

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate(await ask(ctx, "resources/list", {}))

    async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": page["templates"]})

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult.model_validate(await ask(ctx, "resources/read", {"uri": str(params.uri)}))

    return Server(
        page["server"]["name"],
        version=page["server"]["version"],
        instructions=page["instructions"],
        cache_hints={method: CacheHint(ttl_ms=ms) for method, ms in CACHED_MS.items()},  # type: ignore[misc]
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _asked(
    backend: Backend,
    method: str,
    params: Mapping[str, Any],
    report: Callable[..., Awaitable[Any]],
    *,
    repeatable: bool,
) -> dict[str, Any]:
    """The answer of a backend that works on threads; who stops waiting cancels."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[dict[str, Any]] = loop.create_future()

    def arrived(message: dict[str, Any]) -> None:
        if not answer.done():
            answer.set_result(message)

    def done(message: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(arrived, message)

    def progress(step: dict[str, Any]) -> None:
        asyncio.run_coroutine_threadsafe(_told(report, step), loop)

    call = Call(method, params, done, progress=progress, repeatable=repeatable)
    backend.submit(call)
    try:
        return await answer
    except asyncio.CancelledError:
        backend.cancel(call)
        raise


async def _told(report: Callable[..., Awaitable[Any]], step: Mapping[str, Any]) -> None:
    await report(step["progress"], step.get("total"), step.get("message"))


def make_app(server: Server[Any], token: str | None) -> ASGIApp:
    """The application: no sessions, Host and Origin checked, and nothing for those who lack the token."""
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, max_request_body_size=_MOST_BYTES, host=LOOPBACK
    )
    return app if token is None else _Guarded(app, token)


class _Guarded:
    """Lets requests with the token through."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            given = headers.get(b"authorization")
            if not is_right(None if given is None else given.decode("latin-1"), self._token):
                await self._refuse(send)
                return
        await self._app(scope, receive, send)

    @staticmethod
    async def _refuse(send: Any) -> None:
        headers = [(b"www-authenticate", b'Bearer realm="ir"'), (b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"A token is needed: Authorization: Bearer TOKEN\n"})


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes any that is free."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)  # whoever reads the address may come at once
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"Port {port} cannot be used: {error.strerror or error}.", remedy="Choose another with --port."
        ) from error
    return listener


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until interrupted."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", "mcp", "Serving MCP over HTTP") from error

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=5
    )
    uvicorn.Server(config).run(sockets=[listener])
