"""A built corpus, ready to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from ir.errors import EmbedderError
from ir.index.embedder import CUSTOM, LazyEmbedder, embedder_for, resolve
from ir.options import SearchKeywords, shows_keywords

if TYPE_CHECKING:
    from ir.base import Hits
    from ir.index.report import BuildReport
    from ir.protocols import Embedder, Source, Store

__all__ = ["Corpus"]


@dataclass(repr=False)
class Corpus:
    """A store together with the embedder that its vectors were made by.

    Its length is the number of records in it; a corpus without any is still one, and true.
    ``report`` says what the build did that this value came from; ``None`` if the corpus was only opened.
    ``embedders`` holds embedders of your own for spaces beside the default one, by the name of the space.
    ``source`` is what it was built from, if it was built and not only opened.
    """

    name: str
    store: Store
    embedder: Embedder
    embedder_id: str
    report: BuildReport | None = None
    embedders: dict[str, Any] = field(default_factory=dict)
    source: Source | None = field(default=None, compare=False)
    #: What searches derive from a version of the corpus and use again: a name, the version and the value.
    derived: dict[str, tuple[str, Any]] = field(default_factory=dict, init=False, compare=False)
    _made: dict[str, Embedder] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        if not hasattr(self.embedder, "id"):
            # A bare function: it may not know of input_type.
            self.embedder, _ = resolve(self.embedder)

    def __len__(self) -> int:
        return len(self.store)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        # Without the embedder and the report, which names every artifact, and without asking the store anything.
        return f"Corpus({self.name!r}, {self.store!r}, embedder_id={self.embedder_id!r})"

    @shows_keywords
    def search(self, query: str, **keywords: Unpack[SearchKeywords]) -> Hits:
        """The best matches of ``query``; the keywords are those of :func:`ir.search`."""
        from ir.retrieve import search

        return search(self, query, **keywords)

    def now_of(self, config: Mapping[str, Any]) -> Embedder | None:
        """The embedder of a version that is searched by another model than this corpus was opened with.

        The corpus turns to it, unless it was given its embedder: then ``None``. No model is loaded before its first
        call.
        """
        held = self.embedder
        if not isinstance(held, LazyEmbedder) or held.given or config.get("embedder", CUSTOM) == CUSTOM:
            return None
        made = f":{config.get('embedder_id')}:{config.get('fingerprint')}"
        if made not in self._made:
            self._made[made] = embedder_for({**config, "name": self.name}, None)
        self.embedder, self.embedder_id = self._made[made], str(config.get("embedder_id"))
        return self._made[made]

    def embedder_of(self, space: str, config: Mapping[str, Any] | None = None) -> Embedder:
        """The embedder of a space of vectors beside the default one, as the corpus remembers it.

        No model is loaded before its first call. ``config`` are the settings of the version that is asked.
        """
        settings = ((self.store.get_config() if config is None else config).get("spaces") or {}).get(space, {})
        embedder_id, given = settings.get("embedder_id"), self.embedders.get(space)
        if embedder_id == self.embedder_id:
            return self.embedder
        if given is None and settings.get("embedder", CUSTOM) == CUSTOM:
            raise EmbedderError(
                f"The space {space!r} of {self.name!r} was made by an embedder of your own ({embedder_id!r}).",
                remedy=f"Give it: corpus.embedders[{space!r}] = …; or search the words alone with mode='lexical'.",
            )
        made = f"{space}:{embedder_id}:{settings.get('fingerprint')}:{id(given)}"
        if made not in self._made:
            self._made[made] = embedder_for({**settings, "name": self.name}, given)
        return self._made[made]
