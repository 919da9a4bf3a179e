"""The network of BERT and its kin in OpenVINO's operations, over the weights where they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError
from ir.models.bert import EncoderTensors, Shape
from ir.models.openvino import load_openvino
from ir.models.weights import as_float32

__all__ = ["bert_network"]

_GELUS = {"gelu": "erf", "gelu_new": "tanh", "gelu_fast": "tanh", "gelu_pytorch_tanh": "tanh"}


def bert_network(shape: Shape, tensors: Mapping[str, NDArray[Any]]) -> Any:
    """The model from token ids to ``states``; texts of a batch are of equal length, so there is no mask.

    It reads the arrays of ``tensors`` and must not outlive them.
    """
    return _Builder(shape, EncoderTensors(tensors)).network()


class _Builder:
    def __init__(self, shape: Shape, tensors: EncoderTensors) -> None:
        self.openvino = load_openvino()
        self.op = self.openvino.opset13
        self.shape = shape
        self.tensors = tensors
        size = shape.hidden // shape.heads
        self.by_head = self._numbers(0, 0, shape.heads, size)
        self.joined = self._numbers(0, 0, shape.hidden)
        self.heads_first = self._numbers(0, 2, 1, 3)
        self.last = self._numbers(-1)

    def network(self) -> Any:
        tables = {"input_ids": "word", "position_ids": "position", "token_type_ids": "token_type"}
        inputs = [self.op.parameter([-1, -1], np.int32, name) for name in tables]
        first, *others = (
            self.op.gather(self._weight(f"embeddings.{table}_embeddings.weight"), ids, self.op.constant(np.int32(0)))
            for table, ids in zip(tables.values(), inputs, strict=True)
        )
        for rows in others:
            first = self.op.add(first, rows)
        rows = self._normal(first, "embeddings")
        for layer in range(self.shape.layers):
            rows = self._layer(f"encoder.layer.{layer}.", rows)
        rows.output(0).set_names({"states"})
        for item, name in zip(inputs, tables, strict=True):
            item.output(0).set_names({name})
        return self.openvino.Model([rows], inputs, "bert")

    def _layer(self, prefix: str, rows: Any) -> Any:
        attended = self._linear(self._attention(prefix, rows), f"{prefix}attention.output.dense")
        middle = self._normal(self.op.add(attended, rows), f"{prefix}attention.output")
        wide = self._activation(self._linear(middle, f"{prefix}intermediate.dense"))
        return self._normal(self.op.add(self._linear(wide, f"{prefix}output.dense"), middle), f"{prefix}output")

    def _attention(self, prefix: str, rows: Any) -> Any:
        parts = [self._linear(rows, f"{prefix}attention.self.{part}") for part in ("query", "key", "value")]
        query, key, value = (self.op.transpose(self._reshaped(part, self.by_head), self.heads_first) for part in parts)
        attended = self.op.scaled_dot_product_attention(query, key, value)
        return self._reshaped(self.op.transpose(attended, self.heads_first), self.joined)

    def _reshaped(self, rows: Any, sizes: Any) -> Any:
        return self.op.reshape(rows, sizes, special_zero=True)  # a zero keeps the size that is there

    def _linear(self, rows: Any, name: str) -> Any:
        product = self.op.matmul(rows, self._weight(f"{name}.weight"), transpose_a=False, transpose_b=True)
        return self.op.add(product, self._weight(f"{name}.bias"))

    def _normal(self, rows: Any, prefix: str) -> Any:
        centred = self.op.mvn(rows, self.last, True, self.shape.epsilon, "inside_sqrt")
        scaled = self.op.multiply(centred, self._weight(f"{prefix}.LayerNorm.weight"))
        return self.op.add(scaled, self._weight(f"{prefix}.LayerNorm.bias"))

    def _activation(self, rows: Any) -> Any:
        name = self.shape.activation
        if name in _GELUS:
            return self.op.gelu(rows, _GELUS[name])
        if name == "relu":
            return self.op.relu(rows)
        raise EmbedderError(f"The activation {name!r} of the model is not known.")

    def _weight(self, name: str) -> Any:
        return self.op.constant(as_float32(self.tensors[name]), shared_memory=True)

    def _numbers(self, *values: int) -> Any:
        return self.op.constant(np.array(values, np.int64))
