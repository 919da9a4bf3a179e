"""What is known of those who ask: tokens, workspaces with their quotas, and what a call was allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["SCOPES", "Allowance", "Quota", "Token", "Usage", "Workspace", "check_scopes"]

#: What a token may be used for: what reads, what writes, and the tokens, workspaces and figures of others.
SCOPES = ("read", "write", "admin")


@dataclass(frozen=True)
class Token:
    """A token without its secret. ``corpora`` are those that it may name (``None``: all of the workspace).

    ``requests_per_minute`` is its own limit, beside that of its workspace. Times are in UTC; ``None`` is never.
    """

    id: str
    name: str
    workspace: str
    corpora: frozenset[str] | None
    scopes: frozenset[str]
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    requests_per_minute: int | None = None

    def allows(self, scope: str) -> bool:
        """Whether it may be used for that. Who may administer may also write, and who may write may read.

        >>> at = datetime(2026, 5, 8, tzinfo=UTC)
        >>> writes = Token("a1", "ci", "default", None, frozenset({"write"}), at)
        >>> writes.allows("read"), writes.allows("admin")
        (True, False)
        """
        asked = SCOPES.index(choice("scope", scope, SCOPES))
        return any(SCOPES.index(held) >= asked for held in self.scopes)

    def usable(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime | None = None) -> str:
        """``active``, ``revoked`` or ``expired``."""
        if self.revoked is not None:
            return "revoked"
        return "active" if self.usable(now or datetime.now(UTC)) else "expired"


@dataclass(frozen=True)
class Quota:
    """The most that a workspace may hold and ask; ``None`` is without a limit.

    >>> Quota(records=1000).bytes is None
    True
    """

    records: int | None = None
    bytes: int | None = None
    requests_per_minute: int | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            most(item.name, getattr(self, item.name), least=1 if item.name == "requests_per_minute" else 0)

    def __bool__(self) -> bool:
        return any(getattr(self, item.name) is not None for item in fields(self))


@dataclass(frozen=True)
class Usage:
    """What a workspace holds, or one corpus of it."""

    records: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Workspace:
    """A workspace that somebody made, with what it may hold."""

    name: str
    quota: Quota
    created: datetime


@dataclass(frozen=True)
class Allowance:
    """Whether a call may go on; if not, after how many seconds the next may be tried.

    ``limit`` is the number of requests a minute that is nearest to being used up, and ``remaining`` what is left of
    it now; both are ``None`` where there is no limit.
    """

    allowed: bool
    retry_after_s: float = 0.0
    limit: int | None = None
    remaining: int | None = None


def most(name: str, value: Any, *, least: int = 0) -> int | None:
    """A number that limits something, or ``None``."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and least <= value <= 2**62):
        raise InvalidInput(f"{name} must be a whole number of at least {least}, or nothing, not {value!r}.")
    return None if value is None else int(value)


def check_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes, if they all exist and there is one."""
    if isinstance(scopes, str):
        scopes = (scopes,)
    found = frozenset(choice("scope", scope, SCOPES) for scope in scopes)
    if not found:
        raise InvalidInput("A token needs a scope.", remedy=f"Give one or more of: {', '.join(SCOPES)}.")
    return found
