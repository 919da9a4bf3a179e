"""The hashing embedder: always there, the same everywhere."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.embed import LightEmbedder

TEXTS = ["Parse a JSON file", "parsing JSON files", "Bake bread at home", "getUserName(user_id)", "日本語の文章"]


@pytest.fixture(scope="module")
def light() -> LightEmbedder:
    return LightEmbedder()


def test_rows_have_length_one(light: LightEmbedder) -> None:
    rows = light(TEXTS)
    assert rows.shape == (5, light.dim) == (5, 512)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_related_texts_are_closer(light: LightEmbedder) -> None:
    rows = light(TEXTS)
    assert rows[0] @ rows[1] > 0.6 > 0.2 > abs(rows[0] @ rows[2])
    name, other = light(["user name", "bread oven"])
    assert rows[3] @ name > 0.4 > abs(rows[3] @ other)
    assert rows[4] @ light(["日本語"])[0] > 0.4


def test_misspelt_words_stay_near(light: LightEmbedder) -> None:
    right, wrong = light(["configuration", "configuraton"])
    assert right @ wrong > 0.3


def test_stop_words_count_little_but_are_not_nothing(light: LightEmbedder) -> None:
    with_, without, only = light(["the history of the bridge", "history bridge", "to be or not to be"])
    assert with_ @ without > 0.97
    assert np.linalg.norm(only) == pytest.approx(1.0)


def test_the_order_of_learning_does_not_matter() -> None:
    one, other = LightEmbedder(), LightEmbedder()
    other([*reversed(TEXTS), "some more words before"])
    together, apart = one(TEXTS), np.vstack([other([text]) for text in TEXTS])
    assert together.tobytes() == apart.tobytes()


def test_vectors_are_the_ones_the_fingerprint_stands_for(light: LightEmbedder) -> None:
    """Who changes the vectors must raise VERSION, or the analyzer's: indexes are pinned to the fingerprint."""
    digest = hashlib.blake2b(np.round(light(TEXTS), 5).tobytes(), digest_size=8).hexdigest()
    assert (light.fingerprint, digest) == ("light-512-v1-terms3-english", "e7e29886e16109da")


def test_another_process_makes_the_same_vectors(light: LightEmbedder) -> None:
    code = (
        "import sys; from ir.embed import LightEmbedder\n"
        "sys.stdout.buffer.write(LightEmbedder()(sys.argv[1:]).tobytes())"
    )
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", code, *TEXTS[:4]], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        assert made == light(TEXTS[:4]).tobytes()


@pytest.mark.parametrize("text", ["", " \n", "😀🎉", "\x00\x01", "...", "\ud800"])
def test_a_text_without_words_is_zero(light: LightEmbedder, text: str) -> None:
    rows = light([text, "word"])
    assert not rows[0].any()
    assert rows[1].any()


def test_no_texts_give_no_rows(light: LightEmbedder) -> None:
    assert light([]).shape == (0, 512)


@pytest.mark.slow
def test_a_huge_text_is_embedded() -> None:
    text = " ".join(f"word{number % 5000}" for number in range(1_000_000)) + " " + "z" * 1_000_000
    assert np.linalg.norm(LightEmbedder()([text])[0]) == pytest.approx(1.0, abs=1e-6)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary of the analyzer is dropped when it is full, and the vectors of its terms with it."""
    texts = [f"alpha{n} beta{n} gamma" for n in range(40)]
    expected = LightEmbedder()(texts)
    monkeypatch.setattr("ir.analysis.words.MOST_REMEMBERED", 50)
    small = LightEmbedder()
    rows = np.vstack([small([text]) for text in texts])
    (held,) = small._vectors.values()
    assert len(held.vocabulary) < 60
    assert rows.tobytes() == expected.tobytes()


def test_threads_can_share_it() -> None:
    shared = LightEmbedder()
    texts = [[f"thread{t} word{n} shared" for n in range(300)] for t in range(4)]
    results: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda t=t: results.update({t: shared(texts[t])})) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = LightEmbedder()
    for number, rows in results.items():
        assert rows.tobytes() == alone(texts[number]).tobytes()
    assert len(results) == 4


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(max_size=80) | st.sampled_from(["the of", "red red fox", "getUserName " * 80]), min_size=2, max_size=5
    )
)
def test_a_text_alone_has_the_vector_that_it_has_among_others(light: LightEmbedder, texts: list[str]) -> None:
    together = light(texts)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_array_equal(light([text])[0], row)
