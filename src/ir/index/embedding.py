"""Texts to vectors in steps, with the time that the rest will take.

Models take their time by the length of texts, and texts come sorted by length; so what is left is weighed by length,
not counted. What comes after these texts is not known yet while a source is being scanned: the caller says about how
much it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.index.embedder import CUSTOM, embed_checked
from ir.index.progress import Estimate, Listener, Ticker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ir.protocols import Embedder

    Vectors = NDArray[np.float32]

__all__ = ["LONG_S", "NOTHING", "Embedding", "More"]

#: Embedding that takes longer than this is announced.
LONG_S = 30.0
#: So many texts are embedded first, of all lengths, to see how fast that goes; and so few, to be ready for it.
_SAMPLE = 16
_WARM = 2
#: A step takes about so long, if somebody waits to hear of it.
_STEP_S = 1.0
_FEWEST = 8
#: What a text costs beside its length, in characters.
_EACH = 16
_CHARS_PER_TOKEN = 4


class More(NamedTuple):
    """About how much will be passed later."""

    texts: float
    characters: float


NOTHING = More(0, 0)


class Embedding:
    """The embedding of one build. ``dim`` is the length of its vectors, once it is known."""

    def __init__(
        self, embedder: Embedder, *, batch_size: int, listener: Listener | None, dim: int | None = None
    ) -> None:
        self.dim = dim
        self._embedder = embedder
        self._batch_size = batch_size
        #: An embedder that works on many texts side by side is not handed a few.
        self._fewest = min(batch_size, int(getattr(embedder, "fewest_texts", _FEWEST)))
        self._ticker = Ticker(listener, "embed", unit="texts")
        self._most = _most_characters(embedder)
        self._began = time.monotonic()
        self._step: int | None = None
        #: How many texts were passed so far, and how long they were; then the same without those that cost nothing.
        self.texts = self.characters = 0
        self._paid = More(0, 0)

    def __call__(self, texts: Sequence[str], more: More | None = NOTHING) -> Iterator[tuple[Sequence[str], Vectors]]:
        """The texts in batches with their vectors; pass them sorted by length.

        ``more`` is what will be passed later; ``None`` if nobody knows.
        """
        if not self._ticker.heard:
            for start in range(0, len(texts), self._batch_size):
                batch = texts[start : start + self._batch_size]
                yield batch, self._embedded(batch)
            return
        costs = self._costs(texts)
        self._expect(texts, costs, more)
        if self._step is None:
            self._ticker.start()
            sample = _spread([text for text in texts if costs[text]])
            for batch in filter(None, (sample[:_WARM], sample[_WARM:])):
                yield batch, self._timed(batch, costs)
            self._announce(sample[_WARM:], costs, more)
            taken = set(sample)
            texts = [text for text in texts if text not in taken]
        start = 0
        while start < len(texts):
            batch = texts[start : start + (self._step or self._fewest)]
            yield batch, self._timed(batch, costs)
            start += len(batch)

    def end(self) -> None:
        if self.texts:
            self._ticker.end()

    def _embedded(self, batch: Sequence[str]) -> Vectors:
        vectors = embed_checked(self._embedder, batch, self.dim)
        self.dim = vectors.shape[1]
        return vectors

    def _timed(self, batch: Sequence[str], costs: dict[str, float]) -> Vectors:
        began = time.monotonic()
        vectors = self._embedded(batch)
        self._took = time.monotonic() - began
        wanted = int(len(batch) * _STEP_S / max(self._took, 1e-9))
        self._step = max(self._fewest, min(wanted, self._batch_size))
        self._ticker.tick(len(batch), work=sum(costs[text] for text in batch))
        return vectors

    def _costs(self, texts: Sequence[str]) -> dict[str, float]:
        """What each text costs, in characters; nothing if its vector is at hand."""
        kept: Callable[[Sequence[str]], set[str]] | None = getattr(self._embedder, "kept", None)
        held = kept(texts) if kept is not None else set()
        return {text: 0.0 if text in held else min(len(text), self._most) + _EACH for text in texts}

    def _expect(self, texts: Sequence[str], costs: Mapping[str, float], more: More | None) -> None:
        self.texts += len(texts)
        self.characters += sum(map(len, texts))
        paid = [cost for cost in costs.values() if cost]
        self._paid = More(self._paid.texts + len(paid), self._paid.characters + sum(paid))
        if more is None:
            self._ticker.expect(None)
        else:
            total = self.texts + round(more.texts)
            self._ticker.expect(total, work=self._work(more), about=more.texts > 0)

    def _work(self, more: More) -> float:
        """What all of it costs; of what comes later, the same share is at hand as of what has come."""
        ahead = More(0, 0)
        if self.texts and self.characters:
            read = self._paid.characters - _EACH * self._paid.texts
            ahead = More(more.texts * self._paid.texts / self.texts, more.characters * read / self.characters)
        return self._paid.characters + ahead.characters + _EACH * ahead.texts

    def _announce(self, sample: Sequence[str], costs: Mapping[str, float], more: More | None) -> None:
        """Tell of an embedding that will take long, and of the embedder that would not."""
        if not sample or more is None:
            return
        pace = sum(costs[text] for text in sample) / max(self._took, 1e-9)
        self._ticker.assume(pace)
        seconds = self._work(more) / pace
        if seconds < LONG_S:
            return
        texts, name = self.texts + round(more.texts), str(getattr(self._embedder, "id", CUSTOM))
        faster, each = _faster(self._embedder, sample) or (None, None)
        # What was done until here, the other would have to do as well.
        faster_s = None if each is None else each * (self.characters + more.characters) + time.monotonic() - self._began
        self._ticker.tell(Estimate(name, texts, seconds, faster, faster_s))


def _spread(texts: Sequence[str]) -> Sequence[str]:
    """A few texts of all lengths; none if hardly any are there."""
    wanted = min(_SAMPLE + _WARM, len(texts) // 2)
    if wanted <= _WARM:
        return []
    return [texts[(2 * number + 1) * len(texts) // (2 * wanted)] for number in range(wanted)]


def _most_characters(embedder: Any) -> float:
    """How much of a text an embedder reads, as far as it says."""
    limit = getattr(embedder, "max_tokens", None)
    return limit * _CHARS_PER_TOKEN if isinstance(limit, int) and limit > 0 else float("inf")


def _faster(embedder: Any, sample: Sequence[str]) -> tuple[str, float] | None:
    """The fast embedder, and how many seconds it takes for a character; ``None`` if it is the one at work."""
    from ir.embed import FAST, make_embedder
    from ir.errors import IrError

    try:
        fast, fast_id = make_embedder(FAST, cache=False)
        if fast_id == getattr(embedder, "id", None):
            return None
        fast(sample)  # once to be ready
        began = time.perf_counter()
        fast(sample)
        return FAST, (time.perf_counter() - began) / sum(map(len, sample))
    except IrError:
        return None
