"""Networks on OpenVINO compute what they compute on onnxruntime, quietly and from any number of threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models import tiny

from ir.embed import make_embedder
from ir.embed.onnx import OnnxEmbedder
from ir.errors import EmbedderError, MissingExtra
from ir.models import openvino
from ir.models.encoder import Encoder
from ir.models.folder import ModelFolder
from ir.models.weights import write_tensors
from ir.rerank import resolve_reranker

TEXTS = ["green tea", "hot water for tea", "the", "bread dough bread dough", "tea the hot"]
TABLE = np.random.default_rng(1).standard_normal((len(tiny.WORDS), 4)).astype(np.float32)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Float32, whatever the processor offers."""
    monkeypatch.setattr(openvino, "_best_precision", lambda core: "f32")


def states_of(encoder: Encoder, texts: list[str]) -> list[NDArray[np.float32]]:
    found: dict[int, NDArray[np.float32]] = {}
    tokens = [encoder.tokenizer(text) for text in texts]
    encoder.run(tokens, lambda batch, states: found.update(zip(batch, states, strict=True)))
    return [found[place] for place in range(len(texts))]


def cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    return float((left * right).sum() / np.linalg.norm(left) / np.linalg.norm(right))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("family", "prefix"), [("bert", ""), ("bert", "bert."), ("xlm-roberta", "roberta.")])
def test_in_float32_it_agrees_with_a_plain_reading_of_the_paper(tmp_path: Path, family: str, prefix: str) -> None:
    encoder = Encoder(ModelFolder.read(tiny.write_bert(tmp_path / "m", family, prefix)), form="openvino")
    assert encoder.precision == "f32"
    for text, states in zip(TEXTS, states_of(encoder, TEXTS), strict=True):
        np.testing.assert_allclose(states, tiny.bert_states(encoder.tokenizer(text).ids, family), atol=2e-5)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
def test_every_activation_is_that_of_onnxruntime(tmp_path: Path, activation: str) -> None:
    folder = tiny.write_bert(tmp_path / "m")
    tiny.write_json(folder / "config.json", tiny.bert_config(hidden_act=activation))
    both = [states_of(Encoder(ModelFolder.read(folder), form=form), TEXTS) for form in ("", "openvino")]
    for left, right in zip(*both, strict=True):
        np.testing.assert_allclose(left, right, atol=2e-5)


def test_what_the_processor_is_quick_at_is_near(tmp_path: Path) -> None:
    folder = ModelFolder.read(tiny.write_bert(tmp_path / "m"))
    encoder = Encoder(folder, form="openvino")
    assert encoder.precision in ("bf16", "f32")
    for left, right in zip(states_of(Encoder(folder), TEXTS), states_of(encoder, TEXTS), strict=True):
        assert cosine(left, right) >= 0.9999


def test_a_text_has_the_same_vector_in_every_batch_and_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_THREADS", "3")
    embedder, _ = make_embedder(f"{tiny.write_bert(tmp_path / 'bert')}-openvino", cache=False)
    alone = np.concatenate([embedder([text]) for text in TEXTS])
    np.testing.assert_array_equal(embedder(TEXTS * 40), np.tile(alone, (40, 1)))
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: embedder(TEXTS * 5), range(40)):
            np.testing.assert_array_equal(rows, np.tile(alone, (5, 1)))


def test_a_blank_text_has_a_vector_of_zeros(tmp_path: Path) -> None:
    embedder, _ = make_embedder(f"{tiny.write_bert(tmp_path / 'bert')}-openvino", cache=False)
    rows = embedder(["", "tea", " \n"])
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert embedder([]).shape == (0, tiny.HIDDEN)


@pytest.mark.usefixtures("exact")
def test_weights_of_half_precision_live_as_long_as_they_are_needed(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "m")
    halves = {name: tensor.astype(np.float16) for name, tensor in tiny.bert_tensors().items()}
    write_tensors(folder / "model.safetensors", halves)
    encoder = Encoder(ModelFolder.read(folder), form="openvino")
    gc.collect()
    _ = [np.full((64, 64), 7.0, np.float32) for _ in range(200)]  # whatever was let go is written over
    for text, states in zip(TEXTS, states_of(encoder, TEXTS), strict=True):
        assert cosine(states, tiny.bert_states(encoder.tokenizer(text).ids).astype(np.float32)) > 0.9999


@pytest.mark.usefixtures("exact")
def test_an_onnx_file_is_run_as_it_is(tmp_path: Path) -> None:
    folder = tiny.write_lookup(tmp_path / "lookup", TABLE)
    embedder, embedder_id = make_embedder(f"{folder}-openvino", cache=False)
    assert embedder_id == "lookup-openvino"
    expected = TABLE[[2, 4, 6, 3]].mean(axis=0)  # [CLS] tea hot [SEP]
    np.testing.assert_allclose(embedder(["tea hot"])[0], expected, atol=1e-6)


def test_the_fingerprint_tells_the_engine_and_the_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.write_bert(tmp_path / "bert")
    prints = {OnnxEmbedder(folder, "bert").fingerprint}
    for precision in ("f32", "bf16"):
        monkeypatch.setattr(openvino, "_best_precision", lambda core, chosen=precision: chosen)
        copied = tmp_path / precision / "bert"  # the encoder of one folder is opened once in a process
        copied.parent.mkdir()
        copied.symlink_to(folder, target_is_directory=True)
        prints.add(OnnxEmbedder(copied, "bert-openvino", form="openvino").fingerprint)
    assert len(prints) == 3
    assert sum("-f32-" in mark or "-bf16-" in mark for mark in prints) == 2


def test_a_folder_may_itself_be_called_so(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "bert-openvino")
    embedder, embedder_id = make_embedder(str(folder), cache=False)
    assert (embedder_id, embedder.encoder.form) == ("bert-openvino", "")  # type: ignore[attr-defined]


def test_maxsim_runs_on_it(tmp_path: Path) -> None:
    reranker = resolve_reranker(f"maxsim:{tiny.write_bert(tmp_path / 'bert')}-openvino")
    assert reranker.id == "maxsim:bert-openvino"  # type: ignore[attr-defined]
    scores = list(reranker("green tea", [{"text": "bread dough"}, {"text": "green tea"}]))
    assert scores[1] > scores[0]


def test_broken_files_are_errors_that_say_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tiny.write_lookup(tmp_path / "lookup", TABLE)
    (folder / "onnx" / "model.onnx").write_bytes(b"not a network")
    with pytest.raises(EmbedderError, match=r"model\.onnx cannot be loaded.*folder again"):
        make_embedder(f"{folder}-openvino")
    bert = tiny.write_bert(tmp_path / "bert")
    tiny.write_json(bert / "config.json", tiny.bert_config(num_hidden_layers=3))
    with pytest.raises(EmbedderError, match=r"lack the tensor 'encoder\.layer\.2"):
        make_embedder(f"{bert}-openvino")
    assert capfd.readouterr() == ("", "")


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtra, match=r"ir-substrate\[openvino\]"):
        make_embedder(f"{tiny.write_bert(tmp_path / 'bert')}-openvino")


def test_nothing_is_sent_printed_or_left_behind(tmp_path: Path) -> None:
    """The package reports its import to its makers, unless told not to."""
    folder = tiny.write_bert(tmp_path / "bert")
    home = tmp_path / "home"
    home.mkdir()
    code = (
        "import sys, multiprocessing\n"
        "def seen(event, arguments):\n"
        "    if event.startswith(('socket.connect', 'socket.getaddrinfo', 'urllib', 'subprocess', 'os.fork')):\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.addaudithook(seen)\n"
        "from ir.embed import make_embedder\n"
        f"make_embedder({f'{folder}-openvino'!r}, cache=False)[0](['tea'])\n"
        "assert not [name for name in sys.modules if name.startswith('openvino_telemetry')], 'telemetry'\n"
        "assert 'onnxruntime' not in sys.modules\n"
        "import openvino\n"
        "assert openvino.convert_model\n"
    )
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "HOME", "TF_BUILD", "JENKINS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "HOME": str(home)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(home.iterdir()) == []
