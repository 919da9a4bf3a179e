"""The floor that a build leaves in a corpus: what queries about other things score there.

It is made of the vectors as they are written, in the build's own transaction, so that it always belongs to what the
corpus holds. A build that changes only a part counts what it changed; once that is too much, the floor goes with the
same transaction, and the probes are asked anew after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import IrError
from ir.index.scan import ledger_rows
from ir.protocols import Where
from ir.select.gate import AUTOMATIC, PROBES
from ir.select.probes import percentile_floor, probe_queries, share_below_curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.index.corpus import Corpus
    from ir.protocols import Embedder, Store, Vector

    Vectors = NDArray[np.float32]

__all__ = ["ProbeScores", "automatic_record", "drifted", "measure_floor", "measured"]

#: Where the floor lies among the probes. Nobody asked for it, so it is lower than one that was: it should refuse few
#: queries that the corpus can answer.
PERCENTILE = 60.0
#: The same for a query of which no word is in the corpus: its vector is all there is, so that has to be clear.
UNKNOWN_PERCENTILE = 95.0
#: The share of artifacts that may come, go or change before the floor is measured again.
MOST_DRIFT = 0.2
#: From so many records on not every probe is asked, but every third: that is enough, and costs a build little.
MANY_RECORDS = 2_000
_EVERY = 3


class ProbeScores:
    """The best cosine of each probe among the vectors seen so far; the probes are embedded when the first ones come.

    ``failed`` says why there are none: an embedder of the user's own need not be able to embed queries, and a floor is
    no reason for a build to fail.
    """

    def __init__(self, embedder: Embedder, *, batch_size: int) -> None:
        self._embedder = embedder
        self._batch_size = batch_size
        self._probes: Vectors | None = None
        self._best: Vectors | None = None
        self.failed: str | None = None

    def see(self, vectors: Sequence[Vector]) -> None:
        """Take in the vectors of some records; a first part of many is many records itself."""
        if self.failed or not len(vectors):
            return
        if self._probes is None:
            try:
                self._probes = probe_vectors(self._embedder, _probes(len(vectors)), batch_size=self._batch_size)
            except Exception as error:  # an embedder of the user's own may raise anything
                self.failed = f"The probes could not be embedded: {error}"
                return
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.shape[1] != self._probes.shape[1]:
            self.failed = f"Probes have {self._probes.shape[1]} numbers to a vector, documents {rows.shape[1]}."
            return
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        products = (self._probes @ rows.T) / np.where(lengths > 0, lengths, 1.0)
        best = products.max(axis=1)
        self._best = best if self._best is None else np.maximum(self._best, best)

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """One number for each probe, minus infinity where the embedder makes nothing of it; ``None`` if none is
        known."""
        if self.failed or self._best is None or self._probes is None:
            return None
        return np.where(self._probes.any(axis=1), self._best, -np.inf).astype(np.float64)


def _probes(records: int) -> Sequence[str]:
    return probe_queries() if records < MANY_RECORDS else probe_queries()[::_EVERY]


def probe_vectors(embedder: Any, probes: Sequence[str], *, batch_size: int = 256) -> Vectors:
    """The probes' vectors, of length one; a model whose vectors are kept on disk embeds them once for all corpora."""
    kept = getattr(embedder, "lasting_queries", None)
    embed = kept or partial(embedder, input_type="query")
    batches = [list(probes[start : start + batch_size]) for start in range(0, len(probes), batch_size)]
    rows = np.concatenate([np.asarray(embed(batch), dtype=np.float32) for batch in batches])
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def automatic_record(
    scores: NDArray[np.float64], *, corpus_name: str, embedder_id: str | None, language: str, artifacts: int
) -> dict[str, Any] | None:
    """The floor that builds keep, from the best cosine of each probe; ``None`` if no probe has one.

    ``artifacts`` is how many the corpus held then, and ``drift`` how many changed since.
    """
    if not np.isfinite(scores).any():
        return None
    floor = percentile_floor(scores, PERCENTILE)
    return {
        "corpus_name": corpus_name,
        "mode": AUTOMATIC,
        "kind": PROBES,
        "made_by": "build",
        "min_score": floor,
        "unknown_words_min_score": percentile_floor(scores, UNKNOWN_PERCENTILE),
        "signal": "dense",
        "percentile": PERCENTILE,
        "n_abstention": len(scores),
        "error_rate": float((scores >= floor).mean()),
        "curve": share_below_curve(scores),
        "embedder_id": embedder_id,
        "language": language,
        "artifacts": artifacts,
        "drift": 0,
    }


def drifted(record: Mapping[str, Any], changes: int, *, embedder_id: str, language: str) -> Mapping[str, Any] | None:
    """The record of a floor after so many artifacts changed; ``None`` if it no longer belongs to the corpus."""
    if record.get("embedder_id") != embedder_id or record.get("language") != language:
        return None
    drift = int(record.get("drift", 0)) + changes
    if drift > MOST_DRIFT * int(record.get("artifacts", 0)):
        return None
    return {**record, "drift": drift}


def measure_floor(corpus: Corpus, *, language: str) -> float | None:
    """Ask the probes of a corpus that has no floor, and keep what comes of it.

    Nothing is kept if the corpus was changed or is being written meanwhile: the next build tries again.
    """
    store: Store = corpus.store
    try:
        version, record = measured(
            store, None, corpus.embedder, corpus.embedder_id, corpus_name=corpus.name, language=language
        )
        with store.transaction():
            if record is None or store.version != version:
                return None
            store.set_calibration(AUTOMATIC, record)
    except (IrError, OSError):
        return None
    return float(record["min_score"])


def measured(
    store: Store, space: str | None, embedder: Embedder, embedder_id: str, *, corpus_name: str, language: str
) -> tuple[str, dict[str, Any] | None]:
    """The floor of a space as the probes find it, and the version that they were asked in; ``None`` if there is none.

    An embedder of the user's own may raise anything at a query, and then has no floor.
    """
    try:
        vectors = probe_vectors(embedder, _probes(len(store)))
    except Exception:
        return store.version, None
    with store.snapshot() as snapshot:
        best = [list(snapshot.dense(row, 1, Where(), space).scores) if row.any() else [] for row in vectors]
        version = snapshot.version
    return version, automatic_record(
        np.array([float(found[0]) if found else -np.inf for found in best]),
        corpus_name=corpus_name,
        embedder_id=embedder_id,
        language=language,
        artifacts=sum(1 for _ in ledger_rows(store, "artifact_id")),
    )
