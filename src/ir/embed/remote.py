"""Embeddings from a server: ``openai:MODEL`` for any OpenAI-compatible one, ``ollama:MODEL`` for Ollama."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from ir.config import Settings
from ir.embed.sketch import alike, sketched
from ir.endpoint import Endpoint, TooLong
from ir.errors import EmbedderError, EmbedderMismatch
from ir.secrets.texts import for_show

__all__ = ["RemoteEmbedder", "load"]

Vectors = NDArray[np.float32]

_PROBES = (
    "search", "the quick brown fox", "how to repair a bicycle", "42 €", "def parse(text): return text", "日本語の文章",
)  # fmt: skip
_BATCH_TEXTS = 128
_BATCH_CHARS = 200_000
_MAX_CHARS = 32_000
#: A text that is too long for the server is halved until it fits, but never made shorter than this.
_MIN_CHARS = 500
_MAX_REPLY = 100_000_000
#: In a long-running process, the model is checked before a query if the last check is older than this.
_VERIFY_EVERY_S = 300.0


class _Misnumbered(Exception):
    """The answer does not show which vector belongs to which text."""


@dataclass(frozen=True)
class Style:
    """How a kind of server is asked: where, and where in its answer the vectors are."""

    path: str
    settings: str
    key: str | None

    def vectors(self, answer: Any) -> Any:
        if self.key is None:
            return answer["embeddings"]
        # Servers number their rows; nothing promises that the list is in that order.
        rows = {row["index"]: row["embedding"] for row in answer["data"]}
        if len(rows) != len(answer["data"]) or set(rows) != set(range(len(rows))):
            raise _Misnumbered
        return [rows[place] for place in range(len(rows))]


STYLES = {
    "openai": Style("/embeddings", "embed", "embed"),
    "ollama": Style("/api/embed", "ollama", None),
}


class RemoteEmbedder:
    """A model on a server. Its fingerprint is taken from the vectors of a few texts, on first use.

    A server may change the model behind a name. An index that was built with the other one is refused rather than
    searched with vectors that mean something else. So is a model that changes while it is used: whoever keeps vectors
    asks it to :meth:`verify` first, and queries do so every few minutes.
    """

    cacheable = True

    def __init__(self, kind: str, model: str, endpoint: Endpoint, *, timeout_s: float = 60.0) -> None:
        self.id = f"{kind}:{model}"
        self._model = model
        self._style = STYLES[kind]
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._dim: int | None = None
        self._sketch: str | None = None
        self._former = ""
        self._verified = 0.0

    @classmethod
    def from_settings(cls, kind: str, model: str, settings: Mapping[str, Any] | None = None) -> RemoteEmbedder:
        """The embedder for the server that the settings name; no request is made."""
        known = Settings.load() if settings is None else settings
        style = STYLES[kind]
        setting = f"{style.settings}.base_url"
        base_url = str(known[setting])
        key = known.api_key(style.key) if style.key and isinstance(known, Settings) else None
        check = f"Check that it runs, that {setting} is right"
        check += f", and that {known['embed.api_key_env']} holds the key." if style.key else "."
        name = f"The embedding model {model!r} at {urlsplit(base_url).netloc.rpartition('@')[2]}"
        endpoint = Endpoint(
            base_url,
            name,
            EmbedderError,
            check,
            setting,
            key,
            retries=4,
            max_bytes=_MAX_REPLY,
            patient=True,
            tells_length=True,
        )
        return cls(kind, model, endpoint, timeout_s=float(known["embed.timeout_s"]))

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        """One finite row for each text; blank texts are not sent and give zeros."""
        if input_type == "query" and self._sketch and time.monotonic() - self._verified > _VERIFY_EVERY_S:
            self.verify()
        full = [place for place, text in enumerate(texts) if text and not text.isspace()]
        rows = [self._asked(batch) for batch in _batches([texts[place][:_MAX_CHARS] for place in full])]
        out = np.zeros((len(texts), self.dim), np.float32)
        if full:
            out[full] = np.concatenate(rows)
        return out

    @property
    def dim(self) -> int:
        """How long the vectors are; asks the server if nothing was embedded yet."""
        if self._dim is None:
            self._probe()
        assert self._dim is not None
        return self._dim

    @property
    def fingerprint(self) -> str:
        if self._sketch is None:
            self._probe()
        return f"{self._prefix}{self._sketch}"

    @property
    def _prefix(self) -> str:
        return f"{self.id}-{self._dim}-~"

    def matches(self, fingerprint: str) -> bool:
        """Whether a fingerprint that was taken at another time, perhaps by an earlier version, is of this model."""
        if self._sketch is None:
            self._probe()
        if fingerprint.startswith(self._prefix):
            return alike(fingerprint.removeprefix(self._prefix), str(self._sketch))
        return fingerprint == self._former

    def verify(self) -> None:
        """Raise if the model behind the name is no longer the one that it was on first use."""
        if self._sketch is None:
            self._probe()
        elif not alike(self._sketch, sketched(self._probed())):
            raise EmbedderMismatch(
                f"{self._endpoint.name} has changed while it was used: it gives other vectors than before.",
                remedy="What it gave since was not kept. Build again, so that all vectors are of one model.",
            )
        self._verified = time.monotonic()

    def _probed(self) -> NDArray[np.float64]:
        return self._asked(list(_PROBES)).astype(np.float64)

    def _probe(self) -> None:
        rows = self._probed()
        self._sketch = sketched(rows)
        self._former = f"{self.id}-{rows.shape[1]}-{_former_digest(rows)}"
        self._verified = time.monotonic()

    def _asked(self, texts: list[str]) -> Vectors:
        """The vectors of a batch; if that is too long for the server, of its halves, and at last of half a text."""
        body = {"model": self._model, "input": [text.encode("utf-8", "replace").decode() for text in texts]}
        try:
            answer = self._endpoint.post(self._style.path, body, self._timeout_s)
        except TooLong as error:
            half = len(texts) // 2
            if half:
                return np.concatenate([self._asked(texts[:half]), self._asked(texts[half:])])
            return self._asked([self._cut(texts[0], str(error))])
        return self._checked(answer, len(texts))

    def _cut(self, text: str, said: str) -> str:
        if len(text) < _MIN_CHARS:
            raise EmbedderError(
                f"{self._endpoint.name} takes a text of {len(text):,} characters for too long: {said}.",
                remedy=f"It begins {for_show(text)[:40]!r}. Choose a model that takes longer texts.",
            ) from None
        return text[: len(text) // 2]

    def _checked(self, answer: Any, count: int) -> Vectors:
        who = self._endpoint.name
        try:
            rows = np.asarray(self._style.vectors(answer), dtype=np.float32)
        except _Misnumbered:
            raise EmbedderError(
                f"{who} did not number its vectors from 0 to {count - 1}, so it is unknown which text each is of.",
                remedy="Nothing was changed. The server must give each vector the index of its text.",
            ) from None
        except (KeyError, TypeError, ValueError, IndexError):
            raise EmbedderError(
                f"{who} answered with something that is not a list of vectors.", remedy="Is it an embedding model?"
            ) from None
        if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
            raise EmbedderError(f"{who} answered with an array of shape {rows.shape} for {count} texts.")
        if not np.isfinite(rows).all():
            raise EmbedderError(f"{who} answered with NaN or infinity.", remedy="Nothing was changed; try again.")
        if self._dim is not None and rows.shape[1] != self._dim:
            raise EmbedderMismatch(
                f"{who} answered with vectors of {rows.shape[1]} numbers, and of {self._dim} before.",
                remedy="The model behind the name has changed: build again, into a new corpus.",
            )
        self._dim = int(rows.shape[1])
        return rows


def _former_digest(rows: NDArray[np.float64]) -> str:
    """What earlier versions took for a fingerprint: where each probe differs most from the others."""
    centred = rows - rows.mean(axis=0)
    places = np.abs(centred).argmax(axis=1)
    signs = np.sign(centred[np.arange(len(rows)), places]).astype(np.int64)
    return hashlib.blake2b((places * signs).astype("<i8").tobytes(), digest_size=8).hexdigest()


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        if not batches or len(batches[-1]) >= _BATCH_TEXTS or size + len(text) > _BATCH_CHARS:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += len(text)
    return batches


def load(name: str) -> RemoteEmbedder | None:
    """The embedder of a name such as ``openai:text-embedding-3-small``; ``None`` for other names."""
    kind, colon, model = name.partition(":")
    if kind not in STYLES or not colon:
        return None
    if not model.strip():
        raise EmbedderError(f"{name!r} names no model.", remedy=f"Write {kind}:MODEL.")
    return RemoteEmbedder.from_settings(kind, model.strip())
