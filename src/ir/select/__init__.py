"""Which of the ranked hits to commit to, and how much of each to reveal?"""

from ir.select.disclosure import (
    DFLT_MAX_BODY_CHARS,
    DISCLOSURE_LEVELS,
    BodyLoader,
    Disclosure,
    ResourceStore,
    disclose,
)
from ir.select.discovery import DFLT_FETCH_K, DiscoveryResult, discover
from ir.select.federation import MERGES
from ir.select.llm_selector import SELECTION_PROMPT, make_llm_selector
from ir.select.selection import STRATEGIES, Selection, select
from ir.select.selectors import (
    DFLT_GAP_RATIO,
    DFLT_MAX_K,
    DFLT_REL_THRESHOLD,
    Selector,
    abs_threshold,
    rel_threshold,
    score_gap,
    top_k,
)

__all__ = [
    "DFLT_FETCH_K",
    "DFLT_GAP_RATIO",
    "DFLT_MAX_BODY_CHARS",
    "DFLT_MAX_K",
    "DFLT_REL_THRESHOLD",
    "DISCLOSURE_LEVELS",
    "MERGES",
    "SELECTION_PROMPT",
    "STRATEGIES",
    "BodyLoader",
    "Disclosure",
    "DiscoveryResult",
    "ResourceStore",
    "Selection",
    "Selector",
    "abs_threshold",
    "disclose",
    "discover",
    "make_llm_selector",
    "rel_threshold",
    "score_gap",
    "select",
    "top_k",
]
