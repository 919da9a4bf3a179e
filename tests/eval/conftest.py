"""A corpus small enough to know every score of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from ir.base import Record, ledger_key
from ir.index import Corpus
from ir.store import CorpusStore

DOCUMENTS = {
    "tea": "steep green tea leaves in hot water",
    "bread": "knead bread dough and let the dough rest",
    "bike": "mend a flat bike tyre with a patch",
    "rose": "prune the rose bush late in winter",
    "chess": "open a chess game with the queen pawn",
}
OFF_TOPIC = ("mortgage interest rates", "parliament election results", "quantum chromodynamics", "visa for Bolivia")


class WordVectors:
    """Counts of the corpus's own words, and one dimension for all others: an embedder with plain arithmetic."""

    id = "words"

    def __init__(self, texts: Sequence[str]) -> None:
        words = sorted({word for text in texts for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3})
        self._column = {word: number for number, word in enumerate(words, start=1)}
        self.dim = len(words) + 2

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row, 0] = 0.1
            for word in re.findall(r"[a-z]+", text.lower()):
                known = self._column.get(word)
                if known is not None:
                    out[row, known] += 1
                elif input_type == "query":
                    out[row, 0] += len(word) / 10
                    out[row, -1] += 1
        return out


def corpus_of(documents: Mapping[str, str], name: str = "small") -> Corpus:
    """A corpus in memory with one record for each document."""
    embed = WordVectors(list(documents.values()))
    store = CorpusStore.memory()
    store.set_config({"name": name, "embedder_id": embed.id, "dim": embed.dim, "language": "english"})
    vectors = embed(list(documents.values()))
    for (artifact, text), vector in zip(documents.items(), vectors, strict=True):
        record = Record(Record.make_id(artifact, "document", 0), artifact, "document", 0, text, vector, {})
        store.put_record(record)
        entry = {"artifact_id": artifact, "version": text, "stat": None, "record_ids": [record.id]}
        store.set_ledger_entry(ledger_key(artifact), entry)
    return Corpus(name, store, embed, embed.id)


@pytest.fixture
def make_corpus() -> Callable[..., Corpus]:
    return corpus_of


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of(DOCUMENTS)


@pytest.fixture
def off_topic() -> tuple[str, ...]:
    return OFF_TOPIC
