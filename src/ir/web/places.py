"""Places of this machine, as somebody elsewhere is told of them: where in a corpus, never where on the disk.

>>> names = Names(["/srv/notes", "/home/ir"])
>>> names.in_json(b'{"path": "/srv/notes/tea.md", "text": "It is in /srv/notes/tea.md."}')
b'{"path": "tea.md", "text": "It is in /srv/notes/tea.md."}'
>>> names.in_words("There is no file '/srv/notes/tea.md' in '/srv/notes', nor in /srv/notes-2.")
"There is no file 'tea.md' in 'notes', nor in /srv/notes-2."
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from ir.config.paths import cache_dir, config_dir, data_dir, runtime_dir
from ir.config.workspace import in_workspace
from ir.errors import IrError

__all__ = ["Names", "names_for", "own_names"]

_MOST_REMEMBERED = 256
_remembered: dict[str, tuple[Any, Names]] = {}
_lock = Lock()


class Names:
    """Says paths below some folders as they are seen from there; the innermost folder counts."""

    def __init__(self, folders: Iterable[str]) -> None:
        found = sorted({folder.rstrip("/\\") for folder in folders} - {""}, key=len, reverse=True)
        self._json = self._words = None
        if found:
            escaped = b"|".join(re.escape(json.dumps(folder, ensure_ascii=False)[1:-1].encode()) for folder in found)
            # What stands in the texts of documents is theirs; a place of ours is a string by itself.
            self._json = re.compile(rb'"(?<!\\")(?:' + escaped + rb')(?:(/|\\\\)|(?="))')
            words = "|".join(map(re.escape, found))
            self._words = re.compile(rf"(?<![\w./\\-])({words})(?:[/\\](?=[^\s'\"])|(?![\w/\\-]))")

    def in_json(self, body: bytes) -> bytes:
        """JSON whose strings are no places of this machine."""
        return body if self._json is None else self._json.sub(lambda found: b'"' if found[1] else b'".', body)

    def in_words(self, text: str) -> str:
        """A sentence that names no place of this machine."""
        if self._words is None:
            return text
        return self._words.sub(lambda found: "" if found[0] != found[1] else Path(found[1]).name, text)


def own_names(*more: str) -> Names:
    """The names for those of whom nothing is known yet: places are told from the user's own folders, and from these."""
    return Names((*_own_folders(), *more))


def names_for(workspace: str) -> Names:
    """The names for those who see a workspace: places are told from its corpora's folders, and from the user's own.
    Made again when a corpus came or went."""
    from ir.registry import entered, state

    with in_workspace(workspace):
        try:
            now = (state(), _own_folders())
            held = _remembered.get(workspace)
            if held is None or held[0] != now:
                held = (now, Names((*now[1], *_folders(entered().values()))))
                with _lock:
                    if len(_remembered) >= _MOST_REMEMBERED:
                        _remembered.clear()
                    _remembered[workspace] = held
            return held[1]
        except IrError:  # a registry that is away
            return own_names()


def _own_folders() -> tuple[str, ...]:
    own = (config_dir(), data_dir(), cache_dir(), runtime_dir(), Path.home())
    return tuple(str(folder) for folder in own)


def _folders(entries: Iterable[Any]) -> Iterator[str]:
    """The folders that corpora are made from, as they were given and as they really are."""
    for entry in entries:
        for given in entry.get("params", {}).values():
            for word in given if isinstance(given, list) else (given,):
                if isinstance(word, str) and Path(word).is_absolute():
                    for path in (Path(word), Path(word).resolve()):
                        yield str(path.parent if path.is_file() else path)
