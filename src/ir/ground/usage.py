"""How terms are used: texts that somebody gave terms to. The nearest of them vote, and a map learns from all."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.ground.channels import PAIRS_FROM, Answer, Channel, Lookup, OverTerms, given_scores, stems_of, word_features
from ir.ground.families import families
from ir.ground.folding import Folding
from ir.ground.meaning import embedded
from ir.ground.nearest import Nearest
from ir.ground.postings import Postings, best_places, feature_keys
from ir.ground.sparse import Sparse
from ir.ground.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.ground.terms import Terms

    Floats = NDArray[np.float32]

__all__ = ["UsageDocument", "UsageModel", "held_back"]

#: So many of the nearest documents vote, each by its similarity to this power.
_VOTERS, _POWER = 30, 4
_LOOKED_AT = 200
#: From so many documents on a map is worth its cost; its features, and how strongly it is held small.
FEWEST_FOR_MAP = 1000
_MOST_WORDS, _FEWEST_OF_WORD, _RIDGE = 6000, 3, 3.0
#: A term that fewer documents have is not mapped to, and a map has at most so many numbers.
_FEWEST_OF_TERM, _LARGEST_MAP = 2, 100_000_000
_AT_ONCE = 20_000_000
_HELD_BACK, _SEED = 0.2, 17


@dataclass(frozen=True)
class UsageDocument:
    """A text and the terms that it was given; ``id`` helps to tell variants of one thing."""

    text: str
    terms: tuple[str, ...]
    id: str = ""


def held_back(
    documents: Sequence[UsageDocument], fold: Folding, share: float = _HELD_BACK
) -> tuple[list[UsageDocument], list[UsageDocument]]:
    """Documents to learn from and documents to try on; no family is on both sides."""
    group = families([document.text for document in documents], [document.id for document in documents])
    order = sorted(set(group))
    random.Random(_SEED).shuffle(order)
    held: set[int] = set()
    sizes = dict.fromkeys(order, 0)
    for one in group:
        sizes[one] += 1
    wanted = share * len(documents)
    taken = 0
    for one in order:
        # A large family would say the same thing many times over.
        if taken < wanted and sizes[one] <= max(2, 0.02 * len(documents)):
            held.add(one)
            taken += sizes[one]
    train = [document for document, one in zip(documents, group, strict=True) if one not in held]
    tried = [document for document, one in zip(documents, group, strict=True) if one in held]
    random.Random(_SEED).shuffle(tried)
    return train, tried


class UsageModel:
    """Documents by their words and their meaning, the terms of each, and the map."""

    def __init__(
        self,
        names: Sequence[str],
        terms: Terms,
        words: Postings,
        vectors: Sequence[Nearest],
        given: Sparse,
        language: str,
        embedders: Sequence[str],
        map_: tuple[NDArray[np.int64], Floats] | None,
    ) -> None:
        self.names = names
        self._words = words
        self._vectors = vectors
        self._given = given
        self.language = language
        self.embedders = tuple(embedders)
        self._map = map_
        self._terms = terms
        found = [terms.find(name) for name in names]
        self._number = np.array([-1 if at is None else at for at in found], np.int64)

    @classmethod
    def of(
        cls, documents: Sequence[UsageDocument], terms: Terms, fold: Folding, embedders: Sequence[str], language: str
    ) -> UsageModel:
        names: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        for at, document in enumerate(documents):
            known = [term for term in dict.fromkeys(document.terms) if terms.find(term) is not None]
            columns += [names.setdefault(term, len(names)) for term in known]
            rows += [at] * len(known)
        texts = [fold(document.text) for document in documents]
        shape = (len(documents), len(names))
        ones = np.ones(len(rows), np.float32)
        given = Sparse.of(np.array(rows, np.int64), np.array(columns, np.int64), ones, shape)
        words = Postings.of(
            feature_keys(*word_features(texts, stems_of(language), pairs=True)), len(texts), shared_from=PAIRS_FROM
        )
        vectors = [Nearest.of(embedded(embedder, texts)) for embedder in _embedders(embedders)]
        map_ = _mapped(words, vectors, given) if len(documents) >= FEWEST_FOR_MAP else None
        return cls(list(names), terms, words, vectors, given, language, embedders, map_)

    def over(self, terms: Terms) -> UsageModel:
        """The same model for a vocabulary with other terms beside."""
        parts = (self._words, self._vectors, self._given, self.language, self.embedders, self._map)
        return UsageModel(self.names, terms, *parts)

    def channels(self) -> list[Channel]:
        made: list[Channel] = [_Voting(self)]
        if self._map is not None:
            made.append(_Mapping(self))
        return made

    # What both channels make of a lookup once.
    def asked(self, lookups: Sequence[Lookup]) -> list[tuple[NDArray[np.uint32], list[Floats]]]:
        texts = [lookup.folded for lookup in lookups]
        features, rows = word_features(texts, stems_of(self.language), pairs=True)
        ends = np.searchsorted(rows, np.arange(1, len(texts) + 1))
        vectors = [np.asarray(one(texts, input_type="query"), np.float32) for one in _embedders(self.embedders)]
        parts = np.split(features, ends[:-1]) if texts else []
        return [(part, [space[at] for space in vectors]) for at, part in enumerate(parts)]

    def votes(self, features: NDArray[np.uint32], vectors: Sequence[Floats], hidden: Any) -> dict[int, float]:
        scores, found = self._words.scan(features, np.zeros(self._words.size, np.float32), unseen=False)
        looked = [found[best_places(scores[found], _LOOKED_AT)]]
        looked += [
            space.best(vector[None], _LOOKED_AT)[0][0]
            for space, vector in zip(self._vectors, vectors, strict=True)
            if vector.any()
        ]
        documents = np.unique(np.concatenate(looked)).astype(np.int64)
        if hidden is not None:
            documents = np.setdiff1d(documents, hidden)
        total: Floats = scores[documents]
        for space, vector in zip(self._vectors, vectors, strict=True):
            total = total + (np.maximum(space.scores(vector, documents), 0) / len(self._vectors)).astype(np.float32)
        total = total / np.float32(2 if self._vectors else 1)
        best = np.lexsort((documents, -total))[:_VOTERS]
        power = total[best].astype(np.float64) ** _POWER
        whole = float(power.sum())
        counted: dict[int, float] = {}
        if whole <= 0:
            return counted
        for document, vote in zip(documents[best].tolist(), power.tolist(), strict=True):
            first, end = int(self._given.starts[document]), int(self._given.starts[document + 1])
            for name in self._given.columns[first:end].tolist():
                term = int(self._number[name])
                if term >= 0:
                    counted[term] = counted.get(term, 0.0) + vote / whole
        return counted

    def mapped(self, features: NDArray[np.uint32], vectors: Sequence[Floats]) -> Floats:
        """What the map gives each term of the vocabulary."""
        assert self._map is not None
        chosen, weights = self._map
        places, values = self._words.weighted(features, unseen=False)
        at = np.searchsorted(chosen, places)
        known = [
            (int(row), value)
            for row, place, value in zip(at, places, values, strict=True)
            if _is_at(chosen, row, place)
        ]
        whole = np.concatenate([*vectors, np.ones(1, np.float32)]) @ weights[len(chosen) :]
        if known:
            whole = whole + np.array([value for _, value in known], np.float32) @ weights[[row for row, _ in known]]
        scores = np.zeros(len(self._terms), np.float32)
        held = self._number >= 0
        scores[self._number[held]] = np.maximum(whole, 0)[held]
        return scores

    def save(self, folder: Path) -> dict[str, Any]:
        self._words.save(folder, "usage_words")
        for number, space in enumerate(self._vectors):
            space.save(folder, f"usage_vectors-{number}")
        Texts.of(list(self.names)).save(folder, "usage_names")
        np.save(folder / "usage_starts.npy", self._given.starts)
        np.save(folder / "usage_terms.npy", self._given.columns)
        if self._map is not None:
            np.save(folder / "usage_map_words.npy", self._map[0])
            np.save(folder / "usage_map.npy", self._map[1])
        return {
            "documents": self._words.size,
            "language": self.language,
            "embedders": list(self.embedders),
            "mapped": self._map is not None,
        }

    @classmethod
    def load(cls, folder: Path, terms: Terms, about: Mapping[str, Any]) -> UsageModel:
        names = list(Texts.load(folder, "usage_names"))
        starts, columns = (np.load(folder / f"usage_{part}.npy", mmap_mode="r") for part in ("starts", "terms"))
        given = Sparse(starts, columns, np.ones(0, np.float32), len(names))
        vectors = [Nearest.load(folder, f"usage_vectors-{number}") for number in range(len(about["embedders"]))]
        map_ = None
        if about["mapped"]:
            map_ = (
                np.load(folder / "usage_map_words.npy", mmap_mode="r"),
                np.load(folder / "usage_map.npy", mmap_mode="r"),
            )
        words = Postings.load(folder, "usage_words", about["documents"])
        return cls(names, terms, words, vectors, given, about["language"], about["embedders"], map_)


def _mapped(words: Postings, vectors: Sequence[Nearest], given: Sparse) -> tuple[NDArray[np.int64], Floats] | None:
    """Ridge regression, in closed form, from the words and the meaning of a text to its terms.

    The words that most texts have are numbers of their own: there are few in a text, so products of all with all are
    quick, and rare ones say nothing about terms.
    """
    df = np.diff(words.starts)
    chosen = np.sort(np.lexsort((np.arange(len(df)), -df))[:_MOST_WORDS])
    chosen = chosen[df[chosen] >= _FEWEST_OF_WORD]
    whole = np.concatenate([*(np.asarray(space.rows, np.float32) for space in vectors), _ones(words.size)], axis=1)
    width = len(chosen) + whole.shape[1]
    if width * given.width > _LARGEST_MAP:
        return None
    by_word = words.turned().rows(chosen)
    square = np.zeros((width, width), np.float32)
    square[: len(chosen), : len(chosen)] = by_word.squared()
    square[: len(chosen), len(chosen) :] = by_word @ whole
    square[len(chosen) :, : len(chosen)] = square[: len(chosen), len(chosen) :].T
    square[len(chosen) :, len(chosen) :] = whole.T @ whole
    square[np.arange(width), np.arange(width)] += _RIDGE
    terms = given.transposed()
    targets = np.empty((width, given.width), np.float32)
    block = max(1, _AT_ONCE // words.size)
    for first in range(0, given.width, block):
        some = terms.rows(np.arange(first, min(first + block, given.width)))
        targets[: len(chosen), first : first + block] = by_word @ np.ascontiguousarray(some.dense().T)
        targets[len(chosen) :, first : first + block] = (some @ whole).T
    targets[:, np.diff(terms.starts) < _FEWEST_OF_TERM] = 0
    return chosen, np.linalg.solve(square, targets).astype(np.float32)


def _is_at(sorted_: NDArray[np.int64], row: int, value: int) -> bool:
    return bool(row < len(sorted_) and sorted_[row] == value)


def _ones(rows: int) -> Floats:
    return np.ones((rows, 1), np.float32)


def _embedders(names: Sequence[str]) -> list[Any]:
    from ir.embed import make_embedder

    return [make_embedder(name)[0] for name in names]


class _Voting:
    """The nearest documents vote for their terms."""

    name = "usage"

    def __init__(self, model: UsageModel) -> None:
        self._model = model

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        return self._model.asked(lookups)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        votes = self._model.votes(prepared[0], prepared[1], lookup.hidden_usage)
        return given_scores({term: (score, "usage") for term, score in votes.items()})


class _Mapping:
    """The map from texts to terms."""

    name = "usage-map"

    def __init__(self, model: UsageModel) -> None:
        self._model = model

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        return self._model.asked(lookups)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        scores = self._model.mapped(*prepared)
        return OverTerms(scores, np.flatnonzero(scores), "usage")
