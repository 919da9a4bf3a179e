"""The network that is built from a config and weights computes what BERT computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.extras import reason_for
from tests.models import tiny

from ir.errors import EmbedderError
from ir.models.bert import Shape, bert_graph
from ir.models.encoder import Encoder
from ir.models.folder import ModelFolder
from ir.models.session import equal_length_batches

TEXTS = ["green tea", "hot water for tea", "the", "bread dough bread dough", "tea the hot"]


def states_of(folder: Path, *, form: str = "") -> list[NDArray[np.float32]]:
    encoder = Encoder(ModelFolder.read(folder), form=form)
    found: dict[int, NDArray[np.float32]] = {}
    encoder.run(
        [encoder.tokenizer(text) for text in TEXTS],
        lambda batch, states: found.update(zip(batch, states, strict=True)),
    )
    return [found[place] for place in range(len(TEXTS))]


@pytest.mark.parametrize(("family", "prefix"), [("bert", ""), ("bert", "bert."), ("xlm-roberta", "roberta.")])
def test_it_agrees_with_a_plain_reading_of_the_paper(tmp_path: Path, family: str, prefix: str) -> None:
    folder = tiny.write_bert(tmp_path / "m", family, prefix)
    encoder = Encoder(ModelFolder.read(folder))
    for text, states in zip(TEXTS, states_of(folder), strict=True):
        expected = tiny.bert_states(encoder.tokenizer(text).ids, family)
        np.testing.assert_allclose(states, expected, atol=2e-5)


def test_int8_is_near_and_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "m")
    for exact, whole in zip(states_of(folder), states_of(folder, form="int8"), strict=True):
        cosine = (exact * whole).sum() / np.linalg.norm(exact) / np.linalg.norm(whole)
        assert 0.99 < cosine < 1.0
    encoder = Encoder(ModelFolder.read(folder), form="int8")
    alone: list[NDArray[np.float32]] = []
    encoder.run([encoder.tokenizer(TEXTS[0])], lambda _, states: alone.append(states[0]))
    np.testing.assert_array_equal(alone[0], states_of(folder, form="int8")[0])


def test_the_graph_is_a_valid_model() -> None:
    onnx = pytest.importorskip("onnx", reason=reason_for("onnx"))
    for int8 in (False, True):
        graph = bert_graph(Shape.of(tiny.bert_config()), tiny.bert_tensors(), int8=int8)
        model = onnx.load_model_from_string(graph.to_bytes())
        names = {item.name for item in model.graph.initializer}
        assert set(graph.weights) <= names
        assert [item.name for item in model.graph.output] == ["states"]
        used = {name for node in model.graph.node for name in node.input if name}
        made = {name for node in model.graph.node for name in node.output} | {item.name for item in model.graph.input}
        assert used <= names | made


def test_what_cannot_be_built_says_why(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"type 'mpnet'.*onnx/model\.onnx"):
        Shape.of({"model_type": "mpnet"})
    folder = tiny.write_bert(tmp_path / "m")
    tiny.write_json(folder / "config.json", tiny.bert_config(num_hidden_layers=3))
    with pytest.raises(EmbedderError, match=r"lack the tensor 'encoder\.layer\.2"):
        Encoder(ModelFolder.read(folder))
    (folder / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(EmbedderError, match="folder again"):
        Encoder(ModelFolder.read(folder))


def test_batches_hold_one_length_and_every_text_once() -> None:
    lengths = [5, 3, 5, 9, 3, 5, 700]
    batches = list(equal_length_batches(lengths, tokens=10))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(len({lengths[place] for place in batch}) == 1 for batch in batches)
    assert [lengths[batch[0]] for batch in batches] == sorted((lengths[batch[0]] for batch in batches), reverse=True)
    assert max(len(batch) * lengths[batch[0]] for batch in batches if len(batch) > 1) <= 10
