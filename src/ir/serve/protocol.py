"""What MCP says in which words: revisions, errors, and the shape of a result in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "HANDSHAKES",
    "INTERNAL",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MODERN",
    "NO_METHOD",
    "PARSE",
    "UNSUPPORTED",
    "ProtocolError",
    "capabilities",
    "check_envelope",
    "check_tool",
    "has_envelope",
    "shaped",
]

#: The revisions that begin with `initialize`, oldest first, and the one in which every request speaks for itself.
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED = -32022

_OWN = "io.modelcontextprotocol/"
_VERSION = f"{_OWN}protocolVersion"
_CAPABILITIES = f"{_OWN}clientCapabilities"
#: How long, in ms, an answer may be kept; what is not listed here may have changed at once.
CACHED_MS = {"server/discover": 3_600_000, "tools/list": 3_600_000, "resources/templates/list": 3_600_000}
_CACHEABLE = (*CACHED_MS, "resources/list", "resources/read")
#: The first revision that knows structured results.
_STRUCTURED = "2025-06-18"


class ProtocolError(Exception):
    """An answer that is an error of the protocol, not of a tool."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_dict(self) -> dict[str, Any]:
        held: dict[str, Any] = {"code": self.code, "message": self.message}
        return held if self.data is None else held | {"data": self.data}


def capabilities() -> dict[str, Any]:
    """What the server can do; lists never change while it runs."""
    return {"resources": {"listChanged": False, "subscribe": False}, "tools": {"listChanged": False}}


def has_envelope(params: Mapping[str, Any]) -> bool:
    """Whether a request says by itself which revision it is in; only those since 2026 do."""
    meta = params.get("_meta")
    return isinstance(meta, Mapping) and _VERSION in meta


def check_envelope(params: Mapping[str, Any]) -> None:
    """An error unless the request is in the revision that is spoken here, and says what its client can do."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or _VERSION not in meta or not isinstance(meta.get(_CAPABILITIES), Mapping):
        raise ProtocolError(
            INVALID_PARAMS, f"params._meta must hold {_VERSION} and {_CAPABILITIES}; this connection began so."
        )
    if meta[_VERSION] != MODERN:
        raise ProtocolError(
            UNSUPPORTED, "Unsupported protocol version", {"supported": [MODERN], "requested": meta[_VERSION]}
        )


def check_tool(name: str, offered: Iterable[str]) -> None:
    """An error that names the nearest tool, if there is none of that name."""
    known = list(offered)
    if name in known:
        return
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(name[:80], known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
    raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name[:80]!r}. {hint}")


def shaped(method: str, result: Mapping[str, Any], version: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """A result as the revision wants it."""
    held = dict(result)
    if version == MODERN:
        held["resultType"] = "complete"
        held["_meta"] = {**held.get("_meta", {}), f"{_OWN}serverInfo": dict(server)}
        if method in _CACHEABLE:
            held |= {"ttlMs": CACHED_MS.get(method, 0), "cacheScope": "private"}
    elif version < _STRUCTURED:
        held.pop("structuredContent", None)
    return held
