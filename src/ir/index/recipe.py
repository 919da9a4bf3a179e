"""What a corpus is to be made with: strategy, embedder and language, settled before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ir.errors import InvalidInput
from ir.index.embedder import resolve, spec_text
from ir.index.scan import Target
from ir.protocols import Embedder, IndexingStrategy, Store

__all__ = ["Recipe", "recipe_for"]


@dataclass(frozen=True)
class Recipe:
    """``spec`` is what makes the embedder again, as text; ``config`` are the store's settings before the build."""

    strategy: IndexingStrategy
    embedder: Embedder
    spec: str
    language: str
    target: Target
    config: Mapping[str, Any]

    def settings(self, source: Any, dim: int | None) -> dict[str, Any]:
        """The settings of the corpus after the build."""
        settings = {
            **self.config,
            "name": source.name,
            "embedder": self.spec,
            "embedder_id": self.target.embedder_id,
            "fingerprint": _fingerprint(self.embedder),
            "dim": dim,
            "strategy_id": self.target.strategy_id,
            "language": self.language,
            "format": 1,
        }
        kind = getattr(source, "kind", None)
        if isinstance(kind, str):
            settings["source_kind"] = kind
        return settings


def recipe_for(source: Any, store: Store, *, embedder: Any, language: str | None) -> Recipe:
    """The recipe for a build of ``source`` into ``store``; no text is embedded for it, except to know a stranger."""
    from ir.strategy import strategy_id

    config = store.get_config()
    spec = embedder if embedder is not None else source.embedder
    made, embedder_id = resolve(spec)
    strategy = _budgeted(source.indexing_strategy, made)
    held = config.get("embedder_id")
    same_model = held != embedder_id or config.get("fingerprint") in (None, _fingerprint(made))
    return Recipe(
        strategy=strategy,
        embedder=made,
        spec=spec_text(spec),
        language=_language(language or getattr(source, "language", None) or config.get("language") or "english"),
        target=Target(embedder_id, strategy_id(strategy), same_model),
        config=config,
    )


def _language(name: str) -> str:
    from ir.analysis import analyzer_for

    analyzer_for(name)  # an unknown language is an error before anything is read
    return name


def _budgeted(strategy: Any, embedder: Any) -> IndexingStrategy:
    if not callable(getattr(strategy, "decompose", None)):
        raise InvalidInput(f"A strategy needs a 'decompose' method; {strategy!r} has none.")
    window = getattr(embedder, "max_tokens", None)
    fit = getattr(strategy, "with_budget", None)
    if not window or fit is None:
        return strategy  # type: ignore[no-any-return]
    return fit(window, getattr(embedder, "count_tokens", None))  # type: ignore[no-any-return]


def _fingerprint(embedder: Any) -> str | None:
    found = getattr(embedder, "fingerprint", None)
    return None if found is None else str(found)
