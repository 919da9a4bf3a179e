"""Any callable as an embedder: adapted to one calling convention, and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CallableEmbedder"]

_PROBES = ("search", "the quick brown fox", "12 monkeys; naïve, 日本語")


class CallableEmbedder:
    """``texts -> array`` as an embedder.

    The callable's ``_ir_id`` is its id, else it is ``"custom"``; giving an id is the promise that equal ids mean
    equal vectors, so only then are vectors kept between processes. ``input_type`` is passed if it is accepted.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        named = getattr(function, "_ir_id", None)
        self._function = function
        self._takes_input_type = _accepts_input_type(function)
        self._dim: int | None = None
        self._fingerprint = str(named) if named else None
        self.id = str(named) if named else "custom"
        self.cacheable = bool(getattr(function, "cacheable", bool(named)))
        self.max_tokens: int | None = getattr(function, "max_tokens", None)
        self.blend_alpha: float | None = getattr(function, "blend_alpha", None)

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        """One finite row for each text, or an :class:`~ir.errors.EmbedderError` that says what came back."""
        given = list(texts)
        if not given:
            return np.zeros((0, self.dim), np.float32)
        made = self._function(given, input_type=input_type) if self._takes_input_type else self._function(given)
        rows = self._checked(made, len(given))
        self._dim = rows.shape[1]
        return rows

    @property
    def dim(self) -> int:
        """How long the vectors are; found by embedding a probe if nothing was embedded yet."""
        if self._dim is None:
            self._dim = int(self(_PROBES[:1]).shape[1])
        return self._dim

    @property
    def fingerprint(self) -> str:
        """The id, or for a callable without one a hash of the vectors of a few probe texts."""
        if self._fingerprint is None:
            import hashlib

            rows = self(_PROBES).astype(np.float64)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            # Rounded, because two runs of one model may differ in the last bits.
            rounded = np.round(rows / np.where(lengths > 0, lengths, 1.0), 2) + 0.0
            digest = hashlib.blake2b(rounded.astype("<f4").tobytes(), digest_size=8).hexdigest()
            self._fingerprint = f"custom-{rows.shape[1]}-{digest}"
        return self._fingerprint

    @property
    def _who(self) -> str:
        return f"The embedder {self.id!r}"

    def _checked(self, returned: Any, count: int) -> NDArray[np.float32]:
        try:
            rows = np.asarray(returned, dtype=np.float32)
        except (TypeError, ValueError) as error:
            kind = type(returned).__name__
            message = f"{self._who} returned a {kind} that is not a table of numbers ({error})."
            raise EmbedderError(message, remedy="It must return one row of numbers for each text.") from error
        if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
            raise EmbedderError(
                f"{self._who} returned an array of shape {rows.shape} for {count} texts.",
                remedy=f"It must return one row of numbers for each text: shape ({count}, dimension).",
            )
        if self._dim is not None and rows.shape[1] != self._dim:
            raise EmbedderError(
                f"{self._who} returned vectors of {rows.shape[1]} numbers, and of {self._dim} before.",
                remedy="All vectors of an embedder must have one length.",
            )
        if not isfinite(np.vdot(rows, rows)):  # one sum tells; only if it overflows do we check each number
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if len(bad):
                raise EmbedderError(
                    f"{self._who} returned NaN or infinity for {len(bad)} of {count} texts, "
                    f"first for text number {bad[0]}.",
                    remedy="Its vectors must be finite.",
                )
        return rows


def _accepts_input_type(function: Callable[..., Any]) -> bool:
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        or (parameter.name == "input_type" and parameter.kind is not parameter.POSITIONAL_ONLY)
        for parameter in parameters
    )
