"""Links between chunks that mean about the same, by the vectors that a corpus has of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.links import Edge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Store

__all__ = ["SIMILAR", "draw_similar"]

SIMILAR = "similar_to"
#: A chunk is linked to so many others at most: the nearest.
_MOST = 5
#: So many chunks are compared with all others at once.
_BLOCK = 512


def draw_similar(store: Store, threshold: float | None) -> bool:
    """Link each chunk to those whose vectors in the default space are nearer than ``threshold``; ``None``: to none.

    Links of before that do not hold any more go. Whether anything changed.
    """
    wanted: dict[str, list[Edge]] = {}
    nodes: list[str] = []
    matrix: list[NDArray[np.float32]] = []
    record_ids = store.record_ids() if threshold is not None else []
    for start in range(0, len(record_ids), _BLOCK):
        part = record_ids[start : start + _BLOCK]
        vectors = store.get_vectors(part)
        for record in store.get_records(part):
            if record.id in vectors:
                nodes.append(str(record.metadata.get("chunk", record.id)))
                matrix.append(vectors[record.id])
    if threshold is not None and matrix:
        wanted = _near(nodes, np.asarray(matrix, dtype=np.float32), threshold)
    return _replace(store, wanted)


def _near(nodes: Sequence[str], matrix: NDArray[np.float32], threshold: float) -> dict[str, list[Edge]]:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    found: dict[str, list[Edge]] = {}
    for start in range(0, len(nodes), _BLOCK):
        scores = matrix[start : start + _BLOCK] @ matrix.T
        for row, own in zip(scores, range(start, start + len(scores)), strict=True):
            row[own] = -1
            above = np.flatnonzero(row >= threshold)
            best = sorted(above.tolist(), key=lambda at: (-float(row[at]), at))[:_MOST]
            if best:
                source = nodes[own]
                found[source] = [
                    Edge(source, SIMILAR, nodes[at], None, {"score": round(float(row[at]), 4)}) for at in best
                ]
    return found


def _replace(store: Store, wanted: dict[str, list[Edge]]) -> bool:
    held: dict[str, list[Edge]] = {}
    for batch in store.iter_edges():
        for source, edges in batch:
            if source in wanted or any(edge.type == SIMILAR for edge in edges):
                held[source] = edges
    fresh = {}
    for source in {**held, **wanted}:
        before = held.get(source, [])
        now = [*(edge for edge in before if edge.type != SIMILAR), *wanted.get(source, ())]
        if now != before:
            fresh[source] = now
    if fresh:
        store.set_edges(fresh)
    return bool(fresh)
