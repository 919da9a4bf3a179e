"""Running the dense and the lexical channel of one query against one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer, query_terms
from ir.errors import EmbedderMismatch, InvalidInput
from ir.options import SearchOptions
from ir.protocols import Ranking, Snapshot, Where
from ir.retrieve.candidates import Candidates, Found
from ir.retrieve.rescoring import Bm25Override

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["Question", "complete", "embed_query", "initial_depth", "lexical_scores", "run_channels"]

#: A vector whose length differs from one by less has been made so long, as well as single precision can.
_AS_GOOD_AS_ONE = 1e-6
#: How deep min-max and distribution-based fusion look by default: their scale depends on what they see.
SCALE_DEPTH = 1000
#: How deep the other fusions look at least.
MIN_DEPTH = 50
#: How much deeper a blend asks the lexical channel: a longer list costs little, and looking up scores that are not in
#: it costs as much as another search.
LEXICAL_WIDENING = 2


@dataclass
class Question:
    """One query, prepared for the channels it is for.

    ``vector`` is ``None`` where nothing can be compared with it; ``space`` names the space it is in, ``None`` for the
    default one; ``asked`` is the query's own vector where feedback moved ``vector``.
    """

    text: str
    terms: Mapping[str, float]
    vector: Vector | None
    where: Where
    override: Bm25Override | None = None
    asked: Vector | None = None
    space: str | None = None
    #: What the lexical channel looks for, as it was written.
    words: str = ""

    @classmethod
    def of(
        cls,
        text: str,
        vector: Vector | None,
        analyzer: Analyzer,
        options: SearchOptions,
        space: str | None = None,
        words: str | None = None,
    ) -> Question:
        words = words or options.words or text
        terms = query_terms(analyzer, words) if options.mode != "dense" or options.explain else {}
        override = Bm25Override.of(options.bm25, analyzer) if options.bm25 else None
        where = Where(options.filter, options.surfaces)
        return cls(text, terms, vector, where, override, None, space, words)

    def dense_scores(self, snapshot: Snapshot, refs: Refs) -> Scores:
        """The cosine of each given record."""
        assert self.vector is not None, "the dense channel was asked"
        if self.space is None:
            return snapshot.dense_scores(self.vector, refs)
        return snapshot.dense_scores(self.vector, refs, self.space)


def embed_query(embedder: Any, text: str, dim: int | None) -> NDArray[np.float32]:
    """The query's vector, of length one; an error if the index holds vectors of another size."""
    rows = np.asarray(embedder([text], input_type="query"), dtype=np.float32)
    vector = rows.reshape(-1)
    if dim is not None and len(vector) != dim:
        raise EmbedderMismatch(
            f"The query's vector has {len(vector)} dimensions, the index has {dim}.",
            remedy="Open the corpus with the embedder that built it, rebuild it, or search with mode='lexical'.",
        )
    length = sqrt(np.dot(vector, vector))
    if length == 0 or abs(length - 1) < _AS_GOOD_AS_ONE:
        return vector
    return vector / np.float32(length)


def run_channels(
    snapshot: Snapshot, question: Question, options: SearchOptions, depth: int, among: Refs | None = None
) -> dict[str, Found]:
    """What each channel of the mode returns at ``depth``; with ``among``, all of those records that it finds."""
    if among is not None:
        return _channels_among(snapshot, question, options, among)
    found = {}
    if options.mode != "lexical":
        refs, scores = _dense(snapshot, question, depth)
        found["dense"] = Found(refs, scores, len(refs) < depth)
    if options.mode != "dense":
        widened = options.mode == "hybrid" and options.fusion == "blend" and question.where.everything
        words_depth = depth * LEXICAL_WIDENING if widened else depth
        refs, scores = _lexical(snapshot, question, words_depth)
        found["lexical"] = Found(refs, scores, len(refs) < words_depth)
    return found


def _channels_among(snapshot: Snapshot, question: Question, options: SearchOptions, among: Refs) -> dict[str, Found]:
    """Both channels over given records alone, each of which is scored."""
    found = {}
    if options.mode != "lexical":
        cosines = np.empty(0, dtype=np.float32)
        compared = among if question.vector is not None and question.vector.any() else among[:0]
        if len(compared):
            cosines = question.dense_scores(snapshot, compared)
        found["dense"] = _best_first(compared, cosines)
    if options.mode != "dense":
        scores = lexical_scores(snapshot, question, among) if question.terms and len(among) else np.zeros(len(among))
        found["lexical"] = _best_first(among[scores > 0], scores[scores > 0].astype(np.float32))
    return found


def _best_first(refs: Refs, scores: Scores) -> Found:
    order = np.lexsort((refs, -scores))
    return Found(refs[order], scores[order], True)


def initial_depth(options: SearchOptions) -> int:
    """How many records each channel is asked for at first."""
    if options.mode != "hybrid":
        return options.candidates
    if options.depth is not None:
        return max(options.depth, options.candidates)
    least = SCALE_DEPTH if options.fusion in ("minmax", "dbsf") else MIN_DEPTH
    return max(options.candidates, least)


def complete(
    snapshot: Snapshot, question: Question, candidates: Candidates, name: str, places: NDArray[np.int64] | None = None
) -> None:
    """Look up, for records that only the other channel returned, the score that this one would give them.

    With ``places``, for no others than those.
    """
    channel = candidates.channels[name]
    if channel.completed:
        return
    channel.completed = True
    missing = np.flatnonzero(channel.ranks == 0) if places is None else places[channel.ranks[places] == 0]
    if not len(missing):
        return
    refs = candidates.refs[missing]
    if name == "dense" and question.vector is not None:
        channel.scores[missing] = question.dense_scores(snapshot, refs)
    elif name == "lexical" and not channel.exhausted:
        channel.scores[missing] = lexical_scores(snapshot, question, refs)


def _dense(snapshot: Snapshot, question: Question, depth: int) -> Ranking:
    vector = question.vector
    # The embedder may have made nothing of the query: then no record is nearer to it than another.
    if vector is None or (not vector[0] and not vector.any()):
        return Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
    if question.space is None:
        return snapshot.dense(vector, depth, question.where)
    return snapshot.dense(vector, depth, question.where, question.space)


def _lexical(snapshot: Snapshot, question: Question, depth: int) -> Ranking:
    if not question.terms:
        return Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
    if question.override is None:
        return snapshot.lexical(question.terms, depth, question.where)
    return question.override.rank(snapshot, question.terms, depth, question.where)


def lexical_scores(snapshot: Snapshot, question: Question, refs: Refs) -> Scores:
    """The BM25 score of each given record, with the caller's own constants if there are any."""
    if question.override is None:
        return snapshot.lexical_scores(question.terms, refs)
    return question.override.scores(snapshot, question.terms, refs)


def as_queries(formulated: str | Sequence[str], original: str) -> list[str]:
    """A formulator's answer as a list of non-blank queries, the original one if none is left."""
    if not isinstance(formulated, Iterable):
        raise InvalidInput(f"formulate must return a query or a list of queries, not {formulated!r}.")
    many = [formulated] if isinstance(formulated, str) else list(formulated)
    kept = [text.strip() for text in many if isinstance(text, str) and text.strip()]
    return list(dict.fromkeys(kept)) or [original]
