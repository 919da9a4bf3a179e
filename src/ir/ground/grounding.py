"""From phrases to the terms that they may mean, best first, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ir.errors import InvalidInput
from ir.ground.channels import Answer, Channel, Lookup
from ir.options import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.ground.vocabulary import Vocabulary

__all__ = ["Grounded", "Grounding", "Reason", "ground"]

#: So many of the best terms of each channel are scored by all.
DEPTH = 200


@dataclass(frozen=True)
class Reason:
    """What a channel gave a term: its score, how much that counts, and what of the term it was."""

    channel: str
    score: float
    weight: float
    by: str = ""


@dataclass(frozen=True)
class Grounded:
    """A term that a phrase may mean."""

    term: str
    score: float
    count: int = 0
    category: str = ""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Grounding:
    """The terms for one phrase, best first. ``abstained``: the best of them lay below the floor, and none is given."""

    phrase: str
    terms: tuple[Grounded, ...]
    abstained: bool = False


def ground(
    phrases: str | Sequence[str],
    vocabulary: Vocabulary,
    *,
    k: int = 10,
    channels: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    allow_blocked: bool = False,
    min_count: int = 0,
    floor: float | None = None,
    explain: bool = False,
) -> list[Grounding]:
    """The ``k`` terms of the vocabulary that each phrase means best; never anything that is not in it.

    ``channels`` are those that are asked (all that the vocabulary has), ``weights`` go over its own. Terms of the
    policy list are left out unless ``allow_blocked``, rarer ones than ``min_count`` always. With a ``floor`` a phrase
    whose best term scores less gets none. ``explain`` adds what each channel said.

    >>> from ir.ground import Term, Vocabulary
    >>> vocabulary = Vocabulary.of([Term("machine-learning", definition="Programs that learn."), Term("tea")])
    >>> [found.terms[0].term for found in ground(["ML", "teas"], vocabulary)]
    ['machine-learning', 'tea']
    """
    k = count("k", k)
    given = [phrases] if isinstance(phrases, str) else list(phrases)
    wrong = next((phrase for phrase in given if not isinstance(phrase, str)), None)
    if wrong is not None:
        raise InvalidInput(f"A phrase must be text, not {wrong!r}.")
    lookups = [Lookup(phrase, vocabulary.folding(phrase)) for phrase in given]
    options = Options(k, channels, weights, allow_blocked, min_count, floor, explain)
    return list(ground_lookups(lookups, vocabulary, options))


@dataclass(frozen=True)
class Options:
    """What a grounding may be told; the words are those of :func:`ground`."""

    k: int = 10
    channels: Sequence[str] | None = None
    weights: Mapping[str, float] | None = None
    allow_blocked: bool = False
    min_count: int = 0
    floor: float | None = None
    explain: bool = False


def ground_lookups(lookups: Sequence[Lookup], vocabulary: Vocabulary, options: Options) -> Iterator[Grounding]:
    """The grounding of each lookup, as soon as it is known."""
    asked = vocabulary.chosen_channels(options.channels)
    counted = vocabulary.weights_of(asked, options.weights)
    full = [lookup for lookup in lookups if lookup.folded]
    answers = _pools(full, asked, vocabulary, options.allow_blocked, options.min_count)
    for lookup in lookups:
        if lookup.folded:
            yield _grounding(lookup, next(answers), asked, counted, vocabulary, options)
        else:
            yield Grounding(lookup.phrase, (), abstained=options.floor is not None)


class Pool:
    """The candidates of one lookup, with the score of each in each channel."""

    def __init__(self, terms: NDArray[np.int64], scores: NDArray[np.float32], answers: Sequence[Answer]) -> None:
        self.terms = terms
        self.scores = scores
        self.answers = answers


def pools(
    lookups: Sequence[Lookup], asked: Sequence[Channel], vocabulary: Vocabulary, depth: int = DEPTH
) -> Iterator[Pool]:
    """The candidates of each lookup, with no regard to policy: for choosing weights and for evaluation."""
    return _pools(lookups, asked, vocabulary, True, 0, depth)


def _pools(
    lookups: Sequence[Lookup],
    asked: Sequence[Channel],
    vocabulary: Vocabulary,
    allow_blocked: bool,
    min_count: int,
    depth: int = DEPTH,
) -> Iterator[Pool]:
    prepared = [channel.prepared(lookups) for channel in asked]
    for at, lookup in enumerate(lookups):
        answers = [channel.ask(lookup, ready[at]) for channel, ready in zip(asked, prepared, strict=True)]
        found = [answer.best(depth) for answer in answers]
        terms = np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, np.int64)
        terms = vocabulary.allowed(terms, allow_blocked, min_count)
        columns = [answer.scores(terms) for answer in answers]
        yield Pool(terms, np.stack(columns, 1) if columns else np.zeros((0, 0), np.float32), answers)


def _grounding(
    lookup: Lookup,
    pool: Pool,
    asked: Sequence[Channel],
    counted: NDArray[np.float32],
    vocabulary: Vocabulary,
    options: Options,
) -> Grounding:
    k, floor = options.k, options.floor
    totals = pool.scores @ counted
    names = vocabulary.terms.names
    cut = np.partition(totals, len(totals) - k)[len(totals) - k] if len(totals) > k else -np.inf
    near = [int(at) for at in np.flatnonzero((totals >= cut) & (totals > 0))]
    best = sorted(near, key=lambda at: (-float(totals[at]), names[int(pool.terms[at])]))[:k]
    if floor is not None and (not best or float(totals[best[0]]) < floor):
        return Grounding(lookup.phrase, (), abstained=True)
    found = []
    for at in best:
        term = int(pool.terms[at])
        reasons: tuple[Reason, ...] = ()
        if options.explain:
            reasons = tuple(
                Reason(channel.name, round(float(score), 4), round(float(weight), 4), answer.why(term))
                for channel, answer, score, weight in zip(asked, pool.answers, pool.scores[at], counted, strict=True)
                if score and weight
            )
            reasons = tuple(sorted(reasons, key=lambda reason: -reason.score * reason.weight))
        found.append(
            Grounded(
                names[term],
                round(float(totals[at]), 5),
                int(vocabulary.terms.counts[term]),
                vocabulary.terms.categories[term],
                reasons,
            )
        )
    return Grounding(lookup.phrase, tuple(found))
