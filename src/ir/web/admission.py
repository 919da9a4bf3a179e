"""Who asks: known by a token, or anybody on this machine as long as no token was made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ir.app.context import Caller
from ir.config.workspace import current_workspace
from ir.errors import IrError
from ir.web.places import own_names
from ir.web.refusals import Refusal, of_error, too_many
from ir.web.workers import Workers

if TYPE_CHECKING:
    from ir.access import Access, Allowance, Token

__all__ = ["Admission", "Guest"]

#: So long whoever was found is taken for the same without asking again.
_FRESH_S = 0.5
_MOST_REMEMBERED = 4096
_Result = TypeVar("_Result")
_SCOPES = ("read", "write", "admin")
_REALM = 'Bearer realm="ir"'


@dataclass(frozen=True)
class Guest:
    """Somebody who may ask; without a ``token`` it is the user of this machine, who may do anything."""

    name: str
    workspace: str
    token: Token | None = None

    @property
    def corpora(self) -> frozenset[str] | None:
        return None if self.token is None else self.token.corpora

    @property
    def scopes(self) -> tuple[str, ...]:
        return _SCOPES if self.token is None else tuple(one for one in _SCOPES if self.token.allows(one))

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.workspace, self.corpora)

    def require(self, scope: str) -> None:
        """A refusal if the token is not for that."""
        if scope not in self.scopes:
            raise Refusal(
                403,
                "insufficient_scope",
                f"The token may not be used for that: it lacks the scope {scope!r}.",
                remedy="Ask who runs the server for a token with that scope: ir token create --scope.",
                headers={"www-authenticate": f'{_REALM}, error="insufficient_scope", scope="{scope}"'},
            )

    def may_see(self, corpus: str) -> bool:
        return self.corpora is None or corpus in self.corpora


class Admission:
    """Knows whom to let in. With ``always`` a token is needed even before there is one: for a server that others reach.

    What is kept in a database is asked on a thread; what was found holds for half a second.
    """

    def __init__(self, access: Access, *, always: bool) -> None:
        self._access = access
        self._always = always
        self._workers = Workers("admission", 2, 1024)
        self._found: dict[str | None, tuple[float, Guest, bool]] = {}

    @property
    def access(self) -> Access:
        return self._access

    async def guest(self, header: str | None) -> Guest:
        """Who sends this ``Authorization`` header, counted against their limit; a refusal for anybody else."""
        secret = _secret(header)
        held = self._found.get(secret)
        if held is not None and time.monotonic() - held[0] < _FRESH_S and not held[2]:
            return held[1]
        guest, limited, allowance = await self.ask(lambda: self._look(secret))
        if len(self._found) >= _MOST_REMEMBERED:
            self._found.clear()
        self._found[secret] = (time.monotonic(), guest, limited)
        if not allowance.allowed:
            raise too_many(allowance.retry_after_s)
        return guest

    async def still(self, header: str | None) -> bool:
        """Whether who was let in with this header still would be; nobody while that cannot be looked up."""
        if header is None:
            return True
        try:
            secret = _secret(header)
            return secret is None or await self.ask(lambda: self._access.find(secret)) is not None
        except Refusal:
            return False

    async def needs_token(self) -> bool:
        """Whether nobody is let in without a token."""
        return self._always or await self.ask(self._access.has_tokens)

    async def check(self) -> None:
        """An error if nobody could be let in now."""
        await self.ask(self._access.has_tokens)

    async def ask(self, work: Callable[[], _Result]) -> _Result:
        """What comes of asking the database, on a thread; a refusal if it is away."""
        try:
            return await self._workers.submit(work)
        except IrError as error:
            raise of_error(error, {}, own_names(str(Path(self._access.label).parent))) from error

    def close(self) -> None:
        self._workers.close()
        self._access.close()

    def _look(self, secret: str | None) -> tuple[Guest, bool, Allowance]:
        access = self._access
        if secret is None:
            if self._always or access.has_tokens():
                raise _no_token()
            guest = Guest("anybody", current_workspace())
        else:
            token = access.find(secret)
            if token is None:
                raise _wrong_token()
            guest = Guest(token.name, token.workspace, token)
        limits = access.quota(guest.workspace).requests_per_minute, guest.token and guest.token.requests_per_minute
        allowance = access.take(guest.token, workspace=guest.workspace)
        return guest, any(limit is not None for limit in limits), allowance


def _secret(header: str | None) -> str | None:
    if header is None:
        return None
    scheme, _, given = header.partition(" ")
    if scheme.lower() != "bearer" or not given.strip():
        raise _wrong_token()
    return given.strip()


def _no_token() -> Refusal:
    return Refusal(
        401,
        "token_needed",
        "A token is needed: Authorization: Bearer TOKEN.",
        remedy="Who runs the server makes one: ir token create NAME.",
        headers={"www-authenticate": _REALM},
    )


def _wrong_token() -> Refusal:
    """The same for what is unknown, revoked and expired: none of them says more."""
    return Refusal(
        401,
        "token_wrong",
        "The token is not one that is let in here.",
        remedy="Who runs the server makes a new one: ir token create NAME.",
        headers={"www-authenticate": f'{_REALM}, error="invalid_token"'},
    )
