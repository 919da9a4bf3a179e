"""What is this artifact about, in a few sentences? A surface written by a language model, put before the others."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ir.base import Artifact, IndexPlan, Surface
from ir.errors import InvalidInput, IrError
from ir.llm import first_use
from ir.protocols import IndexingStrategy, Synthesizer
from ir.strategy import Wrapped, text_of

__all__ = ["SYNOPSIS_KIND", "SYNOPSIS_PROMPT", "make_llm_synthesizer", "with_synopsis"]

SYNOPSIS_KIND = "synopsis"
#: ``when`` that gives every artifact a synopsis.
ALWAYS = "always"
SYNOPSIS_PROMPT = (
    "Write a concise synopsis (2-4 sentences) of the document below: what it is about and what questions it answers, "
    "so that a search over synopses can route to it. Output only the synopsis, no preamble.\n\nDocument:\n{text}"
)
#: How much of a document the model is shown.
MAX_PROMPT_CHARS = 50_000

_log = logging.getLogger(__name__)


def make_llm_synthesizer(
    *,
    summarize: Callable[[str], str] | None = None,
    prompt: str = SYNOPSIS_PROMPT,
    model: str | None = None,
    synthesizer_id: str | None = None,
    text_key: str | None = None,
    text_fields: Sequence[str] | None = None,
    **prompt_function_kwargs: Any,
) -> Synthesizer:
    """A synthesizer that lets a language model describe an artifact.

    ``summarize(text)`` may stand in for the model; without one the configured model is asked, on first use. An empty
    text, and any failure (logged), give ``""``: then there is no synopsis rather than an invented one. The result
    carries ``synthesizer_id``, which tells an index when synopses are stale; by default it is made of the model's
    name, the prompt and ``text_fields``.

    ``text_key`` names the field of a mapping that is described. ``text_fields`` names several instead: those texts,
    each on lines of its own, and nothing else of the mapping are shown to the model.
    """
    if summarize is not None and not callable(summarize):
        raise InvalidInput(f"summarize must be callable, not {summarize!r}.")
    fields = _checked_fields(text_fields, text_key)
    ask = summarize or _asking(prompt, {"model": model, **prompt_function_kwargs})
    return _LlmSynthesizer(ask, synthesizer_id or _default_id(prompt, model, fields), text_key, fields)


def _checked_fields(text_fields: Sequence[str] | None, text_key: str | None) -> tuple[str, ...] | None:
    if text_fields is None:
        return None
    if text_key is not None:
        raise InvalidInput("Give either text_key or text_fields, not both: each says what the model is shown.")
    if isinstance(text_fields, str) or not text_fields or not all(isinstance(name, str) for name in text_fields):
        raise InvalidInput(f"text_fields must be a list of field names, not {text_fields!r}.")
    return tuple(text_fields)


class _LlmSynthesizer:
    """The callable that :func:`make_llm_synthesizer` returns."""

    def __init__(
        self,
        ask: Callable[[str], str],
        synthesizer_id: str,
        text_key: str | None,
        text_fields: tuple[str, ...] | None = None,
    ) -> None:
        self._ask = ask
        self.synthesizer_id = synthesizer_id
        self.text_key = text_key
        self.text_fields = text_fields

    def __call__(self, artifact: Artifact) -> str:
        text = self._text(artifact.raw)
        if not text.strip():
            return ""
        try:
            reply = self._ask(text)
        except Exception as error:
            return _none(artifact, error)
        return reply.strip() if isinstance(reply, str) else ""

    def _text(self, raw: Any) -> str:
        if self.text_fields is None or not isinstance(raw, Mapping):
            return text_of(raw, self.text_key)
        texts = (text_of(raw[name]).strip() for name in self.text_fields if raw.get(name) is not None)
        return "\n\n".join(text for text in texts if text)

    def reading(self, text_key: str | None) -> _LlmSynthesizer:
        """The same, for the field that a strategy indexes, unless it was told its own."""
        if self.text_key is not None or self.text_fields is not None or text_key is None:
            return self
        return _LlmSynthesizer(self._ask, self.synthesizer_id, text_key)


def with_synopsis(
    strategy: IndexingStrategy,
    *,
    synthesize: Callable[[Artifact], str] | None = None,
    synthesizer_id: str | None = None,
    synopsis_kind: str = SYNOPSIS_KIND,
    when: Callable[[Artifact], bool] | str | None = ALWAYS,
) -> IndexingStrategy:
    """``strategy`` with one more surface, a synopsis, before its own.

    ``synthesize(artifact)`` writes it, by default a language model; an empty answer, or a failure, adds nothing.
    ``when(artifact)`` says which artifacts get one; ``"always"`` gives one to all. Changing the synthesizer's id
    (``synthesizer_id``, else its own, else its name) makes the index stale, so give one to an unnamed function.

    >>> from ir.strategy import Chunked
    >>> strategy = with_synopsis(Chunked(), synthesize=lambda artifact: "a summary", synthesizer_id="v1")
    >>> [surface.kind for surface in strategy.decompose("a", "some text").surfaces]
    ['synopsis', 'chunk']
    """
    if synthesize is not None and not callable(synthesize):
        raise InvalidInput(f"synthesize must be callable, not {synthesize!r}.")
    if isinstance(when, str) and when == ALWAYS:
        when = None
    if isinstance(when, str) or not (when is None or callable(when)):
        raise InvalidInput(f"when must be {ALWAYS!r} or a function of an artifact, not {when!r}.")
    if not isinstance(synopsis_kind, str) or not synopsis_kind:
        raise InvalidInput(f"synopsis_kind must be a non-empty string, not {synopsis_kind!r}.")
    writer: Any = synthesize or make_llm_synthesizer()
    if isinstance(writer, _LlmSynthesizer):
        writer = writer.reading(getattr(strategy, "text_key", None))
    return _WithSynopsis(strategy, writer, synthesizer_id or _id_of(writer), synopsis_kind, when)


class _WithSynopsis(Wrapped):
    """The strategy that :func:`with_synopsis` returns."""

    def __init__(
        self,
        inner: IndexingStrategy,
        synthesize: Callable[[Artifact], str],
        synthesizer_id: str,
        synopsis_kind: str,
        when: Callable[[Artifact], bool] | None,
    ) -> None:
        super().__init__(inner)
        self.synthesizer_id = synthesizer_id
        self.synopsis_kind = synopsis_kind
        self.when_id = None if when is None else _id_of(when)
        self._synthesize = synthesize
        self._when = when

    def added(self, artifact: Artifact, plan: IndexPlan) -> Iterable[Surface]:
        if self._when is not None and not self._when(artifact):
            return []
        try:
            text = self._synthesize(artifact)
        except Exception as error:
            text = _none(artifact, error)
        if not isinstance(text, str) or not text.strip():
            return []
        return [Surface(artifact.id, self.synopsis_kind, text.strip())]


def _none(artifact: Artifact, error: Exception) -> str:
    """No synopsis: one that is missing costs some recall, a failure would cost the artifact its place in the index."""
    _log.warning("No synopsis of %r (%s: %s).", artifact.id, type(error).__name__, error)
    return ""


def _asking(prompt: str, settings: dict[str, Any]) -> Callable[[str], str]:
    complete = first_use(**settings)
    return lambda text: complete(prompt.replace("{text}", text[:MAX_PROMPT_CHARS]))


def _default_id(prompt: str, model: str | None, text_fields: tuple[str, ...] | None) -> str:
    fields = "" if text_fields is None else f":{','.join(text_fields)}"
    return f"oa:{model or _configured_model()}:{hashlib.sha256(prompt.encode()).hexdigest()[:12]}{fields}"


def _configured_model() -> str:
    """The model that the settings name, so that another one makes its synopses again."""
    from ir.config import Settings

    try:
        return str(Settings.load()["llm.model"] or "default")
    except IrError:
        return "default"


def _id_of(function: Any) -> str:
    given = getattr(function, "synthesizer_id", None) or getattr(function, "__qualname__", None)
    return str(given or type(function).__qualname__)
