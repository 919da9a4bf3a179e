"""What went wrong, in the words of the door through which it is told.

>>> from ir.errors import InvalidInput
>>> error = InvalidInput("--forget goes with no other option.", remedy="Leave out --dry-run.")
>>> describe(error, "mcp").to_dict()
{'code': 'invalid_input', 'message': 'forget goes with no other option.', 'remedy': ''}
>>> describe(error, "cli").remedy
'Leave out --dry-run.'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ir.app.context import AGENT_DOORS
from ir.app.operation import Value
from ir.errors import IrError

__all__ = ["Problem", "describe"]

_FLAG = re.compile(r"(?<![\w-])--?([A-Za-z][\w-]*)")
_COMMAND = re.compile(r"\b(?:ir [a-z]|pip install)")
_SENTENCES = re.compile(r"(?<=[.;:])\s+")
#: What an agent can do about a kind of error, where the error itself does not say.
_FOR_AGENTS = {
    "corpus_not_built": "The operation `status` lists the corpora that can be asked; ask the user to build this one.",
    "access_unavailable": "Try again in a moment.",
    "corpus_busy": "Try again in a moment.",
    "corpus_corrupt": "Ask the user to rebuild it.",
    "format_mismatch": "Ask the user to rebuild it with this version.",
    "store_unwritable": "Ask the user to make room or to give write access.",
    "embedder_unavailable": "Ask by words alone with mode='lexical', or ask the user to install the model.",
    "embedder_mismatch": "Leave the embedder out, or ask by words alone with mode='lexical'.",
    "embedder_error": "Ask by words alone with mode='lexical'.",
    "missing_extra": "Ask the user to install it.",
    "no_ledger_entry": "A search shows the ids of artifacts.",
    "too_many_jobs": "Try again when one of them has ended.",
    "quota_exceeded": "Ask the user to remove what is not needed, or to allow more.",
    "outside_corpus": "Name a corpus that `status` lists, and paths inside it.",
}


@dataclass(frozen=True)
class Problem(Value):
    """``code`` is for programs, the rest for whoever reads it."""

    code: str
    message: str
    remedy: str


def describe(error: IrError, door: str) -> Problem:
    """The error for a person at a terminal, for a program in Python, or for an agent, who has no options to write."""
    told = error.remedies
    if door not in AGENT_DOORS:
        return Problem(error.code, error.message, told.python or told.cli if door == "python" else told.cli)
    return Problem(error.code, without_flags(error.message), _for_agent(error))


def _for_agent(error: IrError) -> str:
    if error.remedies.agent is not None:
        return error.remedies.agent
    text = error.remedies.cli
    if not text or _FLAG.search(text) or _COMMAND.search(text):
        known = next((_FOR_AGENTS[kind.code] for kind in _kinds(error) if kind.code in _FOR_AGENTS), "")
        if known or not text:
            return known
    if _FLAG.search(text):
        text = " ".join(one for one in _SENTENCES.split(text) if not _FLAG.search(one) and not one.endswith(":"))
    return f"Ask the user: {text}" if _COMMAND.search(text) else text


def _kinds(error: IrError) -> list[type[IrError]]:
    return [kind for kind in type(error).__mro__ if issubclass(kind, IrError)]


def without_flags(text: str) -> str:
    """A sentence that names options by the fields they stand for.

    >>> without_flags("Leave out --dry-run or -k.")
    'Leave out dry_run or k.'
    """
    return _FLAG.sub(lambda found: found[1].replace("-", "_"), text)
