"""Tables of token vectors, in the layouts of wordllama and model2vec."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny
from tests.models.pulled import as_installed, pulled

from ir.embed import make_embedder
from ir.embed.models import forget_models, load_model
from ir.embed.static import StaticEmbedder
from ir.errors import EmbedderError, EmbedderUnavailable
from ir.models.folder import ModelFolder
from ir.models.tokenizing import TextTokenizer
from ir.models.weights import write_tensors
from ir.models.wordwise import WordwiseTokenizer
from ir.testing.contracts import EmbedderContract

TABLE = np.random.default_rng(5).standard_normal((len(tiny.WORDS), 6)).astype(np.float32)
TEA, HOT, UNKNOWN = 4, 6, 1


def unit(row: Any) -> Any:
    return row / np.linalg.norm(row)


def table_folder(path: Path, config: dict[str, Any] | None = None, **tensors: Any) -> Path:
    tiny.write_tokenizer(path)
    if config is not None:
        tiny.write_json(path / "config.json", config)
    write_tensors(path / "model.safetensors", tensors)
    return path


def test_a_text_is_the_mean_of_its_tokens_at_length_one(tmp_path: Path) -> None:
    folder = table_folder(tmp_path / "m", **{"embedding.weight": TABLE.astype(np.float16)})
    embedder, embedder_id = make_embedder(str(folder), cache=False)
    assert (embedder_id, embedder.dim) == ("m", 6)
    rows = embedder(["tea hot", "", "tea", "  "])
    np.testing.assert_allclose(rows[0], unit(TABLE[TEA] + TABLE[HOT]), atol=2e-3)
    np.testing.assert_allclose(rows[2], unit(TABLE[TEA]), atol=2e-3)
    assert not rows[1].any()
    assert not rows[3].any()


def test_model2vec_leaves_unknown_words_out_and_weighs_tokens(tmp_path: Path) -> None:
    config = {"model_type": "model2vec", "normalize": True}
    folder = table_folder(tmp_path / "m", config, embeddings=TABLE)
    rows = make_embedder(str(folder), cache=False)[0](["tea zzz", "zzz"])
    np.testing.assert_allclose(rows[0], unit(TABLE[TEA]), atol=1e-6)
    assert not rows[1].any()
    weights = np.linspace(0.1, 2, len(tiny.WORDS)).astype(np.float32)
    mapping = np.arange(len(tiny.WORDS))[::-1].astype(np.int64)
    other = table_folder(tmp_path / "n", config, embeddings=TABLE, weights=weights, mapping=mapping.copy())
    (row,) = make_embedder(str(other), cache=False)[0](["tea hot"])
    expected = TABLE[mapping[TEA]] * weights[TEA] + TABLE[mapping[HOT]] * weights[HOT]
    np.testing.assert_allclose(row, unit(expected), atol=1e-6)


def test_a_folder_without_a_table_is_refused(tmp_path: Path) -> None:
    folder = table_folder(tmp_path / "m", something=TABLE)
    with pytest.raises(EmbedderError, match="holds no table"):
        StaticEmbedder(ModelFolder.read(folder), "m")


def test_a_missing_table_names_the_command() -> None:
    for name in ("static", "wordllama", "WordLlama"):
        with pytest.raises(EmbedderUnavailable, match="ir models pull static"):
            make_embedder(name)


def test_word_by_word_gives_the_same_tokens() -> None:
    file = pulled("static") / "tokenizer.json"
    whole = TextTokenizer(file, 8192, special=False)
    wordwise = WordwiseTokenizer(file, 8192)
    texts = [
        "Steep green tea at 80 degrees;",
        "two  spaces",
        " leading",
        "trailing ",
        "tabs\tand\nlines",
        "naïve 日本",
        "x" * 300,
    ]
    for text in [*texts, "def f(a, b): return a[b]  # twice", "a<s>b </s> c"]:
        assert wordwise(text).tolist() == whole(text).ids, text


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\x00\x01\x02", "🦊🦊🦊", "\ud83d alone", "x" * 10_000_000, "word " * 2_000_000, "\u200b" * 9]
)
def test_odd_texts_get_finite_vectors(text: str) -> None:
    as_installed("static")
    (row,) = make_embedder("static")[0]([text])
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)


@pytest.mark.slow
def test_a_hundred_thousand_texts_take_little_memory() -> None:
    as_installed("static")
    embedder, _ = make_embedder("static")
    texts = [f"text number {number % 1000}" for number in range(100_000)]
    embedder(texts[:1000])
    tracemalloc.start()
    rows = embedder(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(rows[:1000], rows[-1000:])
    assert peak < 1.5 * rows.nbytes + 20_000_000


class TestWordLlama(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Any:
        as_installed("static")
        return make_embedder("static")[0]

    def test_a_question_is_near_the_text_about_it(self, embedder: Any) -> None:
        rows = embedder(["Knead the dough and let it rise.", "The train to Geneva leaves at noon."])
        asked = embedder(["baking bread at home"], input_type="query")[0]
        assert (rows @ asked).argmax() == 0


def test_a_process_has_a_model_once_and_lets_go_of_it(tmp_path: Path) -> None:
    import gc
    from concurrent.futures import ThreadPoolExecutor
    from weakref import ref

    folder = table_folder(tmp_path / "m", **{"embedding.weight": TABLE})
    with ThreadPoolExecutor(8) as pool:
        held = list(pool.map(lambda _: load_model(str(folder)), range(8)))
    assert all(one is held[0] for one in held)
    seen = ref(held[0])
    held.clear()
    forget_models()
    gc.collect()
    assert seen() is None
