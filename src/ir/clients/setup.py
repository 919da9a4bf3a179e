"""Entering the server and the skill in a client's files, and taking them out again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir.clients import jsonc, toml
from ir.clients.catalog import CLIENTS, SERVER, Client
from ir.clients.handshake import Handshake, HandshakeFailed, shake_hands
from ir.clients.jsonc import Unreadable
from ir.clients.launch import Launch
from ir.clients.skill import skill_text
from ir.config.files import permissions_for, write_atomic
from ir.errors import ClientError, StoreUnwritable

__all__ = ["Change", "Setup", "check", "clients_with_entries", "held_entry"]

#: What is put behind the name of a file that keeps the state before the last change.
BACKUP = ".ir-backup"
#: A file of one user's settings may come to hold keys.
_PRIVATE = 0o600
_ATTEMPTS = 3


@dataclass(frozen=True)
class Change:
    """What happens to a file: ``did`` is added, updated, removed, unchanged, absent (nothing was there), or kept
    (other clients use it). What was there is kept as ``backup``, unless all of it was ``ours``."""

    what: str
    path: Path
    did: str
    before: str | None = None
    after: str | None = None
    ours: bool = False
    backup: Path | None = None


class Setup:
    """Changes to the files of clients, in ``project`` or for the user; ``dry`` only says what would be done.

    What was written is put back by :meth:`undo`, which an interruption calls for.
    """

    def __init__(self, launch: Launch, *, project: Path | None = None, skill: bool = True, dry: bool = False) -> None:
        self.launch, self.project, self.skill, self.dry = launch, project, skill, dry
        self.changes: list[Change] = []
        self._done: list[Change] = []
        self._left: set[str] = set()
        self._skills: set[Path] = set()

    def install(self, client: Client) -> list[Change]:
        """Enter the server and the skill. Where that fails, :attr:`changes` are those that were made before."""
        self.changes = []
        self._settle(client, self._entered)
        place = client.skill(self.project)
        if self.skill and place not in self._skills:
            self._skills.add(place)
            self._settle(client, self._skill_added)
        return self.changes

    def remove(self, client: Client) -> list[Change]:
        """Take both out; a skill stays while another client that has the server reads it in the same place."""
        self.changes = []
        self._settle(client, self._taken_out)
        self._left.add(client.name)
        self._settle(client, self._skill_removed)
        return self.changes

    def undo(self) -> None:
        """Put back what was there, newest first."""
        while self._done:
            change = self._done.pop()
            with suppress(OSError, StoreUnwritable):
                if change.before is None:
                    self._delete(change.path)
                else:
                    write_atomic(change.path, change.before)
                if change.backup is not None:
                    change.backup.unlink()

    # -- what to do ------------------------------------------------------------------------------------------------

    def _entered(self, client: Client) -> Change:
        path = self._file(client)
        before = _read(path)
        held = _held(client, path, before)
        entry = client.entry(self.launch, held)
        try:
            after = _with_entry(client, before or "", held, entry)
        except Unreadable as error:
            raise _refused(path, error, client, entry) from error
        did = "unchanged" if after == before else "added" if held is None else "updated"
        return Change("server", path, did, before, after)

    def _taken_out(self, client: Client) -> Change:
        path = self._file(client)
        before = _read(path)
        held = _held(client, path, before)
        if before is None or held is None:
            return Change("server", path, "absent")
        made = _with_entry(client, "", None, client.entry(self.launch, None))
        if before == made and not path.is_symlink():
            return Change("server", path, "removed", before, ours=True)
        try:
            edit = toml.without_table if client.is_toml else jsonc.without_entry
            return Change("server", path, "removed", before, edit(before, client.path))
        except Unreadable as error:
            raise _refused(path, error, client) from error

    def _skill_added(self, client: Client) -> Change:
        path, after = client.skill(self.project), skill_text()
        before = _read(path)
        did = "unchanged" if before == after else "added" if before is None else "updated"
        return Change("skill", path, did, before, after)  # an older one of ours, or edited: who knows

    def _skill_removed(self, client: Client) -> Change:
        path = client.skill(self.project)
        before = _read(path)
        if before is None or path in self._skills:
            return Change("skill", path, "absent")
        others = [other for other in CLIENTS.values() if other.name not in self._left]
        if any(other.skill(self.project) == path and self._has(other) for other in others):
            return Change("skill", path, "kept")
        self._skills.add(path)
        return Change("skill", path, "removed", before, ours=before == skill_text())

    def _has(self, client: Client) -> bool:
        with suppress(ClientError):
            return held_entry(client, self.project) is not None
        return True  # who knows

    def _file(self, client: Client) -> Path:
        path = client.file(self.project)
        if path is None:
            raise ClientError(f"{client.title} has no settings for a project.", remedy="Leave out --project.")
        return path

    # -- doing it --------------------------------------------------------------------------------------------------

    def _settle(self, client: Client, decide: Callable[[Client], Change]) -> None:
        """Decide and write; decide again if somebody changed the file meanwhile."""
        for _ in range(_ATTEMPTS):
            change = decide(client)
            if self.dry or change.before == change.after:
                self.changes.append(change)
                return
            if _read(change.path) == change.before:
                self.changes.append(self._write(change))
                return
        raise ClientError(f"{change.path} changes all the time.", remedy=f"Close {client.title} and try again.")

    def _write(self, change: Change) -> Change:
        try:
            if change.before is not None and not change.ours:
                backup = change.path.with_name(change.path.name + BACKUP)
                write_atomic(backup, change.before, permissions=permissions_for(change.path))
                change = replace(change, backup=backup)
            self._done.append(change)
            if change.after is None:
                self._delete(change.path)
            else:
                private = change.before is None and self.project is None and change.what == "server"
                write_atomic(change.path, change.after, permissions=_PRIVATE if private else None)
        except OSError as error:
            reason = error.message if isinstance(error, StoreUnwritable) else f"Cannot write {change.path}: {error}."
            raise ClientError(reason, remedy="Make the file and its folder writable.") from error
        return change

    def _delete(self, path: Path) -> None:
        """Remove a file, and the folders above it that this leaves empty: those may have been made for it."""
        path.unlink(missing_ok=True)
        top = self.project or Path.home()
        with suppress(OSError):
            for folder in path.parents:
                if top not in folder.parents:
                    break
                folder.rmdir()


def held_entry(client: Client, project: Path | None) -> dict[str, Any] | None:
    """What stands for the server in a client's file; ``None`` if nothing does."""
    path = client.file(project)
    held = _held(client, path, _read(path)) if path else None
    return held if isinstance(held, dict) else None


def clients_with_entries(project: Path | None, among: Collection[Client] = tuple(CLIENTS.values())) -> list[Client]:
    """The clients that have an entry for the server, and those whose files cannot be read."""
    found = []
    for client in among:
        try:
            if held_entry(client, project) is not None:
                found.append(client)
        except ClientError:
            found.append(client)
    return found


def check(client: Client, project: Path | None, *, timeout_s: float = 30.0) -> Handshake:
    """Start the server as the client's file says, and ask it who it is."""
    entry: Any = held_entry(client, project) or {}
    command, env = entry.get("command"), entry.get(client.env_key) or {}
    if isinstance(command, dict):  # an older form of Zed
        command, entry = command.get("path"), command
    words = command if isinstance(command, list) else [command, *(entry.get("args") or ())]
    if not command or not all(isinstance(word, str) for word in words) or not isinstance(env, dict):
        raise HandshakeFailed("the entry names no command to start")
    return shake_hands(words, {str(name): str(value) for name, value in env.items()}, timeout_s=timeout_s)


# -- files -----------------------------------------------------------------------------------------------------------


def _read(path: Path) -> str | None:
    """The text of a file to the last byte; ``None`` if there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ClientError(f"{path} is no text in UTF-8; nothing was changed.", remedy="Mend it first.") from error
    except OSError as error:
        raise ClientError(f"{path} cannot be read: {error.strerror}.", remedy="Nothing was changed.") from error


# -- texts -----------------------------------------------------------------------------------------------------------


def _held(client: Client, path: Path, text: str | None) -> Any:
    if not text:
        return None
    try:
        document = toml.parse(text) if client.is_toml else jsonc.parse(text)
    except Unreadable as error:
        raise _refused(path, error, client) from error
    for key in client.path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _with_entry(client: Client, text: str, held: Any, entry: dict[str, Any]) -> str:
    if client.is_toml:
        return toml.with_table(text, client.path, entry)
    if not isinstance(held, dict) or any(key in held for key in ("url", "httpUrl", "serverUrl")):
        return jsonc.with_entry(text, client.path, entry)
    for key, value in entry.items():  # one by one, so that what a user wrote between them stays
        text = jsonc.with_entry(text, (*client.path, key), value)
    return text


def _refused(path: Path, error: Unreadable, client: Client, entry: dict[str, Any] | None = None) -> ClientError:
    remedy = "Mend it and try again."
    if entry is not None:
        remedy = f"Add it by hand, under {client.key}: {json.dumps({SERVER: entry}, ensure_ascii=False)}"
    return ClientError(f"{path} cannot be changed ({error}); it stays as it is.", remedy=remedy)
