"""Candidates for rewritten phrases: a pool of high recall from a fixed tag vocabulary, by a contract of its own.

Each phrase, and its last word, is looked up. A lookup that is a tag or an alias gives that; else the subword model's
nearest words give theirs. What suits the whole request (the *context*) is blended in, each phrase keeps its best, and
the phrases are merged. Nothing is invented, and the final choice is left to who comes next.

>>> state = State({"canid": 5000, "fox": 900}, {"canine": ["canid"]})
>>> [one.tag for one in psq_candidates_from_rewrite_phrases(["Canine", "red fox"], False, state=state)]
['canid', 'fox']
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ir.errors import InvalidInput
from ir.ground.reading import read_policy
from ir.ground.vocabulary import Vocabulary

if TYPE_CHECKING:
    from ir.ground.context import ContextModel

__all__ = [
    "POLICY_FILE",
    "Candidate",
    "State",
    "get_nsfw_tags",
    "psq_candidates_from_rewrite_phrases",
    "use",
]

#: The policy list that :func:`use` finds in the folder of a vocabulary; it goes over the one that was built in.
POLICY_FILE = "word_rating_probabilities.csv"
_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "have",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "off",
        "on",
        "onto",
        "or",
        "over",
        "that",
        "the",
        "their",
        "then",
        "this",
        "to",
        "under",
        "up",
        "was",
        "were",
        "with",
    ]
)
_SHORTEST_HEAD = 3
_IMPUTED_SHARE = 0.1
_SKIP = "PSQ_SKIP_FASTTEXT_FOR_EXACT_ALIAS"
_OFF = frozenset({"", "0", "false", "no", "off"})


@dataclass
class Candidate:
    """A tag that may be meant, the best that any phrase gave it, and those phrases."""

    tag: str
    score_combined: float
    score_fasttext: float | None
    score_context: float | None
    count: int | None
    sources: list[str] = field(default_factory=list)


class Neighbours(Protocol):
    """A subword model."""

    def neighbours(self, words: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """The ``k`` nearest known words of each word with their similarities, best first."""


class State:
    """What the candidates come from: the counts of tags, what aliases stand for, the two models, the policy list."""

    def __init__(
        self,
        tag_counts: Mapping[str, int],
        alias2tags: Mapping[str, Sequence[str]] | None = None,
        *,
        fasttext_model: Neighbours | None = None,
        context: ContextModel | None = None,
        nsfw_tags: Collection[str] = (),
    ) -> None:
        self.tag_counts = tag_counts
        self.alias2tags = alias2tags or {}
        self.fasttext_model = fasttext_model
        self.context = context
        self.nsfw_tags = frozenset(nsfw_tags)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> State:
        """The state that a vocabulary stands for. Names and aliases count as they are written; words are joined by
        underscores in a lookup, whatever the vocabulary's own separator."""
        names = list(vocabulary.terms.names)
        aliases: dict[str, list[str]] = {}
        starts = vocabulary.terms.alias_starts.tolist()
        every = list(vocabulary.terms.aliases)
        for at, name in enumerate(names):
            for alias in every[starts[at] : starts[at + 1]]:
                aliases.setdefault(alias, []).append(name)
        counts = dict(zip(names, vocabulary.terms.counts.tolist(), strict=True))
        return cls(
            counts,
            aliases,
            fasttext_model=vocabulary.subwords,
            context=vocabulary.context,
            nsfw_tags=vocabulary.blocked,
        )

    def is_canonical(self, token: str) -> bool:
        return token in self.tag_counts or (self.context is not None and token in self.context.row_of)

    def count(self, tag: str) -> int:
        return int(self.tag_counts.get(tag, 0))


_used: State | None = None


def use(vocabulary: Vocabulary | State | str | Path | None) -> State | None:
    """Make this vocabulary, or the one in this folder, the one that candidates come from; return its state."""
    global _used
    if isinstance(vocabulary, (str, Path)):
        listed = Path(vocabulary) / POLICY_FILE
        vocabulary = Vocabulary.load(vocabulary)
        if listed.is_file():
            vocabulary = vocabulary.with_policy(read_policy(listed)[0])
    _used = vocabulary if vocabulary is None or isinstance(vocabulary, State) else State.of(vocabulary)
    return _used


def get_nsfw_tags() -> frozenset[str]:
    """The tags of the loaded vocabulary's policy list that are blocked unless allowed."""
    return _loaded().nsfw_tags


def _loaded() -> State:
    if _used is None:
        raise InvalidInput(
            "No vocabulary is loaded.", remedy="Load one first: ir.ground.psq.use(folder or vocabulary)."
        )
    return _used


class _Default(int):
    """A default: what is set in the environment goes before it, what a caller passes does not."""


def psq_candidates_from_rewrite_phrases(
    rewrite_phrases: Sequence[str],
    allow_nsfw_tags: bool,
    context_tags: Sequence[str] | None = None,
    context_tag_weight: float = 1.0,
    context_weight: float = 0.5,
    per_phrase_k: int = _Default(50),
    per_phrase_final_k: int = _Default(1),
    global_k: int = _Default(300),
    min_tag_count: int = _Default(0),
    verbose: bool = False,
    return_phrase_ranks: bool = False,
    *,
    state: State | None = None,
) -> Any:
    """Candidates, best first; with ``verbose`` also a report on each phrase, with ``return_phrase_ranks`` also the best
    rank of each tag in any phrase.

    ``state`` is where they come from, by default what :func:`use` was given. Where the caller passes nothing,
    ``PSQ_RETRIEVAL_PER_PHRASE_K``, ``PSQ_RETRIEVAL_PER_PHRASE_FINAL_K``, ``PSQ_RETRIEVAL_GLOBAL_K`` and
    ``PSQ_MIN_TAG_COUNT`` are read. ``PSQ_SKIP_FASTTEXT_FOR_EXACT_ALIAS=0`` asks for neighbours of exact matches, too.
    """
    asked = _Asked(
        _setting("per_phrase_k", per_phrase_k, "PSQ_RETRIEVAL_PER_PHRASE_K", 1),
        _setting("per_phrase_final_k", per_phrase_final_k, "PSQ_RETRIEVAL_PER_PHRASE_FINAL_K", 1),
        _setting("global_k", global_k, "PSQ_RETRIEVAL_GLOBAL_K", 1),
        _setting("min_tag_count", min_tag_count, "PSQ_MIN_TAG_COUNT", 0),
        _number("context_weight", context_weight, 1.0),
        frozenset() if allow_nsfw_tags else (state or _loaded()).nsfw_tags,
    )
    tag_weight = _number("context_tag_weight", context_tag_weight, None)
    if isinstance(rewrite_phrases, str) or not all(isinstance(phrase, str) for phrase in rewrite_phrases):
        raise InvalidInput("rewrite_phrases must be a list of texts.", remedy="Put a single phrase in a list.")
    held = state or _loaded()
    phrases = _final_phrases(rewrite_phrases)
    lookups = [phrase.replace(" ", "_") for phrase in phrases]
    projected = [_project_to_canonicals(lookup, held, asked.min_tag_count) for lookup in lookups]
    near = _neighbours(lookups, projected, held, asked.per_phrase_k)
    request = _request(lookups, context_tags or (), tag_weight, held)
    given = {_normalised(phrase): phrase for phrase in reversed(rewrite_phrases)}

    merged: dict[str, Candidate] = {}
    ranks: dict[str, int] = {}
    reports: list[dict[str, Any]] = []
    for phrase, lookup, required, words in zip(phrases, lookups, projected, near, strict=True):
        rows = _scored(lookup, required, words or (), request, held, asked)
        kept, dropped = _truncated(rows, required, asked.per_phrase_final_k)
        for rank, row in enumerate(kept, start=1):
            ranks[row.tag] = min(rank, ranks.get(row.tag, rank))
            _merge(merged, row, phrase, held)
        known = held.context is not None and lookup in held.context.row_of
        reports.append(
            {
                "phrase": given.get(phrase, phrase),
                "normalized": phrase,
                "lookup": lookup,
                "tfidf_vocab": known,
                "oov_terms": [] if known else [lookup],
                "query_has_context": request is not None,
                "fasttext_skipped": words is None,
                "dropped_required": dropped,
                "candidates": [row.report(held) for row in kept],
            }
        )
    ordered = sorted(merged.values(), key=lambda one: (-one.score_combined, one.tag))[: asked.global_k]
    results: list[Any] = [ordered]
    if verbose:
        results.append(reports)
    if return_phrase_ranks:
        results.append(ranks)
    return tuple(results) if len(results) > 1 else ordered


@dataclass(frozen=True)
class _Asked:
    per_phrase_k: int
    per_phrase_final_k: int
    global_k: int
    min_tag_count: int
    context_weight: float
    blocked: frozenset[str]


def _setting(name: str, value: int, variable: str, least: int) -> int:
    told = os.environ.get(variable, "").strip() if isinstance(value, _Default) else ""
    if told:
        name = variable
        value = int(told) if told.lstrip("+-").isdigit() else told  # type: ignore[assignment]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def _number(name: str, value: float, most: float | None) -> float:
    wrong = isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not np.isfinite(value)
    if wrong or value < 0 or (most is not None and value > most):
        bounds = f"between 0 and {most:g}" if most is not None else "of at least 0"
        raise InvalidInput(f"{name} must be a number {bounds}, not {value!r}.")
    return float(value)


def _normalised(phrase: str) -> str:
    return " ".join(phrase.lower().replace("_", " ").split())


def _final_phrases(phrases: Sequence[str]) -> list[str]:
    """The phrases, normalised and each once, and then the heads of those of several words.

    >>> _final_phrases(["Big_Shirt", " grey  SHIRT ", "big shirt"])
    ['big shirt', 'grey shirt', 'shirt']
    """
    own = [phrase for phrase in dict.fromkeys(map(_normalised, phrases)) if phrase]
    words = [phrase.split() for phrase in own]
    heads = [some[-1] for some in words if len(some) > 1]
    valid = [head for head in heads if len(head) >= _SHORTEST_HEAD and head not in _STOP_WORDS]
    return list(dict.fromkeys([*own, *valid]))


def _project_to_canonicals(token: str, state: State, min_tag_count: int = 0) -> list[str]:
    """The tags that a token stands for: itself if it is one, else what it is an alias of."""
    if token in state.tag_counts:  # most are, and this is asked a thousand times for a request
        return [token] if state.tag_counts[token] >= min_tag_count else []
    targets = [token] if state.is_canonical(token) else state.alias2tags.get(token, ())
    known = (tag for tag in dict.fromkeys(targets) if state.is_canonical(tag))
    return [tag for tag in known if state.count(tag) >= min_tag_count]


def _neighbours(
    lookups: Sequence[str], projected: Sequence[Sequence[str]], state: State, k: int
) -> list[list[tuple[str, float]] | None]:
    """The neighbours of each lookup; ``None`` where it is an exact match and they are not asked for."""
    skips = os.environ.get(_SKIP, "1").strip().lower() not in _OFF
    asked = [at for at, tags in enumerate(projected) if not (skips and tags)]
    found: list[list[tuple[str, float]] | None] = [None] * len(lookups)
    if state.fasttext_model is None:
        near: list[list[tuple[str, float]]] = [[] for _ in asked]
    else:
        near = state.fasttext_model.neighbours([lookups[at] for at in asked], k)
    for at, words in zip(asked, near, strict=True):
        found[at] = words
    return found


def _request(lookups: Sequence[str], tags: Sequence[str], weight: float, state: State) -> Any:
    """The one context vector of the request, or ``None``."""
    if state.context is None:
        return None
    weights: dict[str, float] = dict.fromkeys(lookups, 1.0)
    for tag in tags:
        name = _normalised(tag).replace(" ", "_")
        weights[name] = weights.get(name, 0.0) + weight
    return state.context.request(weights)


@dataclass
class _Row:
    tag: str
    alias_token: str
    fasttext: float
    context: float | None = None
    combined: float = 0.0
    imputed: bool = False

    @property
    def order(self) -> tuple[float, str]:
        return -self.combined, self.tag

    def report(self, state: State) -> dict[str, Any]:
        return {
            "tag": self.tag,
            "alias_token": self.alias_token,
            "score_fasttext": self.fasttext,
            "score_context": self.context,
            "score_combined": self.combined,
            "context_imputed": self.imputed,
            "count": state.tag_counts.get(self.tag),
        }


def _scored(
    lookup: str,
    required: Sequence[str],
    words: Sequence[tuple[str, float]],
    request: Any,
    state: State,
    asked: _Asked,
) -> list[_Row]:
    """The candidates of one phrase, best first."""
    best: dict[str, _Row] = {}
    for word, similarity in words:
        for tag in _project_to_canonicals(word, state, asked.min_tag_count):
            if tag not in asked.blocked and (tag not in best or similarity > best[tag].fasttext):
                best[tag] = _Row(tag, word, float(similarity))
    for tag in required:
        if tag not in asked.blocked:
            best[tag] = _Row(tag, lookup, 1.0)
    rows = list(best.values())
    contexts = None
    if request is not None and state.context is not None:
        contexts = state.context.scores(request, [row.tag for row in rows])
    _fuse(rows, contexts, asked.context_weight)
    return sorted(rows, key=lambda row: row.order)


def _fuse(rows: Sequence[_Row], contexts: Sequence[float | None] | None, weight: float) -> None:
    """Blend both scores; a tag without a context gets the tenth percentile of the others."""
    if contexts is None:
        for row in rows:
            row.combined = row.fasttext
        return
    default = _default_context(contexts)
    for row, context in zip(rows, contexts, strict=True):
        row.imputed = context is None
        row.context = default if context is None else float(context)
        row.combined = (1 - weight) * row.fasttext + weight * row.context


def _default_context(contexts: Sequence[float | None]) -> float:
    """
    >>> round(_default_context([0.6, -0.2, 0.1, 0.3, None]), 4), _default_context([None])
    (-0.11, 0.0)
    """
    known = sorted(context for context in contexts if context is not None)
    if not known:
        return 0.0
    # Between the two that it lies between; numpy's percentile takes longer than all the rest of a phrase.
    place = _IMPUTED_SHARE * (len(known) - 1)
    low = int(place)
    high = min(low + 1, len(known) - 1)
    return known[low] + (place - low) * (known[high] - known[low])


def _truncated(rows: Sequence[_Row], required: Sequence[str], k: int) -> tuple[list[_Row], list[str]]:
    """The ``k`` best rows, with those that are required; and what was required and had no room."""
    wanted = set(required)
    musts = [row for row in rows if row.tag in wanted]
    others = [row for row in rows if row.tag not in wanted]
    kept = musts[:k] + others[: max(0, k - len(musts))]
    return sorted(kept, key=lambda row: row.order), [row.tag for row in musts[k:]]


def _merge(merged: dict[str, Candidate], row: _Row, phrase: str, state: State) -> None:
    one = merged.get(row.tag)
    if one is None:
        merged[row.tag] = Candidate(
            row.tag, row.combined, row.fasttext, row.context, state.tag_counts.get(row.tag), [phrase]
        )
        return
    one.score_combined = max(one.score_combined, row.combined)
    one.score_fasttext = row.fasttext if one.score_fasttext is None else max(one.score_fasttext, row.fasttext)
    if row.context is not None:
        one.score_context = row.context if one.score_context is None else max(one.score_context, row.context)
    one.sources.append(phrase)
