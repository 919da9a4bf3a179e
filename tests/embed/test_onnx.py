"""Folders of models: what their files say is done."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny
from tests.models.tiny import write_json

from ir.embed import make_embedder
from ir.embed.onnx import OnnxEmbedder
from ir.errors import EmbedderError, EmbedderUnavailable
from ir.models.folders import model_dir
from ir.models.weights import write_tensors
from ir.testing.contracts import EmbedderContract

TABLE = np.random.default_rng(1).standard_normal((len(tiny.WORDS), 4)).astype(np.float32)
CLS, SEP, TEA, HOT = 2, 3, 4, 6


def folder_with(tmp_path: Path, *, pooling: str = "", normalise: bool = False, **files: Any) -> Path:
    folder = tiny.write_lookup(tmp_path / "lookup", TABLE)
    modules = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    if pooling:
        modules.append({"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"})
        write_json(folder / "1_Pooling" / "config.json", {pooling: True})
    if normalise:
        modules.append({"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"})
    write_json(folder / "modules.json", modules)
    for name, content in files.items():
        write_json(folder / f"{name}.json", content)
    return folder


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("", TABLE[[CLS, TEA, HOT, SEP]].mean(axis=0)),
        ("pooling_mode_mean_tokens", TABLE[[CLS, TEA, HOT, SEP]].mean(axis=0)),
        ("pooling_mode_cls_token", TABLE[CLS]),
        ("pooling_mode_max_tokens", TABLE[[CLS, TEA, HOT, SEP]].max(axis=0)),
        ("pooling_mode_lasttoken", TABLE[SEP]),
    ],
)
def test_pooling_is_read_from_the_folder(tmp_path: Path, pooling: str, expected: Any) -> None:
    embedder, _ = make_embedder(str(folder_with(tmp_path, pooling=pooling)), cache=False)
    np.testing.assert_allclose(embedder(["tea hot"])[0], expected, atol=1e-6)


def test_normalisation_prompts_and_length_are_read_from_the_folder(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        pooling="pooling_mode_cls_token",
        normalise=True,
        sentence_bert_config={"max_seq_length": 4},
        config_sentence_transformers={"prompts": {"query": "query: ", "passage": ""}},
    )
    embedder = OnnxEmbedder(folder, "lookup")
    assert embedder.max_tokens == 4
    np.testing.assert_allclose(embedder(["tea"])[0], TABLE[CLS] / np.linalg.norm(TABLE[CLS]), atol=1e-6)
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode": "mean"})
    again, _ = make_embedder(str(tiny_copy(folder, tmp_path / "copy")), cache=False)
    asked = TABLE[[CLS, 10, 11, SEP]].mean(axis=0)  # "query :" and no room for the rest
    np.testing.assert_allclose(again(["tea"], input_type="query")[0], asked / np.linalg.norm(asked), atol=1e-6)
    told = TABLE[[CLS, TEA, SEP]].mean(axis=0)
    np.testing.assert_allclose(again(["tea"])[0], told / np.linalg.norm(told), atol=1e-6)


def tiny_copy(folder: Path, target: Path) -> Path:
    import shutil

    return Path(shutil.copytree(folder, target))


def test_dense_layers_follow_the_pooling(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, pooling="pooling_mode_cls_token")
    modules = [{"type": f"x.{kind}", "path": path} for kind, path in (("Transformer", ""), ("Pooling", "1_Pooling"))]
    write_json(folder / "modules.json", [*modules, {"type": "x.Dense", "path": "2_Dense"}])
    write_json(folder / "2_Dense" / "config.json", {"activation_function": "torch.nn.modules.activation.Tanh"})
    weight, bias = np.arange(8, dtype=np.float32).reshape(2, 4) / 8, np.array([0.5, -0.5], np.float32)
    write_tensors(folder / "2_Dense" / "model.safetensors", {"linear.weight": weight, "linear.bias": bias})
    embedder, _ = make_embedder(str(folder), cache=False)
    np.testing.assert_allclose(embedder(["tea"])[0], np.tanh(TABLE[CLS] @ weight.T + bias), atol=1e-6)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("modules.json", [{"type": "x.LSTM", "path": ""}], "'LSTM', which is not supported"),
        ("modules.json", [{"type": "x.Pooling", "path": "../../etc"}], "outside of its folder"),
        ("1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "max and cls"),
        ("1_Pooling/config.json", {"include_prompt": False}, "without its prompt"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, file: str, content: Any, message: str) -> None:
    folder = folder_with(tmp_path, pooling="pooling_mode_mean_tokens")
    write_json(folder / file, content)
    with pytest.raises(EmbedderError, match=message):
        make_embedder(str(folder))


def test_a_model_of_the_hub_is_found_where_it_was_pulled_to(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="ir models pull org/lookup"):
        make_embedder("org/lookup")
    folder_with(tmp_path).rename(model_dir("org/lookup").parent.mkdir(parents=True) or model_dir("org/lookup"))
    embedder, embedder_id = make_embedder("org/lookup", cache=False)
    assert embedder_id == "org/lookup"
    assert embedder(["tea"]).shape == (1, 4)


def test_int8_is_asked_for_by_the_end_of_the_name_unless_a_model_is_called_so(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "bert")
    whole, whole_id = make_embedder(f"{folder}-int8", cache=False)
    exact, exact_id = make_embedder(str(folder), cache=False)
    assert (whole_id, exact_id) == ("bert-int8", "bert")
    assert 0 < np.abs(whole(["tea"]) - exact(["tea"])).max() < 0.2
    tiny_copy(folder, tmp_path / "bert-int8")
    named, _ = make_embedder(str(tmp_path / "bert-int8"), cache=False)
    np.testing.assert_array_equal(named(["tea"]), exact(["tea"]))
    with pytest.raises(EmbedderError, match="is an ONNX file and is run as it is"):
        make_embedder(f"{folder_with(tmp_path)}-int8")


def test_the_fingerprint_follows_the_weights_and_not_the_place(tmp_path: Path) -> None:
    first = OnnxEmbedder(folder_with(tmp_path), "m").fingerprint
    moved = tiny_copy(tmp_path / "lookup", tmp_path / "elsewhere")
    assert OnnxEmbedder(moved, "m").fingerprint == first
    other = tiny.write_lookup(tmp_path / "other", TABLE + 1)
    assert OnnxEmbedder(other, "m").fingerprint != first


def test_broken_files_are_errors_that_say_so(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "onnx" / "model.onnx").write_bytes(b"not a network")
    with pytest.raises(EmbedderError, match=r"model\.onnx cannot be loaded.*folder again"):
        make_embedder(str(folder))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderError, match="is not a tokenizer"):
        make_embedder(str(folder))
    (folder / "modules.json").write_text("{")
    with pytest.raises(EmbedderError, match=r"modules\.json cannot be read"):
        make_embedder(str(folder))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("modules.json", [{"path": ""}], r"modules\.json.*a type"),
        ("modules.json", ["Transformer"], r"modules\.json.*a type"),
        ("modules.json", 7, r"modules\.json.*a list of parts"),
        ("config_sentence_transformers.json", {"prompts": ["query: "]}, r"prompts.*by name"),
        ("config_sentence_transformers.json", {"prompts": {"query": 7}}, r"prompts.*by name"),
        ("config.json", {"model_type": "roberta", "max_position_embeddings": "many"}, r"max_position_embeddings"),
        ("modules.json", [{"type": "x.Transformer"}, {"type": "x.Dense", "path": "2_Dense"}], r"2_Dense.*missing"),
        (
            "modules.json",
            [{"type": "x.Transformer"}, {"type": "x.Normalize"}, {"type": "x.Dense", "path": "2_Dense"}],
            r"normalises before a dense layer",
        ),
    ],
)
def test_malformed_files_are_errors_that_name_them(tmp_path: Path, file: str, content: Any, message: str) -> None:
    folder = folder_with(tmp_path)
    write_json(folder / file, content)
    with pytest.raises(EmbedderError, match=message):
        make_embedder(str(folder), cache=False)


def test_a_dense_layer_without_its_weights_is_an_error(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    write_json(folder / "modules.json", [{"type": "x.Transformer"}, {"type": "x.Dense", "path": "2_Dense"}])
    write_json(folder / "2_Dense" / "config.json", {})
    write_tensors(folder / "2_Dense" / "model.safetensors", {"weight": np.ones((4, 4), np.float32)})
    with pytest.raises(EmbedderError, match=r"2_Dense.*linear\.weight"):
        make_embedder(str(folder), cache=False)


def test_a_prompt_that_is_null_is_none(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, config_sentence_transformers={"prompts": {"query": None, "document": None}})
    embedder, _ = make_embedder(str(folder), cache=False)
    np.testing.assert_array_equal(embedder(["tea"], input_type="query"), embedder(["tea"]))


@pytest.mark.slow
def test_any_number_of_texts_takes_little_memory(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(folder_with(tmp_path), "m")
    texts = ["tea hot water", "bread"] * 50_000
    tracemalloc.start()
    rows = embedder(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows.shape == (100_000, 4)
    np.testing.assert_array_equal(rows[:2], rows[-2:])
    assert peak < rows.nbytes + 20_000_000


class TestBertFolder(EmbedderContract):
    """The contract's texts are words that the tiny vocabulary lacks: only their number tells them apart."""

    @pytest.fixture
    def embedder(self, tmp_path: Path) -> OnnxEmbedder:
        return OnnxEmbedder(tiny.write_bert(tmp_path / "bert"), "bert")

    def test_different_texts_differ(self, embedder: Any) -> None:
        assert not np.allclose(embedder(["tea"]), embedder(["bread"]))

    def test_a_question_is_near_the_text_about_it(self, embedder: Any) -> None:
        rows = embedder(["green tea", "bread dough"])
        asked = embedder(["green tea"], input_type="query")[0]
        assert np.linalg.norm(rows - asked, axis=1).argmin() == 0


def test_a_network_of_fixed_shape_is_an_error_that_says_so(tmp_path: Path) -> None:
    folder = tiny.write_lookup(tmp_path / "fixed", TABLE, sizes=(1, 3))
    embedder = make_embedder(str(folder), cache=False)[0]  # a word and two marks: that one text fits
    with pytest.raises(EmbedderError, match=r"could not be run on an input of 1 by 4: .*dynamic axes"):
        embedder(["hot tea"])
