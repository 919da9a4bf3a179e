"""What follows once a book is read: vectors by every model that it has, and links that need them or other books."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ir.app.context import Context
from ir.app.embedders import is_one_model
from ir.app.targets import Target

if TYPE_CHECKING:
    from ir.store.base import BaseStore

__all__ = ["add_spaces", "check_embedded", "draw_similar_again", "tell_siblings"]


def add_spaces(store: BaseStore, name: str, models: Sequence[str], ctx: Context) -> int:
    """Embed the book by the models that it does not have yet, and by those that it has what changed."""
    from ir.index import open_corpus
    from ir.index.spaces import add_space, free_name

    config = store.get_config()
    own, upgrade = str(config.get("embedder")), config.get("upgrade") or {}
    spaces = {
        space: str(told["embedder"])
        for space, told in (config.get("spaces") or {}).items()
        if space not in (upgrade.get("fast"), upgrade.get("better"))
    }
    for model in models:
        if not any(is_one_model(model, held) for held in (own, *spaces.values())):
            spaces[free_name(model, [*store.spaces(), *spaces])] = model
    lacking = {space: model for space, model in spaces.items() if space not in store.spaces() or _lacks(store, space)}
    if not lacking:
        return 0
    corpus = open_corpus(name)
    with corpus.store:
        return sum(add_space(corpus, space, embedder=model, progress=ctx.progress) for space, model in lacking.items())


def _lacks(store: BaseStore, space: str) -> bool:
    return bool(store.unembedded(space=space, limit=1))


def draw_similar_again(store: BaseStore, threshold: float) -> None:
    """The default space may be another one since the build."""
    from ir.book.similar import draw_similar

    with store.transaction():
        draw_similar(store, threshold)


def check_embedded(store: BaseStore) -> None:
    """A passage without a vector would never be found by meaning, and nobody would know."""
    from ir.errors import EmbedderError

    missing = store.unembedded(limit=3)
    if missing:
        named = ", ".join(
            f"{one.metadata.get('chunk', one.id)} ({one.artifact_id})" for one in store.get_records(missing)
        )
        raise EmbedderError(
            f"There is no vector of {named}.", remedy="Ingest the book again; what is there is not embedded again."
        )


def tell_siblings(name: str, ctx: Context) -> None:
    """Let the other books of the workspace refer to this one."""
    from ir.book.elsewhere import books, settle
    from ir.errors import IrError

    for other in books():
        if other == name or not Target(other).built:
            continue
        try:
            with ctx.store(other) as store, store.transaction():
                settle(store, other)
        except IrError as error:
            ctx.note(f"the references of {other!r} are as they were: {error.message}")
