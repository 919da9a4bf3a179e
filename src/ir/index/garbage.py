"""How often Python looks for garbage while a build makes objects by the million."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["rarely_collected"]

#: So many more objects than before make Python look among the youngest, and so many such looks among the older ones.
_YOUNGEST, _YOUNGER = 100_000, 20


@contextmanager
def rarely_collected() -> Iterator[None]:
    """A block in which cyclic garbage is looked for, but not after every few hundred objects.

    A build holds many objects and drops most of them at once: looking through them took a fifth of its time.
    """
    before = gc.get_threshold()
    if 0 < before[0] < _YOUNGEST:
        gc.set_threshold(_YOUNGEST, _YOUNGER, before[2])
    try:
        yield
    finally:
        gc.set_threshold(*before)
