"""The network of BERT and its kin as an ONNX graph, made from ``config.json`` and the weights.

Rows of all texts of a batch stand in one matrix, so every linear layer is one multiplication. Texts of a batch are of
equal length: there is no padding and no mask. With ``int8`` the weights of linear layers are whole numbers, scaled for
each output, and the activations are scaled for each token: a text's vector does not depend on its batch. Weights use
seven of the eight bits, because processors without VNNI add two products in sixteen bits. Some columns of a normalised
layer are much larger than the others; they are made smaller before rounding, and their weights larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError
from ir.models.weights import as_float32
from ir.models.wire import MICROSOFT, Graph

__all__ = ["FAMILIES", "EncoderTensors", "Shape", "bert_graph", "zero_points"]

FAMILIES = ("bert", "roberta", "xlm-roberta")
_WEIGHT_LIMIT = 64
_LEVELS = 255
_ZERO = 128
#: No value of the GELU function lies below −0.17, so few of its levels need to be below zero.
_GELU_LOW = 0.17
_GELU_ZERO = 16
_SMOOTHING = 0.3

Tensors = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Shape:
    """What ``config.json`` says about the network."""

    family: str
    layers: int
    heads: int
    hidden: int
    activation: str
    epsilon: float
    first_position: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        family = str(config.get("model_type", ""))
        if family not in FAMILIES or config.get("position_embedding_type", "absolute") != "absolute":
            raise EmbedderError(
                f"A network of type {family or 'unknown'!r} cannot be run from its weights alone.",
                remedy=f"Give a folder with onnx/model.onnx, or one of the types {', '.join(FAMILIES)}.",
            )
        try:
            return cls(
                family,
                int(config["num_hidden_layers"]),
                int(config["num_attention_heads"]),
                int(config["hidden_size"]),
                str(config.get("hidden_act", "gelu")),
                float(config.get("layer_norm_eps", 1e-12)),
                0 if family == "bert" else int(config.get("pad_token_id", 1)) + 1,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise EmbedderError(f"config.json of the model does not describe its network: {error}.") from error


def bert_graph(shape: Shape, tensors: Tensors, *, int8: bool = False) -> Graph:
    """The graph from token ids to ``states``, one row for each token, in the order of the texts."""
    return _Builder(shape, EncoderTensors(tensors), int8).graph()


def zero_points(tokens: int) -> dict[str, NDArray[np.uint8]]:
    """The inputs that only an int8 graph has: for each token the whole number that means zero."""
    return {"zeros": np.full(tokens, _ZERO, np.uint8), "gelu_zeros": np.full(tokens, _GELU_ZERO, np.uint8)}


class EncoderTensors(dict[str, NDArray[Any]]):
    """Tensors under the names that a bare encoder gives them; one that is missing is an error that names it."""

    def __init__(self, tensors: Tensors) -> None:
        marker = "embeddings.word_embeddings.weight"
        found = next((name for name in tensors if name.endswith(marker)), marker)
        prefix = found[: -len(marker)]
        super().__init__({name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)})

    def __missing__(self, name: str) -> NDArray[Any]:
        raise EmbedderError(f"The weights lack the tensor {name!r}.", remedy="Is this a BERT-like encoder?")


class _Builder:
    def __init__(self, shape: Shape, tensors: Tensors, int8: bool) -> None:
        self.shape = shape
        self.tensors = tensors
        self.int8 = int8
        self.made = Graph()
        #: The rows that a normalisation made, with its name.
        self.normalised: dict[str, str] = {}

    def graph(self) -> Graph:
        graph = self.made
        for name in ("input_ids", "token_type_ids"):
            graph.input(name, "int32", ["batch", "length"])
        graph.input("position_ids", "int32", [1, "length"])
        graph.input("shape", "int64", [3])
        graph.constant("rows", np.array([-1, self.shape.hidden], np.int64))
        if self.int8:
            self._int8_constants()
        rows = self._embeddings()
        for layer in range(self.shape.layers):
            rows = self._layer(f"encoder.layer.{layer}.", rows, last=layer == self.shape.layers - 1)
        graph.output(rows, "float32", ["tokens", self.shape.hidden])
        return graph

    def _int8_constants(self) -> None:
        self.made.input("zeros", "uint8", ["tokens"])
        self.made.input("gelu_zeros", "uint8", ["tokens"])
        numbers = {
            "one": 1.0,
            "step": 1 / (_LEVELS - _ZERO),
            "smallest": 1e-9,
            "gelu_step": 1 / (_LEVELS - _GELU_ZERO),
            "gelu_smallest": _GELU_LOW / _GELU_ZERO,
        }
        for name, value in numbers.items():
            self.made.constant(name, np.array(value, np.float32))
        self.made.constant("zero", np.array(_ZERO, np.uint8))
        self.made.constant("gelu_zero", np.array(_GELU_ZERO, np.uint8))
        self.made.constant("flat", np.array([-1], np.int64))

    def _weight(self, name: str) -> str:
        return self.made.constant(name, as_float32(self.tensors[name]))

    def _embeddings(self) -> str:
        tables = {"input_ids": "word", "position_ids": "position", "token_type_ids": "token_type"}
        looked_up = [
            self.made.node("Gather", [self._weight(f"embeddings.{table}_embeddings.weight"), ids], f"{table}.rows")
            for ids, table in tables.items()
        ]
        total = self.made.node("Add", [self.made.node("Add", looked_up[:2], "placed"), looked_up[2]], "typed")
        rows = self.made.node("Reshape", [total, "rows"], "embedded")
        return self._normal(rows, "embeddings", "states.0")

    def _layer(self, prefix: str, rows: str, *, last: bool) -> str:
        attended = self._linear(self._attention(prefix, rows), f"{prefix}attention.output.dense")
        middle = self._residual(attended, rows, f"{prefix}attention.output")
        wide = self._linear(middle, f"{prefix}intermediate.dense")
        active = self._activation(wide, f"{prefix}intermediate.dense.bias")
        narrow = self._linear(active, f"{prefix}output.dense")
        return self._residual(narrow, middle, f"{prefix}output", name="states" if last else "")

    def _attention(self, prefix: str, rows: str) -> str:
        query, key, value = parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        # Queries and keys can share one rounding of their rows; values, which make up the result, get their own.
        products = [*self._linears(rows, [query, key]), self._linear(rows, value)]
        deep = [self.made.node("Reshape", [product, "shape"], f"{product}.deep") for product in products]
        biases = np.concatenate([as_float32(self.tensors[f"{part}.bias"]) for part in parts])
        bias = self.made.constant(f"{prefix}attention.self.bias", biases)
        # The attention operator adds the biases itself while it sorts the values by head.
        attended = self.made.node(
            "MultiHeadAttention", [*deep, bias], f"{prefix}attended", domain=MICROSOFT, num_heads=self.shape.heads
        )
        return self.made.node("Reshape", [attended, "rows"], f"{prefix}attended.rows")

    def _residual(self, rows: str, before: str, prefix: str, name: str = "") -> str:
        # Two additions and a standard normalisation take half as long as the operator that does all three.
        biased = self.made.node("Add", [rows, self._weight(f"{prefix}.dense.bias")], f"{prefix}.biased")
        added = self.made.node("Add", [biased, before], f"{prefix}.sum")
        return self._normal(added, prefix, name or f"{prefix}.normal")

    def _normal(self, rows: str, prefix: str, name: str) -> str:
        inputs = [rows, self._weight(f"{prefix}.LayerNorm.weight"), self._weight(f"{prefix}.LayerNorm.bias")]
        self.normalised[name] = f"{prefix}.LayerNorm"
        return self.made.node("LayerNormalization", inputs, name, axis=-1, epsilon=self.shape.epsilon)

    def _activation(self, rows: str, bias: str) -> str:
        inputs = [rows, self._weight(bias)]
        name = self.shape.activation
        if name == "gelu" and not self.int8:
            return self.made.node("BiasGelu", inputs, f"{rows}.active", domain=MICROSOFT)
        # For int8 the tanh approximation is good enough: it differs by less than a tenth of a level.
        if name in ("gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"):
            return self.made.node("FastGelu", inputs, f"{rows}.active", domain=MICROSOFT)
        if name == "relu":
            return self.made.node("Relu", [self.made.node("Add", inputs, f"{rows}.biased")], f"{rows}.active")
        raise EmbedderError(f"The activation {name!r} of the model is not known.")

    def _linear(self, rows: str, name: str) -> str:
        """``rows`` times the weights of a layer; its bias is added later, where that costs least."""
        (product,) = self._linears(rows, [name])
        return product

    def _linears(self, rows: str, names: Sequence[str]) -> list[str]:
        """``rows`` times the weights of each of several layers."""
        weights = {name: as_float32(self.tensors[f"{name}.weight"]) for name in names}
        if self.int8:
            return self._whole_linears(rows, weights)
        products = []
        for name, values in weights.items():
            constant = self.made.constant(f"{name}.weight", values)
            products.append(self.made.node("FusedMatMul", [rows, constant], f"{name}.out", domain=MICROSOFT, transB=1))
        return products

    def _whole_linears(self, rows: str, weights: dict[str, NDArray[np.float32]]) -> list[str]:
        """Round the rows to whole numbers once, for all the layers that read them."""
        norm = self.normalised.get(rows)
        if norm is not None:
            factors = self._smoothing(norm, [_largest(values, axis=0) for values in weights.values()])
            weights = {name: values * factors for name, values in weights.items()}
            first = next(iter(weights))
            smoothing = self.made.constant(f"{first}.smoothing", 1 / factors)
            rows = self.made.node("Mul", [rows, smoothing], f"{first}.smooth")
        gelu = rows.endswith(".active") and self.shape.activation != "relu"
        whole, scale = self._quantise(rows, gelu=gelu)
        products = []
        for name, values in weights.items():
            numbers, steps = _quantised(values)
            inputs = [whole, self.made.constant(f"{name}.weight", numbers), "one"]
            inputs += [self.made.constant(f"{name}.scale", steps), "gelu_zero" if gelu else "zero"]
            product = self.made.node("MatMulIntegerToFloat", inputs, f"{name}.whole", domain=MICROSOFT)
            products.append(self.made.node("Mul", [product, scale], f"{name}.out"))
        return products

    def _smoothing(self, norm: str, largest_of_each: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """How much to shrink each column: more if the column is large, and more if its weights are small."""
        spread = np.abs(as_float32(self.tensors[f"{norm}.weight"]))
        spread = np.maximum(spread + np.abs(as_float32(self.tensors[f"{norm}.bias"])) / 3, 1e-3)
        largest = np.maximum(np.max(largest_of_each, axis=0), 1e-3)
        factors: NDArray[np.float32] = (spread**_SMOOTHING / largest ** (1 - _SMOOTHING)).astype(np.float32)
        return factors

    def _quantise(self, rows: str, *, gelu: bool) -> tuple[str, str]:
        """``rows`` as whole numbers, each row by a scale of its own; and these scales."""
        prefix = "gelu_" if gelu else ""
        size = rows if gelu else self.made.node("Abs", [rows], f"{rows}.size")
        largest = self.made.node("ReduceMax", [size], f"{rows}.largest", axes=[-1], keepdims=1)
        step = self.made.node("Mul", [largest, f"{prefix}step"], f"{rows}.step")
        scale = self.made.node("Max", [step, f"{prefix}smallest"], f"{rows}.scale")
        scales = self.made.node("Reshape", [scale, "flat"], f"{rows}.scales")
        whole = self.made.node("QuantizeLinear", [rows, scales, f"{prefix}zeros"], f"{rows}.whole", axis=0)
        return whole, scale


def _quantised(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights ``(outputs, inputs)`` as whole numbers ``(inputs, outputs)``, and the scale of each output."""
    scale = np.maximum(_largest(weights, axis=1), 1e-12) / _WEIGHT_LIMIT
    steps = weights / scale[:, None]
    whole = np.rint(steps, out=steps).astype(np.int8)
    return np.ascontiguousarray(whole.T), scale.astype(np.float32)


def _largest(weights: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """The largest magnitudes along an axis, without a copy of the weights: this is most of what loading int8 costs."""
    largest: NDArray[np.float32] = np.maximum(weights.max(axis=axis), -weights.min(axis=axis))
    return largest
