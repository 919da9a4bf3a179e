"""Is this corpus about that at all? The one question that scores can answer, and what a calibration says to it.

*Off topic* means that nothing in the corpus is near the query: the best raw channel score shows it well. *Answer
missing* means that the corpus is about the topic but holds no answer: no score shows that, and nothing here claims it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir.base import SearchHit
from ir.options import DFLT_FUSION
from ir.protocols import Corpus
from ir.select.signals import SIGNALS, default_signal, describe, signal_score

__all__ = [
    "AUTOMATIC",
    "OFF_TOPIC",
    "Gate",
    "calibration_key",
    "find_gate",
    "gate_score",
    "rerank_name",
]

#: The kind of refusal that a floor on scores stands for.
OFF_TOPIC = "off_topic"
#: Where a calibration came from: cases with and without an answer, or probe queries alone.
LABELLED = "labelled"
PROBES = "probes"
#: What a floor is said to be from; one that a caller gives is said to be given.
CASES = "cases"
#: The key of the floor that builds make. It reads the best cosine, so it serves dense and hybrid searches alike.
AUTOMATIC = "automatic"
_MEANINGS = {
    False: "probability that the corpus can answer, at equal odds",
    True: "share of unrelated probe queries that score no higher",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def gate_score(hits: Sequence[SearchHit], mode: str, signal: str | None = None) -> float | None:
    """The number that a floor is compared with: the best raw score of the mode's channel, or the named ``signal``.

    ``None`` where there is nothing to read: no hits, or a channel that did not run.

    >>> hit = SearchHit("a", "document", 0.016, "", channels={"dense": {"rank": 1, "score": 0.7}})
    >>> gate_score([hit], "hybrid"), gate_score([], "hybrid")
    (0.7, None)
    """
    return signal_score(hits, signal or default_signal(mode))


def calibration_key(mode: str, *, fusion: str | None = None, rerank: str | None = None) -> str:
    """The name under which a calibration is stored: the mode, and what differs from the default ranking.

    >>> calibration_key("hybrid"), calibration_key("hybrid", fusion="rrf"), calibration_key("dense", rerank="x/y")
    ('hybrid', 'hybrid+rrf', 'dense+rerank.x_y')
    """
    key = mode
    if mode == "hybrid" and fusion not in (None, DFLT_FUSION):
        key += f"+{fusion}"
    if rerank is not None:
        key += f"+rerank.{_UNSAFE.sub('_', rerank)}"
    return key


def rerank_name(rerank: Any) -> str | None:
    """A stable name of a reranker: its own name, its ``rerank_id``, or that of the function; ``None`` for none."""
    if rerank is None or isinstance(rerank, str):
        return rerank
    given = getattr(rerank, "rerank_id", None) or getattr(rerank, "id", None) or getattr(rerank, "__name__", None)
    return str(given or type(rerank).__name__)


@dataclass(frozen=True)
class Gate:
    """A floor on one signal of the raw channel scores. ``floor`` is ``None`` if there is no usable calibration;
    ``note`` says why, or why it is another than the one that somebody made. ``unknown`` is the floor for queries of
    which no word is in the corpus, where that is another."""

    floor: float | None = None
    signal: str = "dense"
    record: Mapping[str, Any] | None = None
    note: str | None = None
    unknown: float | None = None

    @property
    def origin(self) -> str | None:
        """What the floor was made from: ``"cases"`` or ``"probes"``; ``None`` without a floor."""
        if self.floor is None:
            return None
        return PROBES if (self.record or {}).get("kind") == PROBES else CASES

    def score(self, hits: Sequence[SearchHit]) -> float | None:
        return signal_score(hits, self.signal)

    def floor_for(self, hits: Sequence[SearchHit]) -> float | None:
        """The floor that holds for the query that found ``hits``."""
        return self.unknown if self.unknown is not None and _no_word_is_known(hits) else self.floor

    def refuses(self, hits: Sequence[SearchHit]) -> bool:
        """Whether the best of ``hits`` is below the floor; no hits and an unreadable score are no reason to."""
        floor, score = self.floor_for(hits), self.score(hits)
        return floor is not None and score is not None and score < floor

    def why(self, hits: Sequence[SearchHit], name: str) -> str:
        """Why the gate refuses the query that found ``hits`` in the corpus ``name``."""
        no_word = f"No word of the query is in {name!r}, and t" if _no_word_is_known(hits) else "T"
        return (
            f"{no_word}he {describe(self.signal)} there is {self.score(hits):.3f}, below the floor of "
            f"{self.floor_for(hits):.3f} (from {self.origin})"
        )

    def answerable(self, hits: Sequence[SearchHit]) -> dict[str, Any] | None:
        """What the calibration says to the question whether the corpus is about the query at all.

        A labelled calibration gives a ``probability``. One from probes knows no answerable queries, so its
        ``probability`` is ``None`` and ``above_probes`` is the share of unrelated probe queries that score no higher.
        ``meaning`` says in words what the number is, ``error_rate`` what the floor was calibrated to. ``None`` without
        a calibration curve, and where no score could be read. It never speaks about whether an answer is missing from
        a corpus that is about the topic.
        """
        score, floor = self.score(hits), self.floor_for(hits)
        record = self.record or {}
        curve = record.get("curve")
        if floor is None or score is None or not curve:
            return None
        value = interpolate(curve, score)
        from_probes = record.get("kind") == PROBES
        answer: dict[str, Any] = {"probability": None if from_probes else value}
        if from_probes:
            answer["above_probes"] = value
        return {
            **answer,
            "meaning": record.get("curve_meaning") or _MEANINGS[from_probes],
            "error_rate": record.get("error_rate") if floor == self.floor else 1 - interpolate(curve, floor),
            "kind": OFF_TOPIC,
            "calibration": PROBES if from_probes else LABELLED,
            "floor": floor,
            "score": score,
            "signal": self.signal,
        }


def _no_word_is_known(hits: Sequence[SearchHit]) -> bool:
    """Whether the search looked for the query's words and found none; a list that was copied does not know."""
    return getattr(hits, "meta", {}).get("words_found") is False


def find_gate(
    corpus: Corpus, mode: str, *, fusion: str | None = None, rerank: str | None = None, space: str | None = None
) -> Gate:
    """The floor for this way to search a corpus: the one that somebody calibrated, else the one that builds make.

    A calibration made under another fusion serves too, since the floor is on a raw channel score; one made for
    another embedder or with another reranker does not, nor does any in another ``space`` than the default one.
    """
    if space is not None and mode != "lexical" and space != corpus.store.default_space:
        return Gate(
            note=f"Floors are kept for the default space, and not for {space!r} of the corpus {corpus.name!r}: "
            "give a min_score of your own."
        )
    where = f"the corpus {corpus.name!r} in mode {mode!r}"
    keys = (calibration_key(mode, fusion=fusion, rerank=rerank), calibration_key(mode, rerank=rerank))
    notes: list[str] = []
    for key in dict.fromkeys(keys):
        record = corpus.store.get_calibration(key)
        if record:
            gate = _gate(record, corpus, mode, f"The calibration stored for {where}")
            if gate.floor is not None:
                return gate
            notes.append(str(gate.note))
            break
    if rerank is None and mode != "lexical":
        record = corpus.store.get_calibration(AUTOMATIC)
        if record:
            gate = _gate(record, corpus, mode, f"The floor that was made with the corpus {corpus.name!r}")
            return replace(gate, note=" ".join([*notes, *([gate.note] if gate.note else [])]) or None)
    if notes:
        return Gate(note=" ".join(notes))
    return Gate(note=_no_floor(corpus, mode, rerank))


def _gate(record: Mapping[str, Any], corpus: Corpus, mode: str, what: str) -> Gate:
    made_for = record.get("embedder_id")
    if made_for is not None and made_for != corpus.embedder_id:
        return Gate(
            note=f"{what} was made for the embedder {made_for!r}, not for {corpus.embedder_id!r}, and is not used: "
            "calibrate again."
        )
    floor = record.get("min_score", record.get("floor"))
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or floor != floor:
        return Gate(note=f"{what} holds no usable floor ({floor!r}): calibrate again.")
    signal = str(record.get("signal") or default_signal(mode))
    if signal not in SIGNALS:
        return Gate(note=f"{what} reads an unknown signal ({signal!r}): calibrate again.")
    unknown = record.get("unknown_words_min_score")
    return Gate(float(floor), signal, record, unknown=None if unknown is None else float(unknown))


def _no_floor(corpus: Corpus, mode: str, rerank: str | None) -> str:
    """Why there is none, and how to get one."""
    name = corpus.name
    where = f"the corpus {name!r} in mode {mode!r}" + (f" with the reranker {rerank!r}" if rerank else "")
    said = f"No calibration is stored for {where}"
    if rerank is not None or mode == "lexical":
        return f"{said}: make one with ir calibrate-min-score {name} CASES, or ir.eval.calibrate_min_score."
    return f"{said}: ir build {name} makes one."


def interpolate(curve: Sequence[Sequence[float]], score: float) -> float:
    """The probability at ``score`` on a curve of ``[score, probability]`` points, flat beyond its ends.

    >>> interpolate([[0.2, 0.0], [0.6, 1.0]], 0.3)
    0.25
    """
    points = sorted((float(at), float(probability)) for at, probability in curve)
    after = bisect_left(points, (score, float("-inf")))
    if after == 0:
        return min(max(points[0][1], 0.0), 1.0)
    if after == len(points):
        return min(max(points[-1][1], 0.0), 1.0)
    (left, low), (right, high) = points[after - 1], points[after]
    share = (score - left) / (right - left) if right > left else 1.0
    value = low + share * (high - low)
    return round(min(max(value, 0.0), 1.0), 12)
