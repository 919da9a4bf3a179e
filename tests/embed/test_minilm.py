"""MiniLM gives the vectors that sentence-transformers gives.

``data/minilm_reference.json`` says how the reference was made: once, by sentence-transformers on torch, in an
environment of its own. The weights are the user's, or pulled once into ``build/test-models``.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.pulled import as_installed

import ir
from ir.embed import best_available, make_embedder
from ir.protocols import Embedder
from ir.testing.contracts import EmbedderContract

REFERENCE = json.loads((Path(__file__).parent / "data" / "minilm_reference.json").read_text("utf-8"))
TEXTS = [item["text"] for item in REFERENCE["texts"]]


def reference() -> NDArray[np.float32]:
    return np.array([np.frombuffer(base64.b64decode(item["vector"]), "<f4") for item in REFERENCE["texts"]])


@pytest.mark.parametrize(("name", "least"), [("minilm", 0.9999), ("minilm-int8", 0.99), ("minilm-openvino", 0.9999)])
def test_the_vectors_are_those_of_sentence_transformers(name: str, least: float) -> None:
    as_installed("minilm")
    embedder, embedder_id = make_embedder(name, cache=False)
    rows = embedder(TEXTS)
    assert embedder_id == name
    assert rows.shape == (len(TEXTS), 384)
    assert (rows * reference()).sum(axis=1).min() >= least
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_every_form_has_a_fingerprint_of_its_own() -> None:
    as_installed("minilm")
    names = ("minilm", "minilm-int8", "minilm-openvino", "default")
    prints = {make_embedder(name, cache=False)[0].fingerprint for name in names}
    assert len(prints) == 3
    assert best_available() == "minilm"


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\x00\x01\x02", "🦊🦊🦊", "\ud83d alone", "x" * 10_000_000, "word " * 2_000_000, "\u200b" * 9]
)
def test_odd_texts_get_finite_vectors_quickly(text: str) -> None:
    as_installed("minilm")
    embedder, _ = make_embedder("minilm", cache=False)
    (row,) = embedder([text])
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)


def test_a_long_text_is_what_its_first_tokens_are() -> None:
    as_installed("minilm")
    embedder, _ = make_embedder("minilm", cache=False)
    text = TEXTS[-1]
    np.testing.assert_allclose(embedder([text])[0], embedder([text + " and so on" * 10_000])[0], atol=1e-6)


class TestMiniLm(EmbedderContract):
    @pytest.fixture(params=["minilm", "minilm-int8", "minilm-openvino"])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        as_installed("minilm")
        return make_embedder(request.param, cache=False)[0]


def test_a_corpus_is_built_and_searched_with_it() -> None:
    as_installed("minilm")
    notes = {
        "tea": "Steep green leaves at 80 degrees.",
        "bike": "Replace the chain when it is worn.",
        "cat": "It purrs.",
    }
    corpus = ir.build(
        ir.CorpusSource.from_mapping(notes, name="notes"), store=ir.CorpusStore.memory(), embedder="minilm"
    )
    assert ir.search(corpus, "how hot should water for a brew be", k=1)[0].artifact_id == "tea"


def test_neither_torch_nor_onnx_is_loaded() -> None:
    as_installed("minilm")
    code = (
        "import sys; from ir.embed import make_embedder; make_embedder('minilm', cache=False)[0](['tea']);"
        "assert not {'torch', 'onnx', 'transformers', 'huggingface_hub'} & set(sys.modules), sorted(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
