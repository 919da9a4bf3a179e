"""A model's network with its tokenizer: texts in, one row of numbers for each token out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError
from ir.models.bert import Shape, bert_graph, zero_points
from ir.models.folder import ModelFolder
from ir.models.session import equal_length_batches, in_parallel, open_session, run_session
from ir.models.tokenizing import TextTokenizer, Tokens
from ir.models.weights import read_tensors

__all__ = ["Encoder", "open_encoder"]

States = NDArray[np.float32]
#: Called with the result of a batch: the positions of its texts, and an array with a row for each.
Take = Callable[[list[int], States], None]

_STATES = ("last_hidden_state", "token_embeddings")
_POOLED = ("sentence_embedding", "logits")


class Encoder:
    """``run`` hands the outcome of each batch to a function; batches hold texts of one length and run in parallel.

    ``form`` is how the network is computed: one of :data:`~ir.models.folders.FORMS`, else in float32 on onnxruntime.
    """

    def __init__(self, folder: ModelFolder, *, form: str = "") -> None:
        if form == "int8" and folder.network is not None:
            raise EmbedderError(
                f"The model in {folder.path} is an ONNX file and is run as it is.", remedy="Ask for it without int8."
            )
        self.folder = folder
        self.tokenizer = TextTokenizer(folder.tokenizer, folder.max_tokens, lower=folder.lower)
        self.form = form
        self.weights = read_tensors(folder.weights) if folder.weights is not None and folder.network is None else {}
        self.shape = None if folder.network is not None else Shape.of(folder.config)
        self._session = self._openvino() if form == "openvino" else self._onnxruntime()
        self._output = _chosen_output(self._session) if self.shape is None else "states"
        self._inputs = {item.name: item.type for item in self._session.get_inputs()}

    @property
    def precision(self) -> str:
        """What the engine chose to compute in, where that depends on the processor."""
        return str(getattr(self._session, "precision", ""))

    def _onnxruntime(self) -> Any:
        if self.shape is None:
            return open_session(self.folder.network or self.folder.path)
        graph = bert_graph(self.shape, self.weights, int8=self.form == "int8")
        self._held = graph.weights  # the session reads them in place
        return open_session(graph.to_bytes(), graph.weights)

    def _openvino(self) -> Any:
        from ir.models.openvino import OpenVinoSession
        from ir.models.openvino_bert import bert_network

        if self.shape is None:
            return OpenVinoSession(self.folder.network)
        return OpenVinoSession(bert_network(self.shape, self.weights))

    def run(self, tokens: Sequence[Tokens], take: Take) -> None:
        """The states ``(texts, tokens, size)`` of each batch, or ``(texts, size)`` from a network that pools itself."""
        places = [place for place, item in enumerate(tokens) if item.ids]
        lengths = [len(tokens[place].ids) for place in places]
        batches = [[places[number] for number in batch] for batch in equal_length_batches(lengths)]

        def work(batch: list[int]) -> None:
            ids = np.array([tokens[place].ids for place in batch], np.int64)
            types = np.array([tokens[place].types for place in batch], np.int64)
            take(batch, self._states(ids, types))

        in_parallel(work, batches)

    def _states(self, ids: NDArray[np.int64], types: NDArray[np.int64]) -> States:
        given = self._own(ids, types) if self.shape is not None else self._foreign(ids, types)
        (out,) = run_session(self._session, [self._output], given, self.folder.path)
        if self.shape is not None:
            out = out.reshape(*ids.shape, -1)
        rows: States = np.asarray(out, dtype=np.float32)
        return rows

    def _own(self, ids: NDArray[np.int64], types: NDArray[np.int64]) -> dict[str, Any]:
        assert self.shape is not None
        texts, length = ids.shape
        first = self.shape.first_position
        given: dict[str, Any] = {
            "input_ids": ids.astype(np.int32),
            # RoBERTa has only one type, whatever its tokenizer says.
            "token_type_ids": types.astype(np.int32) if self.shape.family == "bert" else np.zeros(ids.shape, np.int32),
            "position_ids": np.arange(first, first + length, dtype=np.int32)[None],
        }
        if self.form != "openvino":
            given["shape"] = np.array([texts, length, self.shape.hidden], np.int64)
        if self.form == "int8":
            given |= zero_points(ids.size)
        return given

    def _foreign(self, ids: NDArray[np.int64], types: NDArray[np.int64]) -> dict[str, Any]:
        known = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": types,
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        given = {}
        for name, kind in self._inputs.items():
            if name not in known:
                raise EmbedderError(
                    f"The network of {self.folder.path} wants an input {name!r}, which is not known.",
                    remedy=f"Known are {', '.join(known)}.",
                )
            given[name] = np.ascontiguousarray(known[name], dtype=np.int32 if "int32" in kind else np.int64)
        return given


def open_encoder(path: Path, *, form: str = "") -> Encoder:
    """The encoder of a folder. One for the whole process: a model takes a long time to load, and a lot of memory."""
    return _opened(str(path), form)


@lru_cache(maxsize=3)
def _opened(path: str, form: str) -> Encoder:
    return Encoder(ModelFolder.read(Path(path)), form=form)


def _chosen_output(session: Any) -> str:
    names = [item.name for item in session.get_outputs()]
    return str(next((name for name in (*_STATES, *_POOLED) if name in names), names[0]))
