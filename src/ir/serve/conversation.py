"""One client on stdio: what is known here is answered at once, what needs a corpus is handed on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ir.serve.link import Call
from ir.serve.protocol import (
    HANDSHAKES,
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN,
    NO_METHOD,
    PARSE,
    UNSUPPORTED,
    ProtocolError,
    capabilities,
    check_envelope,
    check_tool,
    has_envelope,
    shaped,
)

__all__ = ["FAILURES", "Backend", "Conversation"]

Message = dict[str, Any]
Say = Callable[[Any], None]

#: What a tool's result is when no daemon could do it, by the reason.
FAILURES = {
    "interrupted": "The search service ended while it worked on this. Check with `status`, then ask again.",
    "busy": "Too many calls are waiting. Ask again in a moment.",
    "no_daemon": "The search service cannot be reached. Ask again; `ir doctor` on the command line says more.",
}


class Backend(Protocol):
    """Who does what needs a corpus: the daemon, or this process."""

    def submit(self, call: Call) -> None: ...
    def cancel(self, call: Call) -> None: ...


class Conversation:
    """The state of one connection. ``say`` writes a message, or a batch of them; it may be called by any thread.

    ``page`` is what is known without a corpus: the server's name and instructions, its tools and templates.
    """

    def __init__(self, page: Mapping[str, Any], backend: Callable[[], Backend], say: Say) -> None:
        self._page = page
        self._backend = backend
        self._say = say
        self._lock = threading.Condition()
        self._calls: dict[Any, Call] = {}
        self.version: str | None = None

    def hear(self, line: bytes) -> None:
        """Answer a line, now or later."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(None, ProtocolError(PARSE, "This is not JSON."), self._say)
            return
        if isinstance(message, list) and message and self.version == "2025-03-26":  # the one revision with batches
            _Batch(self, message, self._say).hear()
        else:
            self.take(message, self._say)

    def take(self, message: Any, say: Say) -> None:
        """Answer one message through ``say``."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._fail(_id_of(message), ProtocolError(INVALID_REQUEST, "This is no JSON-RPC 2.0 message."), say)
            return
        if "method" not in message and ("result" in message or "error" in message):
            return  # an answer, though nothing was asked
        method, params = message.get("method"), message.get("params")
        if "id" not in message:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
            return
        number = message["id"]
        if isinstance(number, bool) or not isinstance(number, str | int) or not isinstance(method, str):
            self._fail(_id_of(message), ProtocolError(INVALID_REQUEST, "A request has a method and an id."), say)
            return
        try:
            if params is not None and not isinstance(params, dict):
                raise ProtocolError(INVALID_PARAMS, "params must be an object.")
            self._request(number, method, params or {}, say)
        except ProtocolError as error:
            self._fail(number, error, say)

    def finish(self, seconds: float) -> None:
        """Wait for the answers that are still to come."""
        with self._lock:
            self._lock.wait_for(lambda: not self._calls, seconds)

    def _request(self, number: Any, method: str, params: Message, say: Say) -> None:
        if method == "initialize":
            self._done(number, method, self._initialized(params), say)
            return
        self._check_era(method, params)
        result = self._known(method, params)
        if result is not None:
            self._done(number, method, result, say)
        elif method in ("tools/call", "resources/list", "resources/read"):
            self._hand_on(number, method, params, say)
        else:
            raise ProtocolError(NO_METHOD, "Method not found", method)

    def _initialized(self, params: Message) -> Message:
        asked = params.get("protocolVersion")
        if self.version == MODERN:
            data = {"supported": [MODERN], "requested": asked}
            raise ProtocolError(UNSUPPORTED, f"This connection speaks {MODERN}, without a handshake.", data)
        if not isinstance(asked, str):
            raise ProtocolError(INVALID_PARAMS, "Invalid request parameters", "protocolVersion")
        self.version = asked if asked in HANDSHAKES else HANDSHAKES[-1]
        return {
            "protocolVersion": self.version,
            "capabilities": capabilities(),
            "serverInfo": self._page["server"],
            "instructions": self._page["instructions"],
        }

    def _check_era(self, method: str, params: Message) -> None:
        """The first request decides in which era a connection is; one of the other era is refused."""
        if self.version is None and has_envelope(params):
            check_envelope(params)
            self.version = MODERN
        elif self.version == MODERN:
            check_envelope(params)
        elif has_envelope(params):
            raise ProtocolError(INVALID_REQUEST, f"This connection began with a handshake; {MODERN} has none.")
        elif self.version is None and method != "ping":
            raise ProtocolError(INVALID_PARAMS, "Invalid request parameters", "The connection is not initialized.")

    def _known(self, method: str, params: Message) -> Message | None:
        """What needs no corpus; ``None`` for what does, and for what there is not."""
        if not isinstance(params.get("cursor", ""), str | None):
            raise ProtocolError(INVALID_PARAMS, "Invalid request parameters", "cursor")
        if method == "tools/list":
            return {"tools": self._page["tools"]}
        if method == "resources/templates/list":
            return {"resourceTemplates": self._page["templates"]}
        if method == "ping" and self.version != MODERN:
            return {}
        if method == "server/discover" and self.version == MODERN:
            return {
                "supportedVersions": [MODERN],
                "capabilities": capabilities(),
                "instructions": self._page["instructions"],
            }
        return None

    def _hand_on(self, number: Any, method: str, params: Message, say: Say) -> None:
        _check_params(method, params)
        if method == "tools/call":
            check_tool(params["name"], (tool["name"] for tool in self._page["tools"]))
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None

        def progress(step: Message) -> None:
            self._say(
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, **step}}
            )

        def done(answer: Message) -> None:
            with self._lock:
                if self._calls.pop(number, None) is None:
                    return  # it was cancelled meanwhile
            self._answered(number, method, answer, say)
            with self._lock:
                self._lock.notify_all()

        call = Call(
            method,
            {name: value for name, value in params.items() if name != "_meta"},
            done,
            progress=None if isinstance(token, bool) or not isinstance(token, str | int) else progress,
            repeatable=params.get("name") not in self._page["unrepeatable"],
        )
        with self._lock:
            if number in self._calls:
                raise ProtocolError(INVALID_REQUEST, "A request with this id is still being answered.")
            self._calls[number] = call
        self._backend().submit(call)

    def _answered(self, number: Any, method: str, answer: Message, say: Say) -> None:
        if "result" in answer:
            self._done(number, method, answer["result"], say)
            return
        error = answer.get("error") or {}
        told = FAILURES.get(str(error.get("code")))
        if told is not None and method == "tools/call":
            failed = {"content": [{"type": "text", "text": told}], "isError": True}
            self._done(number, method, failed | {"structuredContent": {"error": {"message": told}}}, say)
            return
        code = error.get("code") if told is None else INTERNAL
        self._fail(number, ProtocolError(code or INTERNAL, told or error.get("message", ""), error.get("data")), say)

    def _cancel(self, number: Any) -> None:
        if not isinstance(number, str | int):
            return
        with self._lock:
            call = self._calls.pop(number, None)
            self._lock.notify_all()
        if call is not None:
            self._backend().cancel(call)

    def _done(self, number: Any, method: str, result: Message, say: Say) -> None:
        version = self.version or HANDSHAKES[-1]
        say({"jsonrpc": "2.0", "id": number, "result": shaped(method, result, version, self._page["server"])})

    def _fail(self, number: Any, error: ProtocolError, say: Say) -> None:
        say({"jsonrpc": "2.0", "id": number, "error": error.to_dict()})


class _Batch:
    """Several messages in one line, answered in one line when the last of them is."""

    def __init__(self, conversation: Conversation, messages: list[Any], say: Say) -> None:
        self._conversation = conversation
        self._messages = messages
        self._lock = threading.Lock()
        self._say = say
        self._answers: list[Any] = []
        self._open = sum(not isinstance(one, dict) or ("id" in one and "method" in one) for one in messages)

    def hear(self) -> None:
        for message in self._messages:
            self._conversation.take(message, self._collect)

    def _collect(self, answer: Any) -> None:
        with self._lock:
            self._answers.append(answer)
            complete = len(self._answers) == self._open
        if complete:
            self._say(self._answers)


def _id_of(message: Any) -> Any:
    number = message.get("id") if isinstance(message, dict) else None
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _check_params(method: str, params: Message) -> None:
    arguments = params.get("arguments")
    wrong = (
        (method == "tools/call" and not isinstance(params.get("name"), str))
        or (method == "tools/call" and arguments is not None and not isinstance(arguments, dict))
        or (method == "resources/read" and not isinstance(params.get("uri"), str))
    )
    if wrong:
        raise ProtocolError(INVALID_PARAMS, "Invalid request parameters", "")
