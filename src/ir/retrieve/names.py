"""From a corpus's name to the corpus."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["opened"]


def opened(corpus_or_name: Any) -> Any:
    """A corpus as it is; the name, or the path of the folder, of one opened.

    Opening is the index's business. It searches through this room, so it is looked up here rather than imported.
    """
    if isinstance(corpus_or_name, str | os.PathLike):
        return import_module("ir.index").open_corpus(corpus_or_name)
    return corpus_or_name
