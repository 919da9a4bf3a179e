"""Tokens for those who ask over HTTP: make one, list them, take one back.

They are made at a terminal alone: whoever could make them over HTTP could make one that may do more than their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace, in_workspace, workspace_name
from ir.errors import NotFound

if TYPE_CHECKING:
    from ir.access import Token

__all__ = [
    "TokenCreateRequest",
    "TokenCreateResponse",
    "TokenLine",
    "TokenListRequest",
    "TokenListResponse",
    "TokenRevokeRequest",
    "TokenRevokeResponse",
    "create_token",
    "list_tokens",
    "revoke_token",
]

#: A field of several requests, described once.
WORKSPACE = Arg("a workspace", blank=False, metavar="NAME", help="The workspace; without it the current one.")


@dataclass(frozen=True)
class TokenLine(Value):
    """A token as it may be shown. ``state`` is ``active``, ``revoked`` or ``expired``."""

    id: str
    name: str
    workspace: str
    corpora: tuple[str, ...] | None
    scopes: tuple[str, ...]
    created: str
    expires: str | None
    state: str
    requests_per_minute: int | None = None

    @classmethod
    def of(cls, token: Token) -> TokenLine:
        return cls(
            token.id,
            token.name,
            token.workspace,
            None if token.corpora is None else tuple(sorted(token.corpora)),
            tuple(sorted(token.scopes)),
            token.created.isoformat(timespec="seconds"),
            None if token.expires is None else token.expires.isoformat(timespec="seconds"),
            token.state(),
            token.requests_per_minute,
        )


@dataclass(frozen=True)
class TokenCreateRequest(Value):
    """``corpora`` are those that it may see, without any all of the workspace; ``expires`` is how long it is good
    for."""

    name: Annotated[str, Arg("what to call it", blank=False, metavar="NAME", help="What to call it.")]
    workspace: Annotated[str | None, WORKSPACE] = None
    corpora: Annotated[
        tuple[str, ...],
        Arg(
            "the corpora that it may see",
            flag="--corpus",
            blank=False,
            metavar="CORPUS",
            help="Let it see this corpus alone. Repeatable.",
        ),
    ] = ()
    scopes: Annotated[
        tuple[str, ...],
        Arg(
            "what it may be used for",
            flag="--scope",
            choices="ir.access:SCOPES",
            metavar="SCOPE",
            help="read, write or admin (read). Repeatable.",
        ),
    ] = ()
    expires: Annotated[
        str | None,
        Arg("how long it is good for, such as 30d", blank=False, metavar="SPAN", help="How long it is good for: 30d."),
    ] = None
    requests: Annotated[
        int | None,
        Arg("how many requests it may make a minute", min=1, metavar="N", help="Allow N requests a minute."),
    ] = None


@dataclass(frozen=True)
class TokenCreateResponse(Value):
    """``secret`` is what a client sends; it is told here, and nowhere else."""

    token: TokenLine
    secret: str
    kept_at: str

    def to_dict(self) -> dict[str, Any]:
        return {"token": self.token.to_dict(), "secret": self.secret, "kept_at": self.kept_at}


@dataclass(frozen=True)
class TokenListRequest(Value):
    """All tokens, or those of a workspace."""

    workspace: Annotated[str | None, WORKSPACE] = None


@dataclass(frozen=True)
class TokenListResponse(Value):
    tokens: tuple[TokenLine, ...]
    kept_at: str

    def to_dict(self) -> dict[str, Any]:
        return {"tokens": [token.to_dict() for token in self.tokens], "kept_at": self.kept_at}


@dataclass(frozen=True)
class TokenRevokeRequest(Value):
    """``token`` is an id, or a name that only one token has that can be used."""

    token: Annotated[str, Arg("the id or the name of a token", blank=False, metavar="ID|NAME")]


@dataclass(frozen=True)
class TokenRevokeResponse(Value):
    """``was_active``: it could be used until now."""

    token: TokenLine
    was_active: bool

    def to_dict(self) -> dict[str, Any]:
        return {"token": self.token.to_dict(), "was_active": self.was_active}


@operation("token-create", summary="Make a token for clients over HTTP", effect="writes", scope="machine")
def create_token(request: TokenCreateRequest, ctx: Context) -> TokenCreateResponse:
    from ir.access import open_access

    workspace = workspace_name(request.workspace or current_workspace())
    with open_access() as access:
        if workspace != DEFAULT_WORKSPACE and access.workspace(workspace) is None:
            raise NotFound(
                f"There is no workspace {workspace!r}.", remedy=f"Make it with: ir workspace create {workspace}"
            )
        token, secret = access.create(
            request.name,
            workspace=workspace,
            corpora=request.corpora or None,
            scopes=request.scopes or ("read",),
            expires=request.expires,
            requests_per_minute=request.requests,
        )
        _note_missing(request.corpora, workspace, ctx)
        return TokenCreateResponse(TokenLine.of(token), secret, access.label)


def _note_missing(corpora: tuple[str, ...], workspace: str, ctx: Context) -> None:
    from ir.app.targets import is_listed

    with in_workspace(workspace):
        for name in corpora:
            if not is_listed(name):
                ctx.note(f"there is no corpus {name!r} in the workspace {workspace!r} yet")


@operation("tokens", summary="List the tokens", effect="reads", scope="machine")
def list_tokens(request: TokenListRequest, ctx: Context) -> TokenListResponse:
    from ir.access import open_access

    with open_access() as access:
        found = access.tokens(request.workspace) if access.exists() else []
        return TokenListResponse(tuple(map(TokenLine.of, found)), access.label)


@operation("token-revoke", summary="Let a token be used no more", effect="writes", scope="machine")
def revoke_token(request: TokenRevokeRequest, ctx: Context) -> TokenRevokeResponse:
    from ir.access import open_access

    with open_access() as access:
        tokens = access.tokens() if access.exists() else []
        token_id = _meant(request.token, tokens).id
        was_active = access.revoke(token_id)
        now = next(token for token in access.tokens() if token.id == token_id)
    return TokenRevokeResponse(TokenLine.of(now), was_active)


def _meant(word: str, tokens: list[Token]) -> Token:
    """The token of that id; else the only one of that name that can be used."""
    exact = [token for token in tokens if token.id == word]
    named = exact or [token for token in tokens if token.name == word and token.state() == "active"]
    if len(named) == 1:
        return named[0]
    if named:
        raise NotFound(
            f"{len(named)} tokens are called {word!r}.",
            remedy=f"Say which by its id: {', '.join(token.id for token in named)}.",
        )
    raise NotFound(f"There is no token {word!r}.", remedy="`ir token ls` lists them.")
