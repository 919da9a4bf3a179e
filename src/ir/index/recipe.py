"""What a corpus is to be made with: strategy, embedder and language, settled before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ir.errors import EmbedderError, InvalidInput
from ir.index.embedder import CUSTOM, is_of, resolve, spec_text
from ir.index.scan import Target
from ir.options import GRAPHS, RANKINGS, choice
from ir.protocols import (
    Embedder,
    IndexingStrategy,
    Source,
    Store,
    WithBodyFile,
    WithKind,
    WithLanguage,
    WithRevision,
)

__all__ = ["Recipe", "recipe_for"]

#: So many artifacts, and so many characters of each, are looked at to tell the language.
_SAMPLE = 200
_SAMPLE_CHARACTERS = 2000


@dataclass(frozen=True)
class Recipe:
    """``spec`` is what makes the embedder again, as text; ``config`` are the store's settings before the build.

    ``revision`` is what the source's repository had checked out when the build began.
    """

    strategy: IndexingStrategy
    embedder: Embedder
    spec: str
    language: str
    target: Target
    config: Mapping[str, Any]
    revision: Mapping[str, Any] | None = None

    def settings(self, source: Source, dim: int | None) -> dict[str, Any]:
        """The settings of the corpus after the build."""
        settings = {
            **self.config,
            "name": source.name,
            "embedder": self.spec,
            "embedder_id": self.target.embedder_id,
            "fingerprint": self._fingerprint(),
            "dim": dim,
            "strategy_id": self.target.strategy_id,
            "language": self.language,
            "format": 1,
        }
        settings.pop("alpha", None)
        alpha = _blend_alpha(self.embedder)
        if alpha is not None:
            settings["alpha"] = alpha
        settings.pop("ranking", None)
        ranking = getattr(self.strategy, "ranking", None)
        if ranking is not None:
            settings["ranking"] = choice("ranking", ranking, RANKINGS)
        settings.pop("graph", None)
        graph = getattr(self.strategy, "graph", None)
        if graph is not None:
            settings["graph"] = choice("graph", graph, GRAPHS)
        settings.pop("bodies", None)
        if isinstance(source.scope, WithBodyFile) and source.scope.bodies is not None:
            settings["bodies"] = dict(source.scope.bodies)
        settings.pop("git", None)
        if self.revision is not None:
            settings["git"] = dict(self.revision)
        if isinstance(source, WithKind) and source.kind is not None:
            settings["source_kind"] = source.kind
        return settings

    def _fingerprint(self) -> str | None:
        """That of the embedder; of two that mean the same, the one that the corpus has."""
        found = getattr(self.embedder, "fingerprint", None)
        held = self.config.get("fingerprint")
        # One in the form of an earlier version told less: it is replaced.
        if held and "-~" in held and is_of(self.embedder, held):
            return str(held)
        return None if found is None else str(found)


def recipe_for(source: Source, store: Store, *, embedder: Any, language: str | None) -> Recipe:
    """The recipe for a build of ``source`` into ``store``; no text is embedded for it, except to know a stranger."""
    from ir.strategy import strategy_id

    config = store.get_config()
    spec = embedder if embedder is not None else _settled(source.embedder, config.get("embedder"))
    made, embedder_id = resolve(spec)
    strategy = _budgeted(source.indexing_strategy, made)
    held = config.get("embedder_id")
    stored = config.get("fingerprint")
    same_model = held != embedder_id or stored is None or is_of(made, stored)
    told = source.language if isinstance(source, WithLanguage) else None
    asked = language or told or config.get("language") or "english"
    return Recipe(
        strategy=strategy,
        embedder=made,
        spec=spec_text(spec),
        language=_language(asked, source, strategy, config.get("language")),
        target=Target(embedder_id, strategy_id(strategy), same_model, held),
        config=config,
        revision=source.scope.revision() if isinstance(source.scope, WithRevision) else None,
    )


def _settled(spec: Any, held: Any) -> Any:
    """What a source that asks for nothing special is embedded with: the network, or where it is not, what is there.

    A corpus that the network built is not moved away from it; one that another model built keeps that.
    """
    if spec not in (None, "default"):
        return spec
    from ir.embed.models import DEFAULT_MODEL, best_available, canonical_name, has_own_loaders

    best = best_available()
    if best == DEFAULT_MODEL or has_own_loaders() or canonical_name(str(held)) == DEFAULT_MODEL:
        return spec
    return best if held in (None, CUSTOM) else held


def _language(name: str, source: Source, strategy: IndexingStrategy, held: str | None) -> str:
    """The language to analyse texts by; to be told from them, that of a corpus once built stays."""
    from ir.analysis import AUTO, analyzer_for, detect_language

    if name == AUTO:
        return held or detect_language(_sample(source, strategy))
    analyzer_for(name)  # an unknown language is an error before anything is read
    return name


def _sample(source: Source, strategy: IndexingStrategy) -> list[str]:
    """Some texts from all over the source; what cannot be read is left out here, and reported by the build."""
    ids = list(source.scope)
    texts = []
    for artifact_id in islice(ids, 0, None, max(1, len(ids) // _SAMPLE)):
        try:
            plan = strategy.decompose(artifact_id, source.scope[artifact_id])
        except Exception:
            continue
        texts.append(" ".join(surface.text for surface in plan.surfaces)[:_SAMPLE_CHARACTERS])
    return texts


def _blend_alpha(embedder: Any) -> float | None:
    """How much an embedder's vectors should count against words, if it says so."""
    value = getattr(embedder, "blend_alpha", None)
    if value is None or (isinstance(value, (int, float)) and 0 <= value <= 1):
        return None if value is None else float(value)
    raise EmbedderError(f"The embedder's blend_alpha must be a number from 0 to 1, not {value!r}.")


def _budgeted(strategy: Any, embedder: Any) -> IndexingStrategy:
    if not callable(getattr(strategy, "decompose", None)):
        raise InvalidInput(f"A strategy needs a 'decompose' method; {strategy!r} has none.")
    window = getattr(embedder, "max_tokens", None)
    fit = getattr(strategy, "with_budget", None)
    if not window or fit is None:
        return strategy  # type: ignore[no-any-return]
    return fit(window, getattr(embedder, "count_tokens", None))  # type: ignore[no-any-return]
