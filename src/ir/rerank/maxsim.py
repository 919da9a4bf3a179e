"""Late interaction: each token of the query finds the token of the text that is nearest to it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError, RerankError
from ir.models.encoder import open_encoder
from ir.models.session import BATCH_TOKENS, thread_count
from ir.models.tokenizing import TextTokenizer, Tokens
from ir.rerank.report import DFLT_DEADLINE_MS, Deadline, Reranked, texts_of

__all__ = ["MaxSim"]

States = NDArray[np.float32]

DFLT_WEIGHT = 0.3
#: How many bytes of token states are kept for texts, in half precision.
_MOST_BYTES = 64_000_000
_NO_TOKENS = np.zeros((0, 1), np.float16)


class MaxSim:
    """The mean, over the tokens of the query, of the best cosine to a token of the text.

    Alone it ranks no better than the first stage, but it makes other mistakes, so the two are mixed by ``weight``.
    """

    keeps_deadline = True

    def __init__(
        self, path: Path, *, deadline_ms: int = DFLT_DEADLINE_MS, weight: float = DFLT_WEIGHT, form: str = ""
    ) -> None:
        self.id = f"maxsim:{path.name}{f'-{form}' if form else ''}"
        self.deadline_ms = deadline_ms
        self.weight = weight
        self._encoder = open_encoder(path, form=form)
        self._known: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __call__(self, query: str, segments: Sequence[Mapping[str, Any]]) -> Reranked:
        """A score for each segment that could be read in time, in their order: the best of the first stage come first.

        What was read is remembered, so that the next search goes on from there.
        """
        deadline = Deadline(self.id, len(segments), self.deadline_ms)
        texts = texts_of(segments)
        try:
            states = self._states(query, texts, deadline)
        except EmbedderError as error:
            raise RerankError(error.message, remedy=error.remedy) from error
        read = list(takewhile(states.__contains__, texts))
        if query not in states or (segments and not read):
            raise deadline.late()
        return deadline.done(_scores(states[query], [states[text] for text in read]))

    def _states(self, query: str, texts: list[str], deadline: Deadline) -> dict[str, NDArray[np.float16]]:
        """The states of the tokens of the query, and of as many texts, from the first on, as there is time for."""
        with self._lock:
            states = {text: self._known[text] for text in (query, *texts) if text in self._known}
            for text in states:
                self._known.move_to_end(text)
        missing = (text for text in dict.fromkeys(texts) if text not in states)  # read lazily, as far as there is time
        try:
            if query not in states:
                self._read({query: self._encoder.tokenizer(query)}, states, deadline)
            for slab in _slabs(missing, self._encoder.tokenizer, BATCH_TOKENS * thread_count()):
                self._read(slab, states, deadline)
        except _Enough:
            pass
        return states

    def _read(self, slab: Mapping[str, Tokens], states: dict[str, NDArray[np.float16]], deadline: Deadline) -> None:
        texts = list(slab)
        states |= {text: _NO_TOKENS for text, tokens in slab.items() if not tokens.ids}

        def take(batch: list[int], out: States) -> None:
            if out.ndim != 3:
                raise EmbedderError(f"The network of {self.id!r} gives no states of tokens.")
            inner = out[:, 1:-1]  # without the begin and end marks
            inner = inner / np.maximum(np.linalg.norm(inner, axis=2, keepdims=True), 1e-9)
            read = {texts[place]: rows for place, rows in zip(batch, inner.astype(np.float16), strict=True)}
            states.update(read)
            self._remember(read)
            if deadline.near:
                raise _Enough

        self._encoder.run(list(slab.values()), take)

    def _remember(self, states: Mapping[str, NDArray[np.float16]]) -> None:
        with self._lock:
            for text, rows in states.items():
                if text not in self._known:
                    self._bytes += rows.nbytes
                self._known[text] = rows
            while self._bytes > _MOST_BYTES:
                _, rows = self._known.popitem(last=False)
                self._bytes -= rows.nbytes


class _Enough(Exception):
    """The time is nearly over."""


def _slabs(texts: Iterable[str], tokenizer: TextTokenizer, most: int) -> Iterator[dict[str, Tokens]]:
    """The texts in their order, in groups that run side by side: no later group is read before an earlier one."""
    slab: dict[str, Tokens] = {}
    size = 0
    for text in texts:
        slab[text] = tokenizer(text)
        size += len(slab[text].ids)
        if size >= most:
            yield slab
            slab, size = {}, 0
    if slab:
        yield slab


def _scores(asked: NDArray[np.float16], found: Sequence[NDArray[np.float16]]) -> NDArray[np.float64]:
    """One product for all texts: fifty small ones take ten times as long, because threads wait for each other."""
    scores = np.zeros(len(found))
    full = [place for place, rows in enumerate(found) if len(rows)]
    if full and len(asked):
        rows = np.concatenate([found[place] for place in full]).astype(np.float32)
        starts = np.cumsum([0, *(len(found[place]) for place in full[:-1])])
        cosines = asked.astype(np.float32) @ rows.T
        scores[full] = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0)
    return scores
