"""A small client for any OpenAI-compatible chat endpoint, on the standard library alone.

Nothing here touches the network before something is asked. The key is sent to the endpoint and shown nowhere else.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from ir.config import Settings
from ir.errors import LlmError
from ir.options import choice

__all__ = ["LlmClient", "first_use"]

Prompt = str | Sequence[Mapping[str, str]]

_MAX_REPLY_BYTES = 10_000_000
_READ_BYTES = 65_536
_SHOWN_CHARS = 200
_TRANSPORT = (OSError, http.client.HTTPException)
_CONFIGURE = "Set one with: ir config set llm.base_url URL; ir config set llm.model NAME."


class _Passing(Exception):
    """A failure that another try may mend; ``wait`` is what the server asked for, in seconds."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class LlmClient:
    """Asks one model at one endpoint. ``timeout_s`` bounds a whole answer, tries included; in a stream, each wait."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    retries: int = 2
    backoff_s: float = 0.5
    temperature: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise LlmError("llm.base_url must be an http or https address.", remedy=_CONFIGURE)
        if parts.username or parts.password:
            raise LlmError(
                "llm.base_url must not hold a user name or password.",
                remedy="Put the key in an environment variable and its name in llm.api_key_env.",
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise LlmError("The key for the language model holds characters that no header may hold.")

    @classmethod
    def from_settings(cls, **overrides: Any) -> LlmClient:
        """The client that the settings describe; keywords that are not ``None`` override them."""
        _check_names(overrides)
        settings = Settings.load()
        given = {name: value for name, value in overrides.items() if value is not None}
        known = {name: settings[f"llm.{name}"] for name in ("base_url", "model", "timeout_s")}
        merged = {**known, "api_key": settings.llm_api_key(), **given}
        missing = [name for name in ("base_url", "model") if not merged[name]]
        if missing:
            raise LlmError(f"No language model is configured: llm.{missing[0]} is not set.", remedy=_CONFIGURE)
        if merged["api_key"] is not None:
            merged["api_key"] = str(merged["api_key"]).strip() or None
        return cls(**merged)

    def __call__(self, prompt: Prompt) -> str:
        return self.complete(prompt)

    def complete(self, prompt: Prompt) -> str:
        """The model's answer, never empty; :class:`~ir.errors.LlmError` if there is none to be had."""
        deadline = time.monotonic() + self.timeout_s
        answer: str = self._retrying(lambda: _content(self._read(prompt, deadline)), deadline)
        return answer

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer piece by piece. A failure before the first piece is retried, a later one raises."""
        deadline = time.monotonic() + self.timeout_s
        pieces, first = self._retrying(lambda: self._begin(prompt), deadline)
        yield first
        try:
            yield from pieces
        except (_Passing, *_TRANSPORT) as error:
            raise LlmError(f"The answer of {self._where} broke off: {self._told(error)}.") from None

    def _begin(self, prompt: Prompt) -> tuple[Iterator[str], str]:
        pieces = self._pieces(prompt)
        first = next(pieces, None)
        if first is None:
            raise LlmError(f"{self._where} answered with an empty text.")
        return pieces, first

    def _pieces(self, prompt: Prompt) -> Iterator[str]:
        with self._open(prompt, self.timeout_s, stream=True) as response:
            if "json" in response.headers.get_content_type():
                yield _content(response.read(_MAX_REPLY_BYTES))
                return
            while line := response.readline(_READ_BYTES):
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                piece, ended = _piece(data)
                if piece:
                    yield piece
                if ended:
                    return
        raise _Passing("the stream ended before the answer did")

    def _read(self, prompt: Prompt, deadline: float) -> bytes:
        """One answer in whole, giving up at the deadline even on a server that drips."""
        data = b""
        with self._open(prompt, max(deadline - time.monotonic(), 0.01)) as response:
            while chunk := response.read1(_READ_BYTES):
                data += chunk
                if len(data) > _MAX_REPLY_BYTES:
                    raise LlmError(f"The answer of {self._where} is longer than {_MAX_REPLY_BYTES:,} bytes.")
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
        return data

    @contextmanager
    def _open(self, prompt: Prompt, timeout: float, *, stream: bool = False) -> Iterator[http.client.HTTPResponse]:
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(item) for item in prompt]
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": stream}
        body |= {name: getattr(self, name) for name in ("temperature", "max_tokens") if getattr(self, name) is not None}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream" if stream else "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        address = self.base_url.rstrip("/") + "/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers, method="POST")
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            response = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        with response:
            yield response

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        try:
            said = self._masked(" ".join(error.read(2000).decode("utf-8", "replace").split()))[:_SHOWN_CHARS]
        except _TRANSPORT:
            said = ""
        message = f"HTTP status {error.code}" + (f" ({said})" if said else "")
        if error.code == 429 or error.code >= 500:
            after = error.headers.get("Retry-After", "") if error.headers else ""
            return _Passing(message, float(after) if after.isdigit() else None)
        return LlmError(f"{self._where} refused the request: {message}.", remedy="Check llm.base_url, model and key.")

    def _retrying(self, attempt: Callable[[], Any], deadline: float) -> Any:
        tries = 0
        while True:
            try:
                return attempt()
            except (_Passing, *_TRANSPORT) as error:
                tries += 1
                asked = error.wait if isinstance(error, _Passing) else None
                wait = asked if asked is not None else self.backoff_s * 2 ** (tries - 1)
                if tries > self.retries or time.monotonic() + wait >= deadline:
                    raise LlmError(
                        f"{self._where} did not answer after {tries} tries: {self._told(error)}.",
                        remedy="Check that it runs and that llm.base_url is right, or raise llm.timeout_s.",
                    ) from None
                time.sleep(wait)

    @property
    def _where(self) -> str:
        return f"The language model {self.model!r} at {urlsplit(self.base_url).netloc}"

    def _told(self, error: BaseException) -> str:
        reason = getattr(error, "reason", None) or error
        return self._masked(str(reason).strip() or type(reason).__name__)

    def _masked(self, text: str) -> str:
        return text.replace(self.api_key, "***") if self.api_key else text


def first_use(**overrides: Any) -> Callable[[str], str]:
    """``prompt -> answer`` by the configured model; the settings are read when it is first called."""
    _check_names(overrides)
    made: list[LlmClient] = []

    def complete(prompt: str) -> str:
        if not made:
            made.append(LlmClient.from_settings(**overrides))
        return made[0].complete(prompt)

    return complete


def _check_names(overrides: Mapping[str, Any]) -> None:
    for name in overrides:
        choice("language model setting", name, [item.name for item in fields(LlmClient)])


def _content(data: bytes) -> str:
    """The text of a whole answer."""
    reply = _parsed(data)
    try:
        content = reply["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        content = None
    if not isinstance(content, str) or not content.strip():
        raise LlmError("The language model's answer holds no text.", remedy="Check that the endpoint is a chat model.")
    return content


def _piece(data: bytes) -> tuple[str, bool]:
    """The text of one event of a stream, and whether it is the last."""
    event = _parsed(data)
    if not isinstance(event, dict) or "error" in event:
        raise LlmError("The language model reported an error in its stream.")
    try:
        choice_ = event["choices"][0] if event.get("choices") else {}
        text = (choice_.get("delta") or {}).get("content") or ""
        return str(text), choice_.get("finish_reason") is not None
    except (KeyError, IndexError, TypeError, AttributeError):
        raise LlmError("The language model's stream is not in the chat format.") from None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise LlmError("The language model's answer is not JSON.", remedy="Check llm.base_url.") from None
