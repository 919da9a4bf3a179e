"""Which embedder a command uses when the user did not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.app.targets import Target

__all__ = ["embedder_for"]


def embedder_for(target: Target, asked: str | None, ctx: Context) -> Any:
    """The embedder to build with: the one asked for, the corpus's own, the one set, or the best on this machine."""
    if asked:
        return asked
    own = _own(target)
    if own:
        return own
    chosen = ctx.settings["embedder"]
    if chosen != "default":
        return chosen
    from ir.embed import best_available

    best = best_available()
    ctx.note(f"embedding with {best!r}, the best embedder on this machine")
    return best


def _own(target: Target) -> str | None:
    """The embedder that built the corpus, or that it was registered with on purpose."""
    if target.built:
        from ir.index import open_store

        with open_store(target.name) as store:
            spec = store.get_config().get("embedder")
        return str(spec) if spec else None
    if target.path is None:
        from ir.registry import registered

        spec = registered().get(target.name, {}).get("embedder")
        return str(spec) if spec and spec != "default" else None
    return None
