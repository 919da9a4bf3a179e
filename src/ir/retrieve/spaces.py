"""Which space of vectors a search is made in, and by which embedder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.errors import EmbedderMismatch
from ir.options import SearchOptions
from ir.protocols import Snapshot

if TYPE_CHECKING:
    from ir.protocols import Embedder

__all__ = ["Space", "answered_by", "missing_vectors", "space_of"]


class Space(NamedTuple):
    """A space of vectors as a search needs it; ``name`` is ``None`` for the default one.

    ``settings`` are what the corpus remembers of the space: its ``embedder_id``, its own ``alpha``.
    """

    name: str | None
    embedder: Embedder
    dim: int | None
    settings: Mapping[str, Any]


def space_of(corpus: Any, snapshot: Snapshot, options: SearchOptions) -> Space:
    """The space of a search, with its embedder, which fits the vectors; words need none."""
    config, asked = snapshot.config(), options.space
    if options.mode == "lexical":
        return Space(None, corpus.embedder, None, config)
    if asked is None or asked == snapshot.default_space:
        return Space(None, _embedder(corpus, config), snapshot.dim, config)
    settings = (config.get("spaces") or {}).get(asked, {})
    return Space(asked, corpus.embedder_of(asked, config), snapshot.spaces()[asked], settings)


def missing_vectors(snapshot: Snapshot, space: Space, mode: str) -> tuple[bool, str | None]:
    """Whether no record has a vector in the space, and what to tell where some have none."""
    missing = snapshot.unembedded(space.name)
    if not missing:
        return False, None
    name = snapshot.default_space if space.name is None else space.name
    have, they = ("has", "it is") if missing == 1 else ("have", "they are")
    rest = "found by words" if mode == "hybrid" else "not found here, but by words with mode='hybrid'"
    told = f"{missing:,} of {len(snapshot):,} records {have} no vector in the space {name!r} yet; {they} {rest}."
    return missing == len(snapshot), told


def answered_by(snapshot: Snapshot, options: SearchOptions) -> dict[str, Any]:
    """What a search is answered by: words, a space of vectors with its model, and what is being made of a better one.

    ``upgrading`` is there while a corpus has a better model that has not read everything yet; ``done`` is the share of
    records that it has.
    """
    if options.mode == "lexical":
        return {"words": True, "space": None, "embedder": None}
    config, default, spaces = snapshot.config(), snapshot.default_space, snapshot.spaces()
    space = options.space or default
    told = config if space == default else (config.get("spaces") or {}).get(space, {})
    answer = {"words": options.mode == "hybrid", "space": space, "embedder": told.get("embedder_id")}
    upgrade = config.get("upgrade")
    if upgrade and space == default == upgrade["fast"]:
        better = upgrade.get("better")
        lacking = snapshot.unembedded(better) if better in spaces else len(snapshot)
        share = 1 - lacking / len(snapshot) if len(snapshot) else 0.0
        answer["upgrading"] = {"to": upgrade["to"], "done": round(share, 3)}
    return answer


def _embedder(corpus: Any, config: Mapping[str, Any]) -> Embedder:
    """That of the default space; a corpus that got a better one meanwhile turns to it."""
    built_with = config.get("embedder_id")
    if not built_with or not corpus.embedder_id or built_with == corpus.embedder_id:
        return corpus.embedder  # type: ignore[no-any-return]
    turn = getattr(corpus, "now_of", None)
    now: Embedder | None = turn(config) if turn is not None else None
    if now is None:
        raise EmbedderMismatch(
            f"The corpus {corpus.name!r} was built with the embedder {built_with!r}, "
            f"but is searched with {corpus.embedder_id!r}.",
            remedy="Open it with the embedder that built it, rebuild it, or search with mode='lexical'.",
        )
    return now
