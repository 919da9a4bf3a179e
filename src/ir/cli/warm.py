"""Asking the daemon that runs, if one does: it has the corpora open and the model in memory. It is never needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ir.config import Settings, user_file

__all__ = ["asked_of_daemon"]

#: What a daemon is asked: questions, whose answers are the same whoever gives them.
_QUESTIONS = frozenset({"search", "discover", "get", "grep", "similar", "ontology-query"})


def asked_of_daemon(
    name: str,
    request: Any,
    settings: Settings,
    note: Callable[[str], None],
    *,
    refresh: bool | None,
    attended: bool,
) -> Any:
    """The response of a daemon of this version, home and these settings; ``None`` if there is none that can tell.

    ``attended`` if somebody sees what is said, so that work may go on after the answer. An error that the operation
    ends with is raised here as it would be without a daemon.
    """
    if name not in _QUESTIONS or settings["daemon"] == "off" or not _plain(settings):
        return None
    from ir.serve.runtime import running_home

    if not running_home():
        return None
    from ir.serve.link import Link
    from ir.serve.operations import packed, unpacked

    link = Link(start=False, same=True)
    try:
        asked = {
            "operation": name,
            "request": packed(_placed(request)),
            "refresh": refresh,
            "attended": attended,
            "settings": dict(settings),
        }
        answer = link.ask("operation", asked)
    finally:
        link.close()
    if "result" not in answer:
        return None
    for sentence in answer["result"]["notes"]:
        note(sentence)
    found = unpacked(answer["result"]["outcome"])
    if isinstance(found, Exception):
        raise found
    return found


def _plain(settings: Settings) -> bool:
    """Whether a daemon can have the same settings: it knows no project's file."""
    return all(
        one.origin in ("default", str(user_file())) or one.origin.startswith("env") for one in settings.explain()
    )


def _placed(request: Any) -> Any:
    """The request with paths that mean the same in every folder."""
    from ir.app.targets import resolve

    def named(word: str) -> str:
        target = resolve(word)
        return target.name if target.path is None else str(target.path)

    if isinstance(getattr(request, "targets", None), tuple):
        return replace(request, targets=tuple(map(named, request.targets)))
    target = request.target
    return replace(request, target=named(target) if isinstance(target, str) else tuple(map(named, target)))
