"""A small client for any OpenAI-compatible chat endpoint, on the standard library alone.

Nothing here touches the network before something is asked. The key is sent to the endpoint and shown nowhere else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from ir.config import Settings
from ir.endpoint import MAX_REPLY_BYTES, READ_BYTES, TRANSPORT, Endpoint, Passing
from ir.errors import LlmError
from ir.options import choice
from ir.secrets.texts import for_show

__all__ = ["LlmClient", "first_use"]

Prompt = str | Sequence[Mapping[str, str]]

_PATH = "/chat/completions"
_CONFIGURE = "Set one with: ir config set llm.base_url URL; ir config set llm.model NAME."
_CHECK = "Check that it runs and that llm.base_url, llm.model and the key are right, or raise llm.timeout_s."


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
        self._endpoint  # noqa: B018  an address or a key that cannot be used is refused at once

    @cached_property
    def _endpoint(self) -> Endpoint:
        name = f"The language model {self.model!r} at {urlsplit(self.base_url).netloc.rpartition('@')[2]}"
        return Endpoint(
            self.base_url, name, LlmError, _CHECK, "llm.base_url", self.api_key, self.retries, self.backoff_s
        )

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
        ask = self._endpoint
        return ask.retrying(lambda: _content(ask.read(_PATH, self._body(prompt), deadline)), deadline)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer piece by piece. A failure before the first piece is retried, a later one raises."""
        deadline = time.monotonic() + self.timeout_s
        pieces, first = self._endpoint.retrying(lambda: self._begin(prompt), deadline)
        yield first
        try:
            yield from pieces
        except (Passing, *TRANSPORT) as error:
            raise LlmError(f"{self._endpoint.name} broke off its answer: {self._endpoint.told(error)}.") from None

    def _begin(self, prompt: Prompt) -> tuple[Iterator[str], str]:
        pieces = self._pieces(prompt)
        first = next(pieces, None)
        if first is None:
            raise LlmError(f"{self._endpoint.name} answered with an empty text.")
        return pieces, first

    def _pieces(self, prompt: Prompt) -> Iterator[str]:
        body = self._body(prompt, stream=True)
        with self._endpoint.open(_PATH, body, self.timeout_s, accept="text/event-stream") as response:
            if "json" in response.headers.get_content_type():
                yield _content(response.read(MAX_REPLY_BYTES))
                return
            while line := response.readline(READ_BYTES):
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
        raise Passing("the stream ended before the answer did")

    def _body(self, prompt: Prompt, *, stream: bool = False) -> dict[str, Any]:
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(item) for item in prompt]
        messages = for_show(asked)  # who answers is somebody else
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": stream}
        return body | {
            name: getattr(self, name) for name in ("temperature", "max_tokens") if getattr(self, name) is not None
        }


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
    except (ValueError, RecursionError):
        raise LlmError("The language model's answer is not JSON.", remedy="Check llm.base_url.") from None
