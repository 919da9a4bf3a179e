"""Making one score of a dense and a lexical one, inside a corpus."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ir.options import SearchOptions
from ir.retrieve.candidates import Candidates, Channel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Shares = dict[str, NDArray[np.float64]]

__all__ = ["DFLT_SATURATION", "NEEDS_COMPLETION", "ORDINAL_FUSIONS", "blended", "bm25_for", "fuse"]

#: BM25 score at which the lexical half of a blend reaches one half, for corpora that have no constant of their own.
DFLT_SATURATION = 35.0

#: Fusions that read magnitudes, so a record found by one channel needs its score in the other.
NEEDS_COMPLETION = frozenset({"blend", "minmax", "dbsf"})

#: Fusions whose score says where a hit stands among the others, not how good it is.
ORDINAL_FUSIONS = frozenset({"rrf", "minmax", "dbsf", "minmax_corpus"})


@overload
def blended(cosine: float, bm25: float, alpha: float, saturation: float) -> float: ...
@overload
def blended(cosine: NDArray[np.float64], bm25: float, alpha: float, saturation: float) -> NDArray[np.float64]: ...
@overload
def blended(cosine: float, bm25: NDArray[np.float64], alpha: float, saturation: float) -> NDArray[np.float64]: ...
def blended(cosine: Any, bm25: Any, alpha: float, saturation: float) -> Any:
    """Cosine and saturated BM25, each on a fixed scale: a weak best match keeps a low score.

    With 0 for one of them it is the other's share, and both shares add up to the blend, to the last bit.

    >>> blended(0.8, 35.0, alpha=0.5, saturation=35.0)
    0.65
    """
    return alpha * cosine + (1.0 - alpha) * bm25 / (bm25 + saturation)


def bm25_for(share: float, alpha: float, saturation: float) -> float:
    """The score from which on the words add ``share`` to a blend."""
    # Rounding must not cost a record its place: a little less is asked for than is needed.
    share, most = share * (1 - 1e-9) - 1e-12, 1.0 - alpha
    if share <= 0:
        return 0.0
    return saturation * share / (most - share) if share < most else inf


def fuse(candidates: Candidates, options: SearchOptions, saturation: float) -> None:
    """Set ``scores``, and ``shares``: what each channel added to them."""
    channels = candidates.channels
    if len(channels) == 1:
        ((name, only),) = channels.items()
        candidates.scores = only.scores.astype(np.float64)
        candidates.shares = {name: candidates.scores}
        return
    if options.fusion == "rrf":
        candidates.shares = {name: _reciprocal(channel, options.rrf_k) for name, channel in channels.items()}
    elif options.fusion == "blend":
        cosine, bm25 = (channels[name].scores.astype(np.float64) for name in ("dense", "lexical"))
        candidates.shares = {
            "dense": blended(cosine, 0.0, options.alpha, saturation),
            "lexical": blended(0.0, bm25, options.alpha, saturation),
        }
    else:
        scale = _minmax if options.fusion == "minmax" else _distribution
        weights = {"dense": options.alpha, "lexical": 1.0 - options.alpha}
        candidates.shares = {name: weights[name] * scale(channel) for name, channel in channels.items()}
    candidates.scores = np.sum(list(candidates.shares.values()), axis=0)


def _reciprocal(channel: Channel, rrf_k: float) -> NDArray[np.float64]:
    """1/(k + rank), and nothing for a record that the channel did not return."""
    shares: NDArray[np.float64] = 1.0 / (rrf_k + channel.ranks.astype(np.float64))
    shares[channel.ranks == 0] = 0.0
    return shares


def _minmax(channel: Channel) -> NDArray[np.float64]:
    """Scores stretched to 0..1 over the candidates; all 0 where they are equal."""
    scores = channel.scores.astype(np.float64)
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def _distribution(channel: Channel) -> NDArray[np.float64]:
    """Scores placed between mean − 3σ (0) and mean + 3σ (1), not clamped; ½ where there is no spread."""
    scores = channel.scores.astype(np.float64)
    spread = scores.std(ddof=1) if len(scores) > 1 else 0.0
    if spread < 1e-9:
        return np.full_like(scores, 0.5)
    placed: NDArray[np.float64] = (scores - (scores.mean() - 3 * spread)) / (6 * spread)
    return placed
