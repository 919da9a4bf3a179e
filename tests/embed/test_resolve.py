"""From what a user writes to an embedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.embed import CachedEmbedder, best_available, make_embedder, model_dir, models, register_loader
from ir.embed.custom import CallableEmbedder
from ir.errors import EmbedderError, EmbedderUnavailable


class Tiny:
    """A model as a loader would give it."""

    id = "tiny-2-v1"
    fingerprint = "tiny-2-v1-abc"
    dim = 2
    max_tokens = 7
    cacheable = True

    def __init__(self) -> None:
        self.calls: list[tuple[int, str]] = []

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
        self.calls.append((len(texts), input_type))
        return np.array([[len(text), 1.0] for text in texts], np.float32).reshape(len(texts), 2)


@pytest.fixture
def tiny() -> Iterator[Tiny]:
    model = Tiny()

    def loader(name: str) -> Tiny | None:
        return model if name in ("tiny", "minilm") else None

    register_loader(loader)
    yield model
    models._loaders.remove(loader)


@pytest.mark.parametrize("spec", ["light", "hashing", " Light ", "light-512-v1"])
def test_light_has_several_names(spec: str) -> None:
    embedder, embedder_id = make_embedder(spec)
    assert embedder_id == embedder.id == "light-512-v1"
    assert not isinstance(embedder, CachedEmbedder)


@pytest.mark.parametrize("spec", ["default", "local", "minilm", None])
def test_a_missing_model_names_the_command_and_the_way_out(spec: str | None) -> None:
    with pytest.raises(EmbedderUnavailable) as caught:
        make_embedder(spec)
    assert "'minilm' is not on this machine" in caught.value.message
    assert "ir models pull minilm" in caught.value.remedy
    assert 'embedder="box" always works' in caught.value.remedy


def test_an_unknown_model_is_not_promised() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"Did you mean 'light'.*ir models pull minilm"):
        make_embedder("ligth")
    with pytest.raises(EmbedderUnavailable, match="ir models pull org/Some-Model"):
        make_embedder("org/Some-Model")


@pytest.mark.parametrize("spec", ["", "  ", 3, ["light"]])
def test_what_cannot_be_an_embedder(spec: object) -> None:
    with pytest.raises(EmbedderError):
        make_embedder(spec)


def test_a_registered_loader_is_asked(tiny: Tiny) -> None:
    embedder, embedder_id = make_embedder("tiny")
    assert embedder_id == "tiny-2-v1"
    assert isinstance(embedder, CachedEmbedder)
    assert (embedder.dim, embedder.max_tokens, embedder.fingerprint) == (2, 7, "tiny-2-v1-abc")
    assert make_embedder("default", cache=False) == (tiny, "tiny-2-v1")


def test_an_embedder_stays_what_it_is(tiny: Tiny) -> None:
    assert make_embedder(tiny, cache=False) == (tiny, tiny.id)
    cached, _ = make_embedder(tiny)
    assert make_embedder(cached)[0] is cached


def test_best_available_needs_files_and_a_loader(tiny: Tiny) -> None:
    assert best_available() == "box"
    folder = model_dir("default")
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")
    assert best_available() == "box"
    (folder / "model.onnx").write_bytes(b"x")
    assert best_available() == "minilm"


def test_the_best_is_the_model_before_the_table_before_what_is_always_there(ir_home: Path) -> None:
    assert ir_home in model_dir("minilm").parents
    for name in ("static", "minilm"):
        folder = model_dir(name)
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"x")
        assert best_available() == name


def test_openvino_stands_in_where_onnxruntime_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_dir("minilm-openvino")
    assert folder == model_dir("minilm")
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"x")
    monkeypatch.setattr(models, "find_spec", lambda name: None if name == "onnxruntime" else name)
    assert best_available() == "minilm-openvino"
    monkeypatch.setattr(models, "find_spec", lambda name: None if name in ("onnxruntime", "openvino") else name)
    assert best_available() == "box"


@pytest.mark.parametrize(("written", "meant"), [("minilm-openvno", "minilm-openvino"), ("minilm-int", "minilm-int8")])
def test_a_misspelt_form_finds_its_name(written: str, meant: str) -> None:
    with pytest.raises(EmbedderUnavailable, match=f"Did you mean '{meant}'"):
        make_embedder(written)


def test_a_form_is_there_if_its_model_is() -> None:
    assert not models.is_installed("org/net-openvino")
    folder = model_dir("org/net")
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.onnx").write_bytes(b"x")
    assert models.is_installed("org/net-openvino")
    assert models.is_installed("org/net")


def test_a_loader_can_be_named_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models.py").write_text(
        "from ir.embed import LightEmbedder\ndef load(name):\n    return LightEmbedder() if name == 'mine' else None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(models, "_loaders", [])
    register_loader("own_models:load")
    assert make_embedder("mine")[1] == "light-512-v1"
    with pytest.raises(EmbedderUnavailable):
        make_embedder("yours")


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 2.0] for text in texts]


def test_a_callable_is_an_embedder() -> None:
    embedder, embedder_id = make_embedder(lengths)
    assert embedder_id == "custom"
    assert isinstance(embedder, CallableEmbedder)
    assert embedder(["a", "bb"], input_type="query").tolist() == [[1, 1, 2], [2, 1, 2]]
    assert embedder(()).shape == (0, 3)
    assert embedder.dim == 3


def test_a_callable_may_carry_an_id_and_is_then_cached() -> None:
    def function(texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 4))

    function._ir_id = "ones"  # type: ignore[attr-defined]
    embedder, embedder_id = make_embedder(function)
    assert (embedder_id, embedder.fingerprint) == ("ones", "ones")  # type: ignore[attr-defined]
    assert isinstance(embedder, CachedEmbedder)


def test_fingerprints_of_callables_tell_them_apart() -> None:
    def scaled(texts: Sequence[str]) -> Any:
        return np.array(lengths(texts)) * 5

    def other(texts: Sequence[str]) -> Any:
        return np.array(lengths(texts))[:, ::-1]

    marks = [CallableEmbedder(function).fingerprint for function in (lengths, lengths, other)]
    assert marks[0] == marks[1] != marks[2]
    assert CallableEmbedder(scaled).fingerprint == marks[0]


def test_input_type_is_passed_only_where_it_is_accepted() -> None:
    seen: list[str] = []

    def by_name(texts: Sequence[str], input_type: str = "document") -> Any:
        seen.append(input_type)
        return lengths(texts)

    def by_keywords(texts: Sequence[str], **options: str) -> Any:
        seen.append(options["input_type"])
        return lengths(texts)

    for function in (by_name, by_keywords):
        make_embedder(function)[0](["a"], input_type="query")
    make_embedder(lengths)[0](["a"], input_type="query")
    assert seen == ["query", "query"]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (np.zeros((1, 4)), r"shape \(1, 4\) for 2 texts"),
        (np.zeros(2), r"shape \(2,\)"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        ([[1.0], [1.0, 2.0]], "list that is not a table of numbers"),
        (None, "returned"),
        ("text", "str that is not a table"),
        ([[1.0], [float("nan")]], "NaN or infinity for 1 of 2 texts, first for text number 1"),
        ([[1.0], [float("inf")]], "NaN or infinity"),
    ],
)
def test_what_a_callable_returns_is_checked(returned: Any, says: str) -> None:
    with pytest.raises(EmbedderError, match=says):
        make_embedder(lambda texts: returned)[0](["a", "b"])


def test_a_changing_dimension_is_refused() -> None:
    widths = iter((4, 5))
    embedder, _ = make_embedder(lambda texts: np.ones((len(texts), next(widths))))
    embedder(["a"])
    with pytest.raises(EmbedderError, match="vectors of 5 numbers, and of 4 before"):
        embedder(["b"])
