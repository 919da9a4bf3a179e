"""Rows of a table such that the sum over a text's pieces points where the teacher's vector points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ir.embed.pieces import Speller, words_of

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """Chosen on texts that were kept back (README.md)."""

    dim: int = 256
    steps: int = 1600
    batch: int = 1024
    made: float = 0.2  # the part of a batch that is synthetic
    words: float = 0.08  # and the part that is single words
    rate: float = 0.006
    dropout: float = 0.15
    temperature: float = 0.05
    neighbours: float = 0.3  # the weight of the second loss
    seed: int = 20_260


def principal(vectors: Floats, dim: int) -> Floats:
    """The directions in which the teacher's vectors differ most, as columns."""
    _, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    return np.ascontiguousarray(directions[:, ::-1][:, :dim], np.float32)


def unit(rows: Floats) -> Floats:
    """Rows of length one; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def counted(texts: Sequence[str], pieces: Sequence[str]) -> csr_matrix:
    """How often each piece is in each text."""
    speller = Speller({piece: row for row, piece in enumerate(pieces)})
    ends, rows = [0], []
    for text in texts:
        for word in words_of(text):
            rows.extend(speller.rows(word))
        ends.append(len(rows))
    shape = (len(texts), len(pieces))
    return csr_matrix((np.ones(len(rows), np.float32), np.array(rows, np.int32), np.array(ends)), shape=shape)


class Trainer:
    """Adam on the rows that a batch touches.

    The loss is the angle to the teacher's vector, and how differently a text ranks the others of its batch.
    """

    def __init__(self, start: Floats, settings: Settings) -> None:
        self.table = start.copy()
        self.settings = settings
        self._mean = np.zeros_like(start)
        self._square = np.zeros_like(start)
        self._times = np.zeros(len(start), np.int32)
        self._dice = np.random.default_rng(settings.seed)

    def learn(self, parts: Sequence[tuple[float, csr_matrix, Floats]]) -> None:
        """``parts`` are shares of a batch, counts of pieces, and targets."""
        settings = self.settings
        began = time.perf_counter()
        for step in range(settings.steps):
            chosen = [
                (counts, targets, self._dice.integers(0, len(targets), round(share * settings.batch)))
                for share, counts, targets in parts
            ]
            loss = self._step(
                [counts[places] for counts, _, places in chosen],
                np.concatenate([targets[places] for _, targets, places in chosen]),
                settings.rate * (1 - step / settings.steps),
            )
            if step % 100 == 99:
                print(f"step {step + 1}: {loss:.4f}, {time.perf_counter() - began:.0f} s", flush=True)

    def _step(self, counts: Sequence[csr_matrix], targets: Floats, rate: float) -> float:
        rows = np.concatenate([part.indices for part in counts])
        sizes = np.concatenate([np.diff(part.indptr) for part in counts])
        kept = self._dice.random(len(rows)) >= self.settings.dropout
        owners = np.repeat(np.arange(len(sizes)), sizes)[kept]
        touched, local = np.unique(rows[kept], return_inverse=True)
        batch = csr_matrix((np.ones(len(local), np.float32), (owners, local)), shape=(len(sizes), len(touched)))
        sums = batch @ self.table[touched]
        lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        units = sums / lengths
        loss, slope = self._loss(units, targets)
        slope = (slope - np.einsum("ij,ij->i", slope, units)[:, None] * units) / lengths
        self._adam(touched, batch.T @ slope, rate)
        return loss

    def _loss(self, units: Floats, targets: Floats) -> tuple[float, Floats]:
        settings, size = self.settings, len(units)
        wanted = _softmax(targets @ targets.T / settings.temperature)
        given = _softmax(units @ units.T / settings.temperature)
        weight = settings.neighbours / size
        pull = (given - wanted) * (weight / settings.temperature)
        slope = (pull + pull.T) @ units - targets / size
        loss = 1 - np.einsum("ij,ij->i", units, targets).mean()
        loss += weight * float((wanted * np.log((wanted + 1e-9) / (given + 1e-9))).sum())
        return float(loss), slope

    def _adam(self, rows: NDArray[np.int64], slope: Floats, rate: float) -> None:
        self._times[rows] += 1
        times = self._times[rows][:, None]
        mean = self._mean[rows] = 0.9 * self._mean[rows] + 0.1 * slope
        square = self._square[rows] = 0.99 * self._square[rows] + 0.01 * slope * slope
        mean, square = mean / (1 - 0.9**times), square / (1 - 0.99**times)
        self.table[rows] -= rate * mean / (np.sqrt(square) + 1e-8)


def _softmax(logits: Floats) -> Floats:
    np.fill_diagonal(logits, -np.inf)
    logits = np.exp(logits - logits.max(axis=1, keepdims=True))
    return logits / logits.sum(axis=1, keepdims=True)
