"""Small sources and embedders that say what was asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore


class Axes:
    """An embedder of one's own: a text's length along an axis chosen by its first letter."""

    def __init__(self, dim: int = 4, name: str | None = None, scale: float = 1.0) -> None:
        self.dim = dim
        self.scale = scale
        self.batches: list[int] = []
        if name is not None:
            self._ir_id = name

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(len(texts))
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row, ord(text[0]) % self.dim] = self.scale * len(text)
        return out


class Shelf(Mapping[str, Any]):
    """A lazy scope with a cheap change test, that counts how often an item is read."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self.items_ = dict(items)
        self.stats = dict.fromkeys(items, "1")
        self.reads: list[str] = []
        self.broken: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.reads.append(key)
        if key in self.broken:
            raise OSError(13, "Permission denied", key)
        return self.items_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)

    def stat_signal(self, key: str) -> str | None:
        return self.stats.get(key)


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CorpusStore]:
    with CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / "corpus") as made:
        yield made


@pytest.fixture
def source_of() -> Callable[..., CorpusSource]:
    def make(items: Mapping[str, Any], **kwargs: Any) -> CorpusSource:
        kwargs.setdefault("embedder", "light")
        return CorpusSource.from_mapping(items, name="notes", **kwargs)

    return make
