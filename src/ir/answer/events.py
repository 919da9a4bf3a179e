"""An answer as it comes about: what was found, each piece of text, and at the end what can be said of the whole."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ir.answer.citations import checked
from ir.answer.extract import extracted
from ir.answer.passages import Passage
from ir.answer.prompt import DFLT_CONTEXT_TOKENS, fitted, prompt_for
from ir.errors import IrError, LlmError

__all__ = ["EXTRACT", "KINDS", "Event", "Writer", "answer_events"]

#: The kinds of events, in the order in which they come; an ``error`` may stand for all that would follow.
KINDS = ("search", "context", "generation", "token", "complete", "error")
#: Who writes where there is no language model.
EXTRACT = "extract"


class Event(NamedTuple):
    """One step of an answer: its kind and what it carries, in JSON's types."""

    kind: str
    data: dict[str, Any]


class Writer(Protocol):
    """A language model that writes piece by piece; :class:`ir.llm.LlmClient` is one."""

    @property
    def model(self) -> str: ...

    def stream(self, prompt: Sequence[Mapping[str, str]]) -> Iterator[str]: ...


def answer_events(
    question: str,
    passages: Sequence[Passage],
    llm: Writer | None = None,
    *,
    history: Sequence[Mapping[str, str]] = (),
    max_tokens: int = DFLT_CONTEXT_TOKENS,
    refused: str | None = None,
) -> Iterator[Event]:
    """``context``, then ``generation``, ``token`` after ``token`` and ``complete``.

    The model is given what fits into ``max_tokens`` of the passages. Without one the best sentences are the answer.
    ``refused`` is why there is none: then nothing is generated. A failure of the model is an ``error`` event with what
    was written so far; whoever stops listening ends the request to it.
    """
    shown = fitted(passages, max_tokens)
    told = [{name: value for name, value in one.to_dict().items() if name not in ("text", "summary")} for one in shown]
    reason = refused or (None if shown else "Nothing was found that could answer it.")
    yield Event("context", {"count": len(shown), "passages": told, "abstained": reason is not None, "reason": reason})
    if reason is not None:
        yield Event("complete", _completed("", [], by="", seconds=0.0) | {"abstained": True, "reason": reason})
        return
    by = EXTRACT if llm is None else llm.model
    yield Event("generation", {"by": by})
    began, written = time.monotonic(), ""
    try:
        for piece in _pieces(question, shown, llm, history):
            written += piece
            yield Event("token", {"text": piece})
    except IrError as error:
        yield Event(
            "error", {"code": error.code, "message": error.message, "remedy": error.remedy, "answer": written, "by": by}
        )
        return
    yield Event("complete", _completed(written, shown, by=by, seconds=time.monotonic() - began))


def _pieces(
    question: str, passages: Sequence[Passage], llm: Writer | None, history: Sequence[Mapping[str, str]]
) -> Iterator[str]:
    if llm is None:
        yield from re.findall(r"\S+\s*", extracted(question, passages))
        return
    stream = llm.stream(prompt_for(question, passages, history))
    try:
        yield from stream
    except (OSError, ValueError) as error:  # a client of somebody's own
        raise LlmError(f"The language model broke off: {error}") from error
    finally:
        close = getattr(stream, "close", None)
        if close is not None:
            close()


def _completed(answer: str, passages: Sequence[Passage], *, by: str, seconds: float) -> dict[str, Any]:
    found = checked(answer, passages)
    about = {"answer": answer, "by": by, "abstained": False, "reason": None, "seconds": round(seconds, 3)}
    return about | found.to_dict()
