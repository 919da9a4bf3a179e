"""How does a corpus travel from one store to another: as one file that is checked before it is believed."""

from __future__ import annotations

from ir.portable.exporting import export_corpus
from ir.portable.importing import import_corpus, peek
from ir.portable.manifest import FORMAT, Transfer

__all__ = ["FORMAT", "Transfer", "export_corpus", "import_corpus", "peek"]
