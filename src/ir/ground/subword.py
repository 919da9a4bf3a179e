"""Words by the pieces of their spelling: a vector for any word, and the nearest ones that the model knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput
from ir.ground.channels import Answer, Channel, Lookup, given_scores
from ir.ground.fasttext_file import SubwordTable, read_model
from ir.ground.nearest import Nearest, unit_rows
from ir.ground.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.ground.terms import Terms
    from ir.ground.vocabulary import Vocabulary

    Floats = NDArray[np.float32]

__all__ = ["Subwords", "names_hash"]

#: A model that knows a smaller share of the names was trained on something else.
LEAST_KNOWN = 0.05
_BLOCK = 20_000


def names_hash(terms: Terms) -> str:
    """What ties a model to the vocabulary that it was trained on: a hash of the sorted names."""
    return sha256("\n".join(sorted(terms.names)).encode("utf-8")).hexdigest()[:16]


class Subwords:
    """A fastText model as far as neighbours need it."""

    def __init__(self, table: SubwordTable, nearest: Nearest, about: Mapping[str, Any] | None = None) -> None:
        self.table = table
        self.nearest = nearest
        self.about = dict(about or {})
        self._row_of = {word: row for row, word in enumerate(table.words)}

    @classmethod
    def of(cls, table: SubwordTable, about: Mapping[str, Any] | None = None) -> Subwords:
        rows = np.empty((len(table.words), table.gram_rows.shape[1]), np.float32)
        for first in range(0, len(rows), _BLOCK):
            block = range(first, min(first + _BLOCK, len(rows)))
            rows[block.start : block.stop] = unit_rows(np.stack([_known(table, row) for row in block]))
        return cls(table, Nearest.of(rows), about)

    @classmethod
    def read(cls, path: str | Path, terms: Terms) -> Subwords:
        """A ready model of gensim or of Facebook's fastText; refused if it hardly knows the names."""
        table = read_model(path)
        known = {word.casefold().replace("_", " ").replace("-", " ") for word in table.words}
        share = sum(name.casefold().replace("_", " ").replace("-", " ") in known for name in terms.names) / max(
            1, len(terms)
        )
        if share < LEAST_KNOWN:
            raise InvalidInput(
                f"{Path(path).name} knows {share:.1%} of the {len(terms):,} names: it was trained on something else.",
                remedy="Train one on this vocabulary's usage, or give the model that belongs to it.",
            )
        return cls.of(table, {"source": Path(path).name, "share_known": round(share, 4), "names": names_hash(terms)})

    def vector(self, word: str) -> Floats | None:
        """The vector of length one of a word, known or not; ``None`` if it has no pieces."""
        row = self._row_of.get(word)
        if row is not None:
            return np.asarray(self.nearest.rows[row], np.float32)
        rows = gram_rows(word, self.table)
        if not len(rows):
            return None
        mean = np.asarray(self.table.gram_rows[rows], np.float32).mean(axis=0)
        norm = float(np.linalg.norm(mean))
        return mean / np.float32(norm) if norm > 0 else None

    def neighbours(self, words: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """The ``k`` nearest words that the model knows for each word, best first; a known one is not its own."""
        vectors = [self.vector(word) for word in words]
        asked = [at for at, vector in enumerate(vectors) if vector is not None]
        found: list[list[tuple[str, float]]] = [[] for _ in words]
        if not asked or k < 1 or not len(self.table.words):
            return found
        queries = np.stack([vectors[at] for at in asked])  # type: ignore[misc]
        for at, (rows, scores) in zip(asked, self.nearest.best(queries, k + 1), strict=True):
            own = self._row_of.get(words[at])
            pairs = zip(rows.tolist(), scores.tolist(), strict=True)
            found[at] = [(self.table.words[row], score) for row, score in pairs if row != own][:k]
        return found

    def channel(self, vocabulary: Vocabulary) -> Channel:
        return _Subword(self, vocabulary)

    def save(self, folder: Path) -> dict[str, Any]:
        Texts.of(list(self.table.words)).save(folder, "subword_words")
        np.save(folder / "subword_grams.npy", self.table.gram_rows)
        self.nearest.save(folder, "subword_rows")
        return {"minn": self.table.minn, "maxn": self.table.maxn, "about": self.about}

    @classmethod
    def load(cls, folder: Path, kept: Mapping[str, Any]) -> Subwords:
        nearest = Nearest.load(folder, "subword_rows")
        words = list(Texts.load(folder, "subword_words"))
        grams = np.load(folder / "subword_grams.npy", mmap_mode="r")
        table = SubwordTable(words, nearest.rows, grams, kept["minn"], kept["maxn"])
        return cls(table, nearest, kept["about"])


def _known(table: SubwordTable, row: int) -> Floats:
    """The vector of a known word: the mean of its own row and those of its pieces."""
    grams = gram_rows(table.words[row], table)
    total = np.asarray(table.word_rows[row], np.float32) + np.asarray(table.gram_rows[grams], np.float32).sum(axis=0)
    mean: Floats = (total / np.float32(len(grams) + 1)).astype(np.float32)
    return mean


def gram_rows(word: str, table: SubwordTable) -> list[int]:
    """The rows of the character n-grams of ``<word>``."""
    bucket = len(table.gram_rows)
    if not bucket or table.maxn < 1:
        return []
    pieces = [letter.encode("utf-8", "replace") for letter in f"<{word}>"]
    rows = []
    for first in range(len(pieces)):
        number = 2166136261
        for size, piece in enumerate(pieces[first : first + table.maxn], start=1):
            for byte in piece:
                # A byte from 128 on counts as a negative number that fills all 32 bits.
                number = ((number ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
            if size >= table.minn and not (size == 1 and (first == 0 or first == len(pieces) - 1)):
                rows.append(number % bucket)
    return rows


class _Subword:
    """Neighbours by subwords, with what they are aliases of."""

    name = "subword"

    def __init__(self, model: Subwords, vocabulary: Vocabulary) -> None:
        self._model = model
        self._vocabulary = vocabulary

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        separator = self._vocabulary.folding.separator
        return self._model.neighbours([lookup.folded.replace(" ", separator) for lookup in lookups], 50)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        surfaces, fold = self._vocabulary.index.surfaces, self._vocabulary.folding
        found: dict[int, tuple[float, str]] = {}
        for word, score in prepared:
            for row in surfaces.rows_of(fold(word)):
                term = int(surfaces.owners[row])
                if row != lookup.hidden and score > found.get(term, (0.0, ""))[0]:
                    found[term] = (score, word)
        return given_scores(found)
