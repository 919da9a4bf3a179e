"""The servers that texts are sent to: the user chooses them, and nobody who asks from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir.app.embedders import chosen_for
from ir.app.fields import fields_of
from ir.config.keys import names_server
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.context import Context

__all__ = ["check_servers", "corpora_of"]

#: The kinds of rerankers that read on this machine, whatever model follows.
_LOCAL = ("maxsim", "cross-encoder")
_CORPORA = ("target", "targets", "corpus", "corpora")


def check_servers(request: Any, ctx: Context) -> None:
    """An error for a model on a server that the user did not choose: texts would leave the machine, and the user pays.

    What the user has set is allowed, and for a corpus the embedder that it was registered or built with.
    """
    for field in fields_of(type(request)).values():
        setting, value = field.arg.setting, getattr(request, field.name)
        if setting is None or not isinstance(value, str) or not _calls_server(setting, value):
            continue
        word = value.strip()
        if word == ctx.settings[setting] or (setting == "embedder" and _built_with(word, request, ctx)):
            continue
        raise InvalidInput(
            f"{field.name} names a server that the user did not choose.",
            remedy=f"Leave out {field.name}, or ask the user to set {setting}.",
        )


def corpora_of(request: Any) -> list[str]:
    """The corpora that a request names, by whatever field."""
    found = [getattr(request, name, None) or () for name in _CORPORA]
    return [word for one in found for word in ((one,) if isinstance(one, str) else one)]


def _calls_server(setting: str, word: str) -> bool:
    if setting != "embedder" and word.strip().partition(":")[0] in _LOCAL:
        return False
    return names_server(word)


def _built_with(embedder: str, request: Any, ctx: Context) -> bool:
    """Whether the user chose it for all corpora that are asked."""
    words = corpora_of(request)
    return bool(words) and all(embedder in chosen_for(ctx.target(word).name) for word in words)
