"""Which pieces of an item are ranked: strategies take one artifact apart into fields and surfaces."""

from __future__ import annotations

from ir.protocols import IndexingStrategy
from ir.strategy.chunked import Chunked, estimate_tokens
from ir.strategy.fitted import Fitted
from ir.strategy.identity import strategy_from_spec, strategy_id, strategy_to_spec
from ir.strategy.package import Package
from ir.strategy.skill import Skill
from ir.strategy.text import text_of
from ir.strategy.turns import TurnPair
from ir.strategy.whole import WholeText
from ir.strategy.wrapped import Wrapped

__all__ = [
    "Chunked",
    "Fitted",
    "IndexingStrategy",
    "Package",
    "Skill",
    "TurnPair",
    "WholeText",
    "Wrapped",
    "estimate_tokens",
    "strategy_from_spec",
    "strategy_id",
    "strategy_to_spec",
    "text_of",
]
