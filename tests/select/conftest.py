"""Small corpora with vectors that a reader can compute: one dimension for each word of a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import ir

WORDS = ("tea", "water", "bread", "flour", "music", "song", "deploy", "server", "cat", "dog")
MakeCorpus = Callable[..., ir.Corpus]


def make_embedder(embedder_id: str, spread: float) -> Any:
    def embed(texts: Sequence[str], *, input_type: str = "document") -> Any:
        rows = [[re.findall(r"\w+", text.lower()).count(word) + spread for word in WORDS] for text in texts]
        return np.array(rows, dtype=np.float32)

    embed._ir_id = embedder_id  # type: ignore[attr-defined]
    return embed


@pytest.fixture
def make_corpus() -> MakeCorpus:
    """``make_corpus(docs, name=…, embedder_id=…, strategy=…)``: a corpus in memory."""

    def make(
        docs: Mapping[str, Any], name: str = "notes", embedder_id: str = "words", strategy: Any = None
    ) -> ir.Corpus:
        source = ir.CorpusSource.from_mapping(docs, name=name, strategy=strategy)
        embedder = make_embedder(embedder_id, 0.05)
        return ir.build(source, store=ir.CorpusStore.memory(), embedder=embedder, floor=False)

    return make


@pytest.fixture
def kitchen(make_corpus: MakeCorpus) -> ir.Corpus:
    docs = {
        "brew": "Brew tea with hot water, tea by tea.",
        "bake": "Bake bread from flour and water.",
        "knead": "Knead flour for bread, more flour for better bread.",
        "hum": "Hum a song, music for the kitchen.",
    }
    return make_corpus(docs, "kitchen")


@pytest.fixture
def office(make_corpus: MakeCorpus) -> ir.Corpus:
    docs = {
        "ship": "Deploy the server.",
        "restart": "Restart the server after a deploy of the server.",
        "pets": "A cat.",
    }
    return make_corpus(docs, "office")
