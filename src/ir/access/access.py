"""Tokens, workspaces with quotas, and limits, for one process or for many that share them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from types import TracebackType
from typing import Any, Protocol, Self

from ir.access.values import Allowance, Quota, Token, Usage, Workspace, check_scopes, most
from ir.access.words import digest_of, id_of, new_word
from ir.config.workspace import DEFAULT_WORKSPACE, workspace_name
from ir.errors import InvalidInput, NotFound, QuotaExceeded
from ir.spans import span

__all__ = ["Access", "Tables"]

#: So long a token that was found is taken to be as it was: after it, revoking works in every process.
_FRESH_S = 1.0
_MOST_REMEMBERED = 4096
_MINUTE_S = 60.0
#: So long a notice of a job is kept after it was last heard of.
_NOTICE_S = 86_400.0
_NOBODY = "0" * 64
_WORKSPACE = "name, created, records, bytes, requests_per_minute"
_TOKEN = "id, name, workspace, corpora, scopes, created, expires, revoked, requests_per_minute"


class Tables(Protocol):
    """What keeps the tables of :mod:`ir.access.tables`."""

    @property
    def label(self) -> str: ...
    def exists(self) -> bool: ...
    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...
    def together(self) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...


class Access:
    """Who may ask, and how much. Threads may share one, and processes may share what it keeps.

    If it cannot be asked, that is :class:`ir.errors.AccessUnavailable`, never a yes.

    >>> from ir.access import open_access
    >>> with open_access() as access:
    ...     token, secret = access.create("ci", scopes=["read"], expires="30d")
    ...     access.find(secret) == token, access.revoke(token.id), access.find(secret)
    (True, True, None)
    """

    def __init__(self, tables: Tables, clock: Callable[[], float] = time.time) -> None:
        self._tables = tables
        self._clock = clock
        self._found: dict[str, tuple[float, Token]] = {}
        self._quotas: dict[str, tuple[float, Quota]] = {}
        self._has_tokens: tuple[float, bool] | None = None

    @property
    def label(self) -> str:
        """Where it is kept, without a password."""
        return self._tables.label

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and connections; it can be used again."""
        self._tables.close()

    def exists(self) -> bool:
        """Whether anything was ever kept; nothing is made to find out."""
        return self._tables.exists()

    def ready(self) -> None:
        """An error if it cannot be asked now."""
        self._tables.run("SELECT 1 FROM {at}about WHERE key = 'format'")

    # -- tokens ------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        *,
        workspace: str = DEFAULT_WORKSPACE,
        corpora: Iterable[str] | None = None,
        scopes: Iterable[str] = ("read",),
        expires: datetime | timedelta | str | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[Token, str]:
        """A new token, and its secret, which is told this once and kept nowhere.

        ``corpora`` are the names of those that it may see; without them it sees all of the workspace. ``expires`` is a
        moment, or how long it is good for, such as ``"30d"``.
        """
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidInput(f"A token needs a name that can be printed, not {name!r}.")
        token_id, secret = new_word()
        now = self._clock()
        token = Token(
            token_id,
            name.strip(),
            workspace_name(workspace),
            None if corpora is None else _names(corpora),
            check_scopes(scopes),
            _moment(now),
            _expiry(expires, now),
            None,
            most("requests_per_minute", requests_per_minute, least=1),
        )
        self._tables.run(
            f"INSERT INTO {{at}}tokens (digest, {_TOKEN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
            (
                digest_of(secret),
                token.id,
                token.name,
                token.workspace,
                None if token.corpora is None else json.dumps(sorted(token.corpora)),
                " ".join(sorted(token.scopes)),
                token.created.timestamp(),
                None if token.expires is None else token.expires.timestamp(),
                token.requests_per_minute,
            ),
        )
        self._has_tokens = None
        return token, secret

    def find(self, secret: str) -> Token | None:
        """The token of a secret; ``None`` if there is none, or if it was revoked or has expired.

        What was found is remembered for a second.
        """
        token_id = id_of(secret)
        if token_id is None:
            return None
        digest, now = digest_of(secret), self._clock()
        held = self._found.get(digest)
        if held is None or not 0 <= now - held[0] < _FRESH_S:
            rows = self._tables.run(f"SELECT digest, {_TOKEN} FROM {{at}}tokens WHERE id = ?", (token_id,))
            kept = str(rows[0][0]) if rows else _NOBODY
            if not compare_digest(kept, digest):
                return None
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            held = self._found[digest] = (now, _token(rows[0][1:]))
        return held[1] if held[1].usable(_moment(now)) else None

    def tokens(self, workspace: str | None = None) -> list[Token]:
        """All tokens that were ever made, or those of a workspace, oldest first."""
        rows = self._tables.run(f"SELECT {_TOKEN} FROM {{at}}tokens ORDER BY created, id")
        return [token for token in map(_token, rows) if workspace in (None, token.workspace)]

    def revoke(self, token_id: str) -> bool:
        """Let a token be used no more; whether it could be before. An unknown id is an error."""
        done = self._tables.run(
            "UPDATE {at}tokens SET revoked = {now} WHERE id = ? AND revoked IS NULL RETURNING id", (token_id,)
        )
        self._found.clear()
        if not done and not self._tables.run("SELECT 1 FROM {at}tokens WHERE id = ?", (token_id,)):
            raise NotFound(f"There is no token {token_id!r}.", remedy="`ir token ls` lists them.")
        return bool(done)

    def has_tokens(self) -> bool:
        """Whether a token was ever made: revoking the last one does not open the door to those without."""
        now = self._clock()
        if self._has_tokens is None or (not self._has_tokens[1] and not 0 <= now - self._has_tokens[0] < _FRESH_S):
            self._has_tokens = (now, bool(self._tables.run("SELECT 1 FROM {at}tokens LIMIT 1")))
        return self._has_tokens[1]

    # -- workspaces --------------------------------------------------------------------------------------------

    def create_workspace(self, name: str, quota: Quota | None = None) -> Workspace:
        """Make a workspace; one that there is already is an error."""
        made = self._tables.run(
            f"INSERT INTO {{at}}workspaces ({_WORKSPACE}) VALUES (?, {{now}}, ?, ?, ?) "
            f"ON CONFLICT (name) DO NOTHING RETURNING {_WORKSPACE}",
            (workspace_name(name), *_limits(quota or Quota())),
        )
        self._quotas.pop(name, None)
        if not made:
            raise InvalidInput(
                f"There is a workspace {name!r} already.", remedy=f"Change it with: ir workspace quota {name}"
            )
        return _workspace(made[0])

    def set_quota(self, name: str, quota: Quota) -> Workspace:
        """Change what a workspace may hold and ask; the default one needs not be made before."""
        if name == DEFAULT_WORKSPACE:
            self._tables.run(
                "INSERT INTO {at}workspaces (name, created) VALUES (?, {now}) ON CONFLICT (name) DO NOTHING", (name,)
            )
        changed = self._tables.run(
            "UPDATE {at}workspaces SET records = ?, bytes = ?, requests_per_minute = ? WHERE name = ? "
            f"RETURNING {_WORKSPACE}",
            (*_limits(quota), workspace_name(name)),
        )
        self._quotas.pop(name, None)
        if not changed:
            raise _no_workspace(name)
        return _workspace(changed[0])

    def workspaces(self) -> list[Workspace]:
        """The workspaces that were made, by name."""
        rows = self._tables.run(f"SELECT {_WORKSPACE} FROM {{at}}workspaces")
        return sorted(map(_workspace, rows), key=lambda one: one.name)

    def workspace(self, name: str) -> Workspace | None:
        """The workspace of that name, if somebody made it."""
        return next((one for one in self.workspaces() if one.name == name), None)

    def remove_workspace(self, name: str) -> list[Token]:
        """Forget a workspace with its quota, and revoke its tokens; those that could still be used."""
        workspace_name(name)
        ended = self._tables.run(
            f"UPDATE {{at}}tokens SET revoked = {{now}} WHERE workspace = ? AND revoked IS NULL RETURNING {_TOKEN}",
            (name,),
        )
        for statement in (
            "DELETE FROM {at}usage WHERE workspace = ?",
            "DELETE FROM {at}workspaces WHERE name = ?",
        ):
            self._tables.run(statement, (name,))
        self._tables.run("DELETE FROM {at}buckets WHERE key = ?", (f"workspace {name}",))
        self._found.clear()
        self._quotas.pop(name, None)
        return [_token(row) for row in ended]

    def quota(self, workspace: str) -> Quota:
        """What a workspace may hold and ask, remembered for a second; nothing limits one that nobody made."""
        now = self._clock()
        held = self._quotas.get(workspace)
        if held is None or not 0 <= now - held[0] < _FRESH_S:
            held = self._quotas[workspace] = (now, self._quota(workspace))
        return held[1]

    def _quota(self, workspace: str) -> Quota:
        rows = self._tables.run(
            "SELECT records, bytes, requests_per_minute FROM {at}workspaces WHERE name = ?", (workspace,)
        )
        return Quota(*rows[0]) if rows else Quota()

    # -- limits ------------------------------------------------------------------------------------------------

    def take(self, token: Token | None, cost: int = 1, *, workspace: str | None = None) -> Allowance:
        """Whether one more call may go on, counted for its token and for its workspace, in all processes together.

        Each has a bucket that holds a minute's requests and fills up evenly. A call that is refused takes nothing.
        """
        named = token.workspace if token is not None else workspace or DEFAULT_WORKSPACE
        limits = [(f"workspace {named}", self.quota(named).requests_per_minute)]
        if token is not None:
            limits.insert(0, (f"token {token.id}", token.requests_per_minute))
        taken: list[tuple[str, float, Allowance]] = []
        for key, limit in limits:
            if limit is None:
                continue
            seconds = min(max(cost, 0), limit) * _MINUTE_S / limit
            found = self._pour(key, limit, seconds)
            if not found.allowed:
                for former, poured, _ in taken:
                    self._tables.run("UPDATE {at}buckets SET full_at = full_at - ? WHERE key = ?", (poured, former))
                return found
            taken.append((key, seconds, found))
        if not taken:
            return Allowance(True)
        return min((found for _, _, found in taken), key=lambda one: one.remaining or 0)

    def _pour(self, key: str, limit: int, seconds: float) -> Allowance:
        """Take what takes ``seconds`` to fill up again out of one bucket; one statement, so that no two take the same.

        What is kept is the moment when it will be full. That is never more than a minute ahead, unless the clock was
        set back: then it is taken for full, for it would be empty until the clock is where it was.
        """
        last = "CASE WHEN b.full_at < {now} OR b.full_at > {now} + 61 THEN {now} ELSE b.full_at END"
        rows = self._tables.run(
            "INSERT INTO {at}buckets AS b (key, full_at) VALUES (?, {now} + ?) "
            f"ON CONFLICT (key) DO UPDATE SET full_at = {last} + ? WHERE {last} + ? <= {{now}} + 60.0001 "
            "RETURNING full_at - {now}",
            (key, seconds, seconds, seconds),
        )
        if rows:
            free = _MINUTE_S - float(rows[0][0])
            return Allowance(True, 0.0, limit, max(0, int(free * limit / _MINUTE_S + 0.001)))
        rows = self._tables.run("SELECT full_at - {now} FROM {at}buckets WHERE key = ?", (key,))
        waits = min(float(rows[0][0]), _MINUTE_S) if rows else 0.0
        free = max(0.0, _MINUTE_S - waits)
        return Allowance(False, max(0.001, waits + seconds - _MINUTE_S), limit, int(free * limit / _MINUTE_S))

    # -- notices of jobs ---------------------------------------------------------------------------------------

    def post(self, job: str, workspace: str, told: Mapping[str, Any]) -> bool:
        """Say to all processes how a job stands; whether one of them wants it to stop. Old notices go."""
        rows = self._tables.run(
            "INSERT INTO {at}jobs (id, workspace, told, seen) VALUES (?, ?, ?, {now}) "
            "ON CONFLICT (id) DO UPDATE SET told = excluded.told, seen = excluded.seen RETURNING stop",
            (job, workspace, json.dumps(told)),
        )
        self._tables.run("DELETE FROM {at}jobs WHERE seen < {now} - ?", (_NOTICE_S,))
        return bool(rows and rows[0][0])

    def posted(self, workspace: str, job: str | None = None) -> list[tuple[dict[str, Any], float]]:
        """The notices of the jobs of a workspace, or of one job, the latest last; and how many seconds old each is."""
        rows = self._tables.run(
            "SELECT told, {now} - seen, id FROM {at}jobs WHERE workspace = ? ORDER BY seen, id", (workspace,)
        )
        return [(json.loads(told), float(age)) for told, age, name in rows if job in (None, name)]

    def ask_to_stop(self, workspace: str, job: str) -> None:
        """Have whoever does a job stop it."""
        self._tables.run("UPDATE {at}jobs SET stop = TRUE WHERE workspace = ? AND id = ?", (workspace, job))

    # -- what a workspace holds --------------------------------------------------------------------------------

    def check_quota(
        self, workspace: str, corpus: str | None = None, *, records: int = 0, bytes: int = 0
    ) -> Usage | None:
        """Note that a corpus is to hold so much; :class:`ir.errors.QuotaExceeded` if its workspace may not.

        Looking and noting are one step for all processes. What the corpus held by the notes before is returned, for
        whoever has to put it back. Without a corpus it is only asked whether so much more would fit.
        """
        with self._tables.together():
            quota = self._quota(workspace)
            held = self.usage_of_corpora(workspace)
            former = held.pop(corpus, None) if corpus is not None else None
            grown = Usage(
                sum(one.records for one in held.values()) + records, sum(one.bytes for one in held.values()) + bytes
            )
            for told, most_of, before, after in (
                ("records", quota.records, former.records if former else 0, records),
                ("bytes", quota.bytes, former.bytes if former else 0, bytes),
            ):
                whole = getattr(grown, told)
                if most_of is not None and whole > most_of and (corpus is None or after > before):
                    raise _exceeded(workspace, told, most_of, whole)
            if corpus is not None:
                self._note(workspace, corpus, Usage(records, bytes))
        return former

    def usage(self, workspace: str) -> Usage:
        """What the corpora of a workspace hold together, as far as it was noted."""
        held = self.usage_of_corpora(workspace).values()
        return Usage(sum(one.records for one in held), sum(one.bytes for one in held))

    def usage_of_corpora(self, workspace: str) -> dict[str, Usage]:
        """What each corpus of a workspace holds, as far as it was noted."""
        rows = self._tables.run("SELECT corpus, records, bytes FROM {at}usage WHERE workspace = ?", (workspace,))
        return {str(corpus): Usage(int(records), int(size)) for corpus, records, size in rows}

    def note_usage(self, workspace: str, held: Mapping[str, Usage | None]) -> None:
        """Correct what is noted of some corpora, whatever the quota says; ``None`` for one that is gone."""
        with self._tables.together():
            for corpus, usage in held.items():
                if usage is None:
                    self._tables.run(
                        "DELETE FROM {at}usage WHERE workspace = ? AND corpus = ?", (workspace_name(workspace), corpus)
                    )
                else:
                    self._note(workspace, corpus, usage)

    def _note(self, workspace: str, corpus: str, usage: Usage) -> None:
        self._tables.run(
            "INSERT INTO {at}usage (workspace, corpus, records, bytes) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (workspace, corpus) DO UPDATE SET records = excluded.records, bytes = excluded.bytes",
            (workspace_name(workspace), corpus, usage.records, usage.bytes),
        )


def _names(corpora: Iterable[str]) -> frozenset[str]:
    found = frozenset([corpora] if isinstance(corpora, str) else corpora)
    wrong = next((name for name in found if not isinstance(name, str) or not name.strip()), None)
    if wrong is not None:
        raise InvalidInput(f"A token is bound to corpora by their names, not to {wrong!r}.")
    return found


def _expiry(expires: datetime | timedelta | str | None, now: float) -> datetime | None:
    if expires is None:
        return None
    if isinstance(expires, str):
        expires = span(expires)
    try:
        at = _moment(now) + expires if isinstance(expires, timedelta) else expires.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("A token cannot last that long.", remedy="Leave the end out for one that lasts.") from None
    if at <= _moment(now):
        raise InvalidInput("A token cannot expire before it was made.", remedy="Give a moment to come, such as 30d.")
    return at


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _token(row: Sequence[Any]) -> Token:
    token_id, name, workspace, corpora, scopes, created, expires, revoked, requests = row
    return Token(
        str(token_id),
        str(name),
        str(workspace),
        None if corpora is None else frozenset(json.loads(corpora)),
        frozenset(str(scopes).split()),
        _moment(created),
        None if expires is None else _moment(expires),
        None if revoked is None else _moment(revoked),
        None if requests is None else int(requests),
    )


def _workspace(row: Sequence[Any]) -> Workspace:
    name, created, *limits = row
    return Workspace(str(name), Quota(*limits), _moment(created))


def _limits(quota: Quota) -> Iterator[int | None]:
    return iter((quota.records, quota.bytes, quota.requests_per_minute))


def _exceeded(workspace: str, what: str, most_of: int, whole: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"The workspace {workspace!r} may hold {most_of:,} {what}, and this would make it {whole:,}. "
        "Nothing was written.",
        remedy=f"Remove what is not needed (ir rm, ir gc), or allow more: ir workspace quota {workspace}",
    )


def _no_workspace(name: str) -> NotFound:
    return NotFound(
        f"There is no workspace {name!r}.",
        remedy=f"Make it with: ir workspace create {name}; `ir workspace ls` lists them.",
    )
