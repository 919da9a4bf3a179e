"""What is in a corpus, and what of it changed: loaders yield ``(id, raw)``, :class:`CorpusSource` composes them."""

from __future__ import annotations

from ir.sources.corpus import CorpusSource
from ir.sources.files import FileScope
from ir.sources.signals import content_hash_signal
from ir.sources.skipped import Skipped

__all__ = ["CorpusSource", "FileScope", "Skipped", "content_hash_signal"]
