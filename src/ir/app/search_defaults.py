"""How a command searches a corpus: as the user says, else as it was tuned, else as is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.index import Corpus

__all__ = ["graph_in_force", "graph_option", "ranking_option", "search_options"]


def search_options(
    corpus: Corpus, ctx: Context, *, mode: str | None, fusion: str | None, ranking: str | None = None
) -> dict[str, Any]:
    """The mode, and what goes with it. A tuned choice is taken whole or, if the user says anything else, not at all."""
    ranked = {"ranking": ranking_option(ctx, ranking)}
    from ir.retrieve import tuned_options

    said = mode or fusion or any(ctx.settings.origin(name) != "default" for name in ("mode", "fusion"))
    tuned = {} if said else ctx.known(corpus, "tuned", lambda: tuned_options(corpus))
    if tuned:
        return {**tuned, **ranked}
    return {"mode": mode or ctx.settings["mode"], "fusion": fusion or ctx.settings["fusion"], **ranked}


def graph_option(ctx: Context, asked: str | None) -> str | None:
    """The boost along links that the user says, else that is set; ``None`` for the one that the corpus asks for."""
    from ir.options import AUTO_GRAPH

    said = asked or ctx.settings["graph"]
    return None if said == AUTO_GRAPH else str(said)


def graph_in_force(corpus: Corpus, ctx: Context, asked: str | None) -> Any:
    """The boost along links that a search of the corpus makes, be it the corpus's own; ``None`` for none."""
    return graph_option(ctx, asked) or corpus.store.get_config().get("graph")


def ranking_option(ctx: Context, asked: str | None) -> str | None:
    """The ranking that the user says, else that is set; ``None`` for the one that the corpus asks for."""
    from ir.options import AUTO_RANKING

    said = asked or ctx.settings["ranking"]
    return None if said == AUTO_RANKING else str(said)
