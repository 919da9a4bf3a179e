"""What a vocabulary is asked by: everything that can be derived from its terms without training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.ground.acronyms import Acronyms
from ir.ground.channels import (
    DEFINITION_CHARACTERS,
    DEFINITION_GRAMS,
    FEWER_GRAMS,
    MANY_CHARACTERS,
    SURFACE_GRAMS,
    Channel,
    Exact,
    Prior,
    Spelling,
    Words,
    stems_of,
    word_features,
)
from ir.ground.folding import Folding
from ir.ground.keys import Keys
from ir.ground.meaning import Meaning, embedded
from ir.ground.nearest import Nearest
from ir.ground.postings import Postings, feature_keys, text_features
from ir.ground.surfaces import Surfaces
from ir.ground.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Index"]

SPELLING, WORDS = "spelling", "words"
DEFINED_SPELLING, DEFINED_WORDS = "definition-spelling", "definition-words"
MEANING, DEFINED_MEANING = "meaning", "definition-meaning"
#: More surfaces are not embedded: vectors would take gigabytes, and spelling finds most of them.
MOST_EMBEDDED = 600_000


class Index:
    """The channels that need the terms alone, and the parts that they stand on."""

    def __init__(
        self,
        terms: Terms,
        language: str,
        surfaces: Surfaces,
        keys: dict[str, Keys],
        postings: dict[str, Postings],
        grams: tuple[int, ...],
        vectors: dict[str, list[Nearest]],
        embedders: Sequence[str],
    ) -> None:
        self.terms = terms
        self.language = language
        self.surfaces = surfaces
        self.keys = keys
        self.postings = postings
        self.grams = grams
        self.vectors = vectors
        self.embedders = tuple(embedders)

    @classmethod
    def of(
        cls,
        terms: Terms,
        fold: Folding,
        *,
        language: str = "english",
        embedders: Sequence[str] = (),
        step: Callable[[str], None] = lambda name: None,
    ) -> Index:
        stems = stems_of(language)
        step("surfaces")
        surfaces, texts = Surfaces.of(terms, fold)
        keys = {"squeezed": Exact.squeezed(texts)}
        step("acronyms")
        keys["acronyms"] = Acronyms.keys(terms, surfaces, texts)
        step(SPELLING)
        grams = SURFACE_GRAMS if len(surfaces.texts.blob) <= MANY_CHARACTERS else FEWER_GRAMS
        postings = {SPELLING: Postings.of(text_features(texts, grams), len(texts))}
        step(WORDS)
        postings[WORDS] = Postings.of(feature_keys(*word_features(texts, stems)), len(texts))
        defined = bool(len(terms.definitions.blob))
        if defined:
            step("definitions")
            told = _told(terms, fold)
            cut = [text[:DEFINITION_CHARACTERS] for text in told]
            postings[DEFINED_SPELLING] = Postings.of(text_features(cut, DEFINITION_GRAMS), len(cut))
            postings[DEFINED_WORDS] = Postings.of(feature_keys(*word_features(told, stems)), len(told))
        vectors: dict[str, list[Nearest]] = {}
        if embedders:
            step(MEANING)
            loaded = [_embedder(name) for name in embedders]
            if len(texts) <= MOST_EMBEDDED:
                vectors[MEANING] = [Nearest.of(embedded(embedder, texts)) for embedder in loaded]
            if defined:
                whole = [". ".join(filter(None, parts)) for parts in zip(*_told_parts(terms), strict=True)]
                vectors[DEFINED_MEANING] = [Nearest.of(embedded(embedder, whole)) for embedder in loaded]
        return cls(terms, language, surfaces, keys, postings, grams, vectors, embedders)

    def channels(self) -> list[Channel]:
        stems = stems_of(self.language)
        made: list[Channel] = [
            Exact(self.surfaces, self.keys["squeezed"]),
            Acronyms(self.surfaces, self.keys["acronyms"]),
            Spelling(SPELLING, self.postings[SPELLING], self.grams, self.surfaces),
            Words(WORDS, self.postings[WORDS], stems, self.surfaces),
        ]
        if DEFINED_WORDS in self.postings:
            made += [
                Spelling(DEFINED_SPELLING, self.postings[DEFINED_SPELLING], DEFINITION_GRAMS, None),
                Words(DEFINED_WORDS, self.postings[DEFINED_WORDS], stems, None),
            ]
        if self.vectors:
            loaded = [_embedder(name) for name in self.embedders]
            if MEANING in self.vectors:
                made.append(Meaning(MEANING, loaded, self.vectors[MEANING], self.surfaces))
            if DEFINED_MEANING in self.vectors:
                made.append(Meaning(DEFINED_MEANING, loaded, self.vectors[DEFINED_MEANING], None))
        if self.terms.counts.any():
            made.append(Prior(self.terms.counts))
        return made

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the parts, and return what is needed to load them."""
        self.surfaces.save(folder)
        for name, keys in self.keys.items():
            keys.save(folder, name)
        for name, postings in self.postings.items():
            postings.save(folder, name)
        for name, spaces in self.vectors.items():
            for number, rows in enumerate(spaces):
                rows.save(folder, f"{name}-{number}")
        return {
            "language": self.language,
            "grams": list(self.grams),
            "embedders": list(self.embedders),
            "keys": sorted(self.keys),
            "postings": {name: postings.size for name, postings in self.postings.items()},
            "vectors": sorted(self.vectors),
        }

    @classmethod
    def load(cls, folder: Path, terms: Terms, about: dict[str, Any]) -> Index:
        embedders = about["embedders"]
        return cls(
            terms,
            about["language"],
            Surfaces.load(folder),
            {name: Keys.load(folder, name) for name in about["keys"]},
            {name: Postings.load(folder, name, size) for name, size in about["postings"].items()},
            tuple(about["grams"]),
            {
                name: [Nearest.load(folder, f"{name}-{number}") for number in range(len(embedders))]
                for name in about["vectors"]
            },
            embedders,
        )


def _embedder(name: str) -> Any:
    from ir.embed import make_embedder

    return make_embedder(name)[0]


def _told_parts(terms: Terms) -> tuple[Sequence[str], Sequence[str]]:
    heads = [display or name for name, display in zip(terms.names, terms.displays, strict=True)]
    return heads, list(terms.definitions)


def _told(terms: Terms, fold: Folding) -> list[str]:
    """What is said of each term: its names and its definition. Aliases are surfaces, and count there."""
    columns = zip(terms.displays, terms.names, terms.definitions, strict=True)
    return [fold(" ".join((display, name, definition))) for display, name, definition in columns]
