"""Checks of the numbers that selection and discovery are asked with."""

from __future__ import annotations

import math

from ir.errors import InvalidInput
from ir.options import count

__all__ = ["count", "fraction", "number"]


def number(what: str, value: object) -> float:
    """``value`` as a float if it is a finite number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise InvalidInput(f"{what} must be a finite number, not {value!r}.")


def fraction(what: str, value: object) -> float:
    """``value`` as a float if it lies in 0..1."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InvalidInput(f"{what} must be a number between 0 and 1, not {value!r}.")
