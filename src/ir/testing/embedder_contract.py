"""What an embedder does."""

from __future__ import annotations

import numpy as np
import pytest

from ir.protocols import Embedder
from ir.testing.tiny_corpora import CITIES

TEXTS = [str(item["text"]) for item in CITIES.values()]


class EmbedderContract:
    """Subclass it with a fixture ``embedder``."""

    #: How far two runs over one text may differ: batches of other sizes may round otherwise.
    tolerance = 1e-4

    def test_it_has_an_id(self, embedder: Embedder) -> None:
        assert isinstance(embedder.id, str)
        assert embedder.id

    def test_one_row_for_each_text(self, embedder: Embedder) -> None:
        rows = embedder(TEXTS)
        assert isinstance(rows, np.ndarray)
        assert (rows.dtype.name, rows.ndim, len(rows)) == ("float32", 2, len(TEXTS))
        assert rows.shape[1] > 0
        assert np.isfinite(rows).all()

    def test_all_texts_have_the_same_dimension(self, embedder: Embedder) -> None:
        assert embedder(TEXTS[:1]).shape[1] == embedder(TEXTS).shape[1] == embedder(TEXTS, input_type="query").shape[1]

    def test_a_declared_dimension_is_true(self, embedder: Embedder) -> None:
        declared = getattr(embedder, "dim", None)
        assert declared in (None, embedder(TEXTS[:1]).shape[1])

    def test_no_texts_no_rows(self, embedder: Embedder) -> None:
        rows = embedder([])
        assert (rows.ndim, len(rows)) == (2, 0)

    def test_a_text_has_one_vector_whatever_stands_beside_it(self, embedder: Embedder) -> None:
        together = embedder(TEXTS)
        alone = np.concatenate([embedder([text]) for text in reversed(TEXTS)])[::-1]
        np.testing.assert_allclose(together, alone, atol=self.tolerance)

    def test_the_same_again(self, embedder: Embedder) -> None:
        np.testing.assert_allclose(embedder(TEXTS), embedder(TEXTS), atol=self.tolerance)

    @pytest.mark.parametrize("text", ["", " \n", "日本語 🦊", "\x00", "word " * 5000, "x" * 20_000])
    def test_any_text_gets_a_finite_row(self, embedder: Embedder, text: str) -> None:
        rows = embedder([text, TEXTS[0]])
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows[1], embedder([TEXTS[0]])[0], atol=self.tolerance)

    def test_different_texts_differ(self, embedder: Embedder) -> None:
        rows = embedder(TEXTS)
        assert len(np.unique(rows.round(5), axis=0)) == len(TEXTS)

    def test_a_question_is_near_the_text_about_it(self, embedder: Embedder) -> None:
        rows = embedder(TEXTS)
        question = embedder(["skiers in the mountains in winter"], input_type="query")[0]
        cosines = rows @ question / (np.linalg.norm(rows, axis=1) * np.linalg.norm(question))
        assert list(CITIES)[int(cosines.argmax())] == "belmor"
