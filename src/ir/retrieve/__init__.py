"""Which records answer a query best, and why?"""

from ir.errors import NoLedgerEntry
from ir.options import DFLT_RRF_K, FUSIONS, MODES
from ir.protocols import Retriever
from ir.retrieve.pipeline import search
from ir.retrieve.pool import Pool
from ir.retrieve.retriever import as_retriever
from ir.retrieve.siblings import records_for_artifact
from ir.retrieve.sources import Identity, fuse_hits
from ir.retrieve.tuned import TUNABLE, tuned_options

__all__ = [
    "DFLT_RRF_K",
    "FUSIONS",
    "MODES",
    "TUNABLE",
    "Identity",
    "NoLedgerEntry",
    "Pool",
    "Retriever",
    "as_retriever",
    "fuse_hits",
    "records_for_artifact",
    "search",
    "tuned_options",
]
