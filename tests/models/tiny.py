"""Models small enough to make in a test: a tokenizer over a few words, a BERT with random weights, an ONNX lookup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.models.weights import write_tensors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "water", "hot", "green", "bread", "dough", "query", ":", "the")
HIDDEN, HEADS, LAYERS, WIDE = 32, 4, 2, 64


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def write_tokenizer(folder: Path, *, special: bool = True) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    if special:
        tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def bert_config(family: str = "bert", **changes: Any) -> dict[str, Any]:
    return {
        "model_type": family,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": HIDDEN,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "max_position_embeddings": 40,
        "pad_token_id": 0 if family == "bert" else 1,
        **changes,
    }


def bert_tensors(prefix: str = "") -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(3)

    def made(*shape: int) -> NDArray[np.float32]:
        return (rng.standard_normal(shape) * 0.4).astype(np.float32)

    tensors = {f"embeddings.{name}_embeddings.weight": made(size, HIDDEN) for name, size in _TABLES}
    norms = ["embeddings.LayerNorm"]
    linears: list[tuple[str, int, int]] = []
    for layer in range(LAYERS):
        start = f"encoder.layer.{layer}."
        linears += [(f"{start}attention.self.{part}", HIDDEN, HIDDEN) for part in ("query", "key", "value")]
        linears += [(f"{start}attention.output.dense", HIDDEN, HIDDEN), (f"{start}intermediate.dense", WIDE, HIDDEN)]
        linears += [(f"{start}output.dense", HIDDEN, WIDE)]
        norms += [f"{start}attention.output.LayerNorm", f"{start}output.LayerNorm"]
    linears.append(("pooler.dense", HIDDEN, HIDDEN))
    for name, rows, columns in linears:
        tensors |= {f"{name}.weight": made(rows, columns), f"{name}.bias": made(rows)}
    for name in norms:
        tensors |= {f"{name}.weight": 1 + made(HIDDEN) / 4, f"{name}.bias": made(HIDDEN)}
    return {prefix + name: tensor for name, tensor in tensors.items()}


_TABLES = (("word", len(WORDS)), ("position", 40), ("token_type", 2))


def write_bert(folder: Path, family: str = "bert", prefix: str = "", **more: NDArray[np.float32]) -> Path:
    """A folder with a BERT of random weights; ``more`` are further tensors, with ``__`` for a dot."""
    write_tokenizer(folder)
    write_json(folder / "config.json", bert_config(family))
    write_tensors(
        folder / "model.safetensors",
        {**bert_tensors(prefix), **{name.replace("__", "."): tensor for name, tensor in more.items()}},
    )
    return folder


def write_lookup(
    folder: Path,
    table: NDArray[np.float32],
    output: str = "last_hidden_state",
    sizes: tuple[str | int, ...] = ("texts", "tokens"),
) -> Path:
    """An ONNX file that looks each token up in ``table``, with a tokenizer: the simplest network there is."""
    import onnx
    from onnx import TensorProto, helper

    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, sizes)
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, sizes)
    out = helper.make_tensor_value_info(output, TensorProto.FLOAT, [*sizes, table.shape[1]])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["weights", "axes"], ["columns"]),
        helper.make_node("Mul", ["rows", "columns"], [output]),
    ]
    constants = [
        helper.make_tensor("table", TensorProto.FLOAT, table.shape, table.ravel().tolist()),
        helper.make_tensor("axes", TensorProto.INT64, [1], [2]),
    ]
    graph = helper.make_graph(nodes, "lookup", [ids, mask], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    write_tokenizer(folder)
    (folder / "onnx").mkdir(exist_ok=True)
    onnx.save(model, str(folder / "onnx" / "model.onnx"))
    return folder


def bert_states(ids: list[int], family: str = "bert", types: list[int] | None = None) -> NDArray[np.float64]:
    """What the BERT of :func:`write_bert` must compute, written out in numpy."""
    from math import erf

    tensors = {name: value.astype(np.float64) for name, value in bert_tensors().items()}
    first = 0 if family == "bert" else 2

    def linear(rows: Any, name: str) -> Any:
        return rows @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def normal(rows: Any, name: str) -> Any:
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        return centred / spread * tensors[f"{name}.LayerNorm.weight"] + tensors[f"{name}.LayerNorm.bias"]

    rows = tensors["embeddings.word_embeddings.weight"][ids]
    rows = rows + tensors["embeddings.position_embeddings.weight"][first : first + len(ids)]
    rows = normal(rows + tensors["embeddings.token_type_embeddings.weight"][types or [0] * len(ids)], "embeddings")
    for layer in range(LAYERS):
        start = f"encoder.layer.{layer}."
        parts = [linear(rows, f"{start}attention.self.{part}") for part in ("query", "key", "value")]
        asked, keys, values = (part.reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in parts)
        weights = np.exp(asked @ keys.transpose(0, 2, 1) / np.sqrt(HIDDEN // HEADS))
        weights /= weights.sum(axis=2, keepdims=True)
        mixed = (weights @ values).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        rows = normal(linear(mixed, f"{start}attention.output.dense") + rows, f"{start}attention.output")
        wide = linear(rows, f"{start}intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
        rows = normal(linear(wide, f"{start}output.dense") + rows, f"{start}output")
    out: NDArray[np.float64] = rows
    return out
