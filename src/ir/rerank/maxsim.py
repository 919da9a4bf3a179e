"""Late interaction: each token of the query finds the token of the text that is nearest to it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError, RerankError
from ir.models.encoder import open_encoder
from ir.rerank.report import DFLT_DEADLINE_MS, Deadline, Reranked, texts_of

__all__ = ["MaxSim"]

States = NDArray[np.float32]

DFLT_WEIGHT = 0.3
#: So many bytes of token states of texts are remembered, in half precision.
_MOST_BYTES = 64_000_000


class MaxSim:
    """The mean, over the tokens of the query, of the best cosine to a token of the text.

    By itself it ranks no better than the first stage, but it errs elsewhere: so it is mixed with it by ``weight``.
    """

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
        deadline = Deadline(self.id, len(segments), self.deadline_ms)
        texts = texts_of(segments)
        try:
            states = self._states([query, *texts], deadline)
        except EmbedderError as error:
            raise RerankError(error.message, remedy=error.remedy) from error
        asked = states[query].astype(np.float32)
        scores = []
        for text in texts:
            found = states[text].astype(np.float32)
            scores.append(float((asked @ found.T).max(axis=1).mean()) if len(asked) and len(found) else 0.0)
        return deadline.done(scores)

    def _states(self, texts: list[str], deadline: Deadline) -> dict[str, NDArray[np.float16]]:
        """The states of the tokens of each text, of length one; new ones are remembered."""
        with self._lock:
            states = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in states]
        tokens = [self._encoder.tokenizer(text) for text in missing]

        def take(batch: list[int], out: States) -> None:
            deadline.check()
            if out.ndim != 3:
                raise EmbedderError(f"The network of {self.id!r} gives no states of tokens.")
            inner = out[:, 1:-1]  # without the marks of beginning and end
            inner = inner / np.maximum(np.linalg.norm(inner, axis=2, keepdims=True), 1e-9)
            for place, rows in zip(batch, inner.astype(np.float16), strict=True):
                states[missing[place]] = rows

        self._encoder.run(tokens, take)
        self._remember({text: states[text] for text in missing})
        return states

    def _remember(self, states: Mapping[str, NDArray[np.float16]]) -> None:
        with self._lock:
            for text, rows in states.items():
                if text not in self._known:
                    self._bytes += rows.nbytes
                self._known[text] = rows
            while self._bytes > _MOST_BYTES:
                _, rows = self._known.popitem(last=False)
                self._bytes -= rows.nbytes
