"""Which embedder a command uses when the user did not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir.errors import EmbedderError

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.app.targets import Target

__all__ = ["embedder_for"]


def embedder_for(target: Target, asked: str | None, ctx: Context) -> Any:
    """The embedder to build with: the one asked for, the corpus's own, the one set, or the best on this machine."""
    if asked:
        return asked
    own = _own(target, ctx)
    if own:
        return own
    chosen = ctx.settings["embedder"]
    if chosen != "default":
        return chosen
    from ir.embed import best_available

    best = best_available()
    ctx.note(f"embedding with {best!r}, the best embedder on this machine")
    return best


def _own(target: Target, ctx: Context) -> str | None:
    """The embedder that the corpus was registered with on purpose, else the one that built it."""
    from ir.index.embedder import CUSTOM
    from ir.registry import get

    registered = str((get(target.name) or {}).get("embedder") or "default")
    held = _held(target)
    if registered not in ("default", CUSTOM):
        if held not in (None, registered):
            ctx.note(f"embedding with {registered!r}, as registered; it was built with {held!r}")
        return registered
    if held == CUSTOM:
        raise EmbedderError(
            f"The corpus {target.name!r} was built with an embedder of your own, which no command can call.",
            remedy="Build it from Python with that one, or with another one by --embedder NAME.",
        )
    return held


def _held(target: Target) -> str | None:
    if not target.built:
        return None
    from ir.index import open_store

    with open_store(target.name) as store:
        spec = store.get_config().get("embedder")
    return str(spec) if spec else None
