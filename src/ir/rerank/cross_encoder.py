"""A network that reads the query and a text together and says how well they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError, RerankError
from ir.models.encoder import Encoder, open_encoder
from ir.models.weights import as_float32
from ir.rerank.report import DFLT_DEADLINE_MS, Deadline, Reranked, texts_of

__all__ = ["CrossEncoder"]

States = NDArray[np.float32]


class CrossEncoder:
    """A cross-encoder in a folder: an ONNX file with an output ``logits``, or the weights of a BERT-like classifier."""

    #: Its scores replace those of the first stage.
    weight: float | None = None
    keeps_deadline = True

    def __init__(self, path: Path, *, deadline_ms: int = DFLT_DEADLINE_MS, form: str = "") -> None:
        self.id = f"cross-encoder:{path.name}"
        self.deadline_ms = deadline_ms
        self._encoder = open_encoder(path, form=form)
        self._head = _Head(self._encoder) if self._encoder.shape is not None else None

    def __call__(self, query: str, segments: Sequence[Mapping[str, Any]]) -> Reranked:
        deadline = Deadline(self.id, len(segments), self.deadline_ms)
        tokens = []
        for text in texts_of(segments):
            tokens.append(self._encoder.tokenizer.pair(query, text))
            deadline.check()
        scores = np.zeros(len(tokens))

        def take(batch: list[int], out: States) -> None:
            deadline.check()
            scores[batch] = _single(out if self._head is None else self._head(out), self.id)

        try:
            self._encoder.run(tokens, take)
        except EmbedderError as error:
            raise RerankError(error.message, remedy=error.remedy) from error
        deadline.check()
        return deadline.done(scores)


class _Head:
    """The layers that make a score of the first token's state."""

    def __init__(self, encoder: Encoder) -> None:
        weights = encoder.weights
        last = next((name for name in ("classifier.out_proj", "classifier") if f"{name}.weight" in weights), None)
        first = next(
            (name for name in weights if name.endswith(("pooler.dense.weight", "classifier.dense.weight"))), None
        )
        if last is None or first is None:
            raise EmbedderError(
                f"The model in {encoder.folder.path} is not a cross-encoder: its weights hold no classifier.",
                remedy="Name a cross-encoder, for instance one of the ms-marco family.",
            )
        self._layers = [
            (as_float32(weights[f"{name}.weight"]).T, as_float32(weights[f"{name}.bias"]))
            for name in (first.removesuffix(".weight"), last)
        ]

    def __call__(self, states: States) -> States:
        (first, first_bias), (last, last_bias) = self._layers
        out: States = np.tanh(states[:, 0] @ first + first_bias) @ last + last_bias
        return out


def _single(logits: States, name: str) -> NDArray[np.float64]:
    """One number for each pair: the only one, or how much likelier "relevant" is than "not"."""
    rows = logits.reshape(len(logits), -1).astype(np.float64)
    if rows.shape[1] > 2 or not np.isfinite(rows).all():
        raise RerankError(f"The reranker {name!r} did not answer with one finite score for each segment.")
    return rows[:, -1] - rows[:, 0] if rows.shape[1] == 2 else rows[:, 0]
