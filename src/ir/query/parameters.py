"""What a composed query asks for, as one checked value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from ir.errors import InvalidInput
from ir.filters import Filter, parse_filter
from ir.options import choice, count
from ir.query.branches import MAIN
from ir.surrogates import storable

__all__ = ["CHUNK_LEVELS", "INCLUDES", "METRICS", "PROVENANCES", "OntologyQuery"]

CHUNK_LEVELS = ("file", "type", "method", "doc")
PROVENANCES = ("ingested", "hand-authored")
METRICS = ("cosine", "dot", "l2")
#: What a result may have beside an excerpt of its text.
INCLUDES = ("text", "signature", "doc")
#: How far links are followed.
MOST_DEPTH = 1
_WORDS = {"chunk_level": CHUNK_LEVELS, "provenance": PROVENANCES, "distance_metric": METRICS}


@dataclass(frozen=True)
class OntologyQuery:
    """The parameters of ``ontology_query``; names and values that do not exist are errors that list those that do.

    ``min_relevance`` is the least similarity of a result, from 0 to 1, by the ``distance_metric``. All vectors have
    length one, so the three metrics rank alike; ``l2`` is told as ``1 / (1 + distance)``. ``traverse_link`` names the
    one kind of link to follow, and follows it. ``domain`` is a folder of the corpus, or the domain of a hand-authored
    record.

    >>> OntologyQuery("how are routes matched", chunk_level="page")
    Traceback (most recent call last):
    ...
    ir.errors.InvalidInput: Unknown chunk_level 'page'; use one of 'file', 'type', 'method', 'doc'.
    """

    semantic_query: str
    object_type: str | None = None
    precision: bool = True
    follow_links: bool = False
    link_depth: int = 1
    chunk_level: str | None = None
    provenance: str | None = None
    branch: str = MAIN
    top_k: int = 10
    min_relevance: float | None = None
    distance_metric: str = "cosine"
    interface_name: str | None = None
    traverse_link: str | None = None
    filter: Filter | None = None
    domain: str | None = None
    include: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.semantic_query, str) or not self.semantic_query.strip():
            raise InvalidInput("The query is empty; ask for something.")
        object.__setattr__(self, "semantic_query", storable(self.semantic_query))
        for name in ("precision", "follow_links"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be true or false, not {getattr(self, name)!r}.")
        for name, words in _WORDS.items():
            if getattr(self, name) is not None or name == "distance_metric":
                choice(name, getattr(self, name), words)
        for name in ("object_type", "branch", "interface_name", "traverse_link", "domain"):
            given = getattr(self, name)
            if (given is not None or name == "branch") and (not isinstance(given, str) or not given.strip()):
                raise InvalidInput(f"{name} must be text that is not empty, not {given!r}.")
            if given is not None and not given.isascii():
                object.__setattr__(self, name, storable(given))
        object.__setattr__(self, "top_k", count("top_k", self.top_k))
        if count("link_depth", self.link_depth) > MOST_DEPTH:
            raise InvalidInput(f"link_depth must be {MOST_DEPTH}, not {self.link_depth!r}; no more steps are followed.")
        least = self.min_relevance
        if least is not None and (not isinstance(least, int | float) or not isfinite(least) or not 0 <= least <= 1):
            raise InvalidInput(f"min_relevance must be a number between 0 and 1, not {least!r}.")
        object.__setattr__(self, "filter", parse_filter(self.filter))
        object.__setattr__(self, "include", tuple(choice("include", one, INCLUDES) for one in self.include))

    @classmethod
    def of(cls, semantic_query: str, **given: Any) -> OntologyQuery:
        """A query from a caller's keywords; an unknown one is an error that names those there are."""
        known = [item.name for item in fields(cls)]
        for name in given:
            choice("parameter", name, known)
        return cls(semantic_query, **given)

    @property
    def expands(self) -> bool:
        """Whether links are followed."""
        return self.follow_links or self.traverse_link is not None

    @property
    def exact(self) -> dict[str, str]:
        """The fields that must be as asked, which every keyword engine can tell."""
        asked = {"objectType": self.object_type, "chunkLevel": self.chunk_level, "provenance": self.provenance}
        return {name: value for name, value in asked.items() if value is not None}
