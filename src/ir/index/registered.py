"""Building a corpus that the registry knows."""

from __future__ import annotations

from typing import Any

from ir.index.builder import build
from ir.index.corpus import Corpus
from ir.registry import enter_preset, source_for

__all__ = ["build_corpus"]


def build_corpus(name: str, **kwargs: Any) -> Corpus:
    """Build or bring up to date a registered or preset corpus; the keywords are those of :func:`ir.build`.

    A preset is registered by the first build that finds something; not by one into a store of your own, which the name
    does not lead to.
    """
    corpus = build(source_for(name), **kwargs)
    if kwargs.get("store") is None and len(corpus.store):
        enter_preset(name)
    return corpus
