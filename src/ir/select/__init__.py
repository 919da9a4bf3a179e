"""Which of the ranked hits to commit to, and how much of each to reveal?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_NAMES = {
    "disclosure": (
        *("DFLT_MAX_BODY_CHARS", "DISCLOSURE_LEVELS", "BodyLoader", "Disclosure", "ResourceStore", "disclose"),
    ),
    "discovery": ("DFLT_FETCH_K", "DiscoveryResult", "discover"),
    "federation": ("MERGES",),
    "llm_selector": ("SELECTION_PROMPT", "make_llm_selector"),
    "selection": ("STRATEGIES", "Selection", "select"),
    "selectors": (
        *("DFLT_GAP_RATIO", "DFLT_MAX_K", "DFLT_REL_THRESHOLD", "Selector"),
        *("abs_threshold", "rel_threshold", "score_gap", "top_k"),
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # A search asks for the floor alone, and should not wait for what selects and discloses.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
